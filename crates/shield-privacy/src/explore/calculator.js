"use strict";
// The calculator: controls on one side, curves, an output law and commands on the other. Every
// moved control is answered at once by an estimate; other mechanisms and the proof follow.
(() => {
  const root = document.getElementById("calculator");
  if (!root) return;
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const field = (name) => root.querySelector(`[name="${name}"]`);
  const others = ["gnmax", "lnmax", "noisy-argmax", "exponential"];
  const names = { "noisy-argmax": "noisy argmax", gnmax: "GNMax", lnmax: "LNMax" };
  const curves = new Map();
  const classNames = (root.dataset.names ?? "").split("\u001f").filter((name) => name);
  // The name of a class, where the votes have as many names as there are classes.
  const named = (i) => (classNames.length === histogram.length ? classNames[i] : String(i));
  let histogram = JSON.parse(root.dataset.histogram || "[]");
  let asked = 0;
  let proving = 0;
  let estimate = null;
  let proven = null;

  const question = (wanted) => ({
    part: wanted,
    polynomial: field("polynomial").value,
    offset: +field("offset").value,
    queries: +field("queries").value,
    teachers: +field("teachers").value,
    classes: +field("classes").value,
    epsilon: +field("epsilon").value,
    histogram,
  });
  const ask = async (wanted) => {
    const answer = await fetch(root.dataset.address, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(question(wanted)),
    });
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.detail ?? answer.statusText);
    return body;
  };
  const percent = (share) => `${(100 * share).toFixed(1)}%`;

  // Keeps the votes at the number of teachers, the others in proportion.
  const settle = (fixed) => {
    const [teachers, classes] = [+field("teachers").value, +field("classes").value];
    if (!(teachers >= 1 && classes >= 2 && classes <= 100)) return;
    if (histogram.length !== classes) {
      // A sample that is not clear: two classes ahead, and the rest for all others.
      const rest = Math.max(1, Math.round((0.3 * teachers) / Math.max(1, classes - 2)));
      histogram = Array.from({ length: classes }, () => rest);
      [histogram[0], histogram[1]] = [0.4, 0.3].map((share) => Math.round(share * teachers));
    }
    const own = fixed === undefined ? 0 : Math.min(histogram[fixed], teachers);
    const free = histogram.map((votes, i) => (i === fixed ? 0 : votes));
    let sum = free.reduce((a, b) => a + b, 0);
    if (sum === 0) free.forEach((_, i) => { if (i !== fixed) { free[i] = 1; sum += 1; } });
    const rest = teachers - own;
    const exact = free.map((votes) => (votes * rest) / sum);
    histogram = exact.map(Math.floor);
    let missing = rest - histogram.reduce((a, b) => a + b, 0);
    const order = exact.map((v, i) => [v - Math.floor(v), i]).sort((a, b) => b[0] - a[0]);
    for (const [, i] of order) {
      if (missing <= 0) break;
      if (i === fixed) continue;
      histogram[i] += 1;
      missing -= 1;
    }
    if (fixed !== undefined) histogram[fixed] = own;
  };

  const drawHistogram = (laws) => {
    const svg = part("histogram");
    const width = Math.max(300, Math.min(640, svg.clientWidth || 640));
    const [height, base] = [220, 190];
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const teachers = +field("teachers").value;
    const step = (width - 20) / histogram.length;
    const NS = svg.namespaceURI;
    const focused = document.activeElement?.dataset?.class;
    svg.replaceChildren();
    const add = (name, attributes, text) => {
      const element = document.createElementNS(NS, name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      if (text !== undefined) element.textContent = text;
      svg.append(element);
      return element;
    };
    histogram.forEach((votes, i) => {
      const x = 10 + i * step;
      const bar = (share, place, kind) => add("rect", {
        x: x + step * place, y: base - 170 * share, width: step * 0.22, height: 170 * share,
        class: kind,
      });
      bar(votes / teachers, 0.1, "series s6 dot");
      laws.forEach((law, number) => bar(law.classes[i], 0.36 + 0.25 * number, `series s${number} dot`));
      const room = Math.floor(step / 8);
      const name = named(i).length <= room ? named(i) : `${named(i).slice(0, Math.max(1, room - 1))}…`;
      if (step > 22) {
        add("text", { x: x + step / 2, y: base + 20, class: "tick middle" }, name)
          .append(Object.assign(document.createElementNS(NS, "title"), { textContent: named(i) }));
      }
      const handle = add("rect", {
        x, y: 10, width: step, height: base - 6, class: "handle", tabindex: 0, role: "slider",
        "data-class": i, "aria-label": `Votes for class ${named(i)}`, "aria-valuemin": 0,
        "aria-valuemax": teachers, "aria-valuenow": votes, "aria-orientation": "vertical",
      });
      const set = (value) => {
        histogram[i] = Math.max(0, Math.min(teachers, Math.round(value)));
        settle(i);
        changed();
      };
      const toValue = (event) => {
        const place = new DOMPoint(event.clientX, event.clientY);
        const { y } = place.matrixTransform(svg.getScreenCTM().inverse());
        return ((base - y) / 170) * teachers;
      };
      handle.onpointerdown = (event) => {
        event.preventDefault();
        handle.focus();
        const move = (moved) => set(toValue(moved));
        const end = () => {
          removeEventListener("pointermove", move);
          removeEventListener("pointerup", end);
        };
        addEventListener("pointermove", move);
        addEventListener("pointerup", end);
        set(toValue(event));
      };
      handle.onkeydown = (event) => {
        const big = Math.max(1, Math.round(teachers / 20));
        const steps = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: big,
          PageDown: -big, Home: -teachers, End: teachers };
        if (!(event.key in steps)) return;
        event.preventDefault();
        set(histogram[i] + steps[event.key]);
      };
      if (focused === String(i)) handle.focus();
    });
    const none = laws[0]?.none > 0.0005 ? `, no label ${percent(laws[0].none)}` : "";
    const best = laws[0] ? Math.max(...laws[0].classes) : 0;
    const leader = laws[0]?.classes.indexOf(best);
    part("law").textContent = laws[0]
      ? `SHIELD gives class ${named(leader)} with ${percent(best)}${none}.`
      : "";
  };

  const rows = () => {
    const budget = +field("epsilon").value;
    const within = (points) => points.filter((p) => p.epsilon <= budget).at(-1);
    // Noise can be chosen freely, so a budget between two points is read off between them.
    const between = (points) => {
      const low = within(points);
      const high = points.find((p) => p.epsilon > budget);
      if (!low || !high) return low;
      const at = Math.log(budget / low.epsilon) / Math.log(high.epsilon / low.epsilon);
      const right = low.right + at * (high.right - low.right);
      return { epsilon: budget, right, setting: `about ${high.setting} to ${low.setting}` };
    };
    const shield = [["SHIELD", estimate.curve, false]];
    const rest = others.filter((name) => curves.has(name)).map((name) => {
      const curve = curves.get(name);
      return [names[name] ?? name, curve.curve, curve.holds_against_server];
    });
    const wanted = field("filter").value.trim().toLowerCase();
    const shown = shield.concat(rest).filter(([name, , holds]) =>
      name.toLowerCase().includes(wanted) || (wanted === "server" && holds));
    part("rows").replaceChildren(...shown.map(([name, points, holds]) => {
      const point = name === "SHIELD" ? within(points) : between(points);
      const row = document.createElement("tr");
      const cells = point
        ? [name, point.setting, point.epsilon.toFixed(3), percent(point.right), holds ? "yes" : "no"]
        : [name, "none of these fits", "", "", ""];
      cells.forEach((text, i) => {
        const cell = document.createElement(i ? "td" : "th");
        if (!i) cell.scope = "row";
        cell.textContent = text;
        row.append(cell);
      });
      return row;
    }));
  };

  const draw = () => {
    if (!estimate) return;
    const epsilon = proven ?? estimate.epsilon;
    const isEndless = epsilon > 1e300;
    part("epsilon").textContent = isEndless ? "infinite" : epsilon.toFixed(3);
    part("certainty").textContent = isEndless
      ? "offset 0 gives no privacy"
      : proven ? "proven for all votes there could be" : "estimated; the proof is under way";
    part("right").textContent = percent(estimate.right);
    part("source").textContent = `of ${estimate.source}`;
    part("commands").textContent = estimate.commands.join("\n");
    const top = Math.max(20, 2 * +field("epsilon").value);
    const points = (curve) => curve.filter((p) => p.epsilon <= top && p.epsilon >= 0.02)
      .map((p) => ({ x: p.epsilon, y: p.right, text: p.setting }));
    const series = [{ name: "SHIELD", points: points(estimate.curve) }];
    for (const name of others) {
      if (curves.has(name)) {
        series.push({ name: names[name] ?? name, points: points(curves.get(name).curve) });
      }
    }
    const inside = !isEndless && epsilon <= top;
    const mark = { x: epsilon, y: estimate.right, text: "this setting" };
    const told = part("told");
    shieldChart(part("curves"), {
      x: { label: "epsilon of all labels together", log: true },
      y: { label: "right labels", percent: true },
      series,
      marks: inside ? [mark] : [],
      line: +field("epsilon").value,
      tell: (point) => {
        told.textContent = point
          ? `${point.series} ${point.text}: epsilon ${point.x.toFixed(3)}, ${percent(point.y)} right`
          : "Point at a curve, or focus it and use the arrow keys.";
      },
    });
    part("legend").replaceChildren(...series.map((s, i) => {
      const item = document.createElement("span");
      const key = document.createElement("i");
      key.className = `key s${i % 7}`;
      item.append(key, s.name);
      return item;
    }));
    rows();
    drawHistogram(estimate.laws);
  };

  const prove = async (number) => {
    for (const name of others) {
      if (number !== asked) return;
      try {
        const curve = await ask({ other: name });
        if (number !== asked) return;
        curves.set(name, curve);
        draw();
      } catch { /* The estimate has said what is wrong. */ }
    }
    if (number !== asked || proving) return;
    proving = number;
    try {
      const { epsilon } = await ask("proof");
      if (number === asked) {
        proven = epsilon ?? Number.MAX_VALUE;
        draw();
        root.dataset.proven = String(number);
      }
    } catch { /* Said already. */ } finally {
      proving = 0;
      if (number !== asked) setTimeout(() => prove(asked), 200);
    }
  };

  const changed = async () => {
    const start = performance.now();
    const number = ++asked;
    try {
      const answer = await ask("estimate");
      if (number !== asked) return;
      [estimate, proven] = [answer, null];
      part("problem").hidden = true;
      draw();
      root.dataset.milliseconds = (performance.now() - start).toFixed(1);
      root.dataset.answered = String(number);
      setTimeout(() => { if (number === asked) prove(number); }, 250);
    } catch (error) {
      if (number !== asked) return;
      part("problem").textContent = error.message;
      part("problem").hidden = false;
    }
  };

  for (const name of ["offset", "epsilon"]) {
    // A slider and a number for the same: either moves the other.
    const [number, slider] = [field(name), field(`${name}-slider`)];
    const isLog = slider.dataset.log !== undefined;
    const toSlider = () => { slider.value = isLog ? Math.log10(+number.value) : number.value; };
    slider.addEventListener("input", () => {
      number.value = isLog ? +(10 ** +slider.value).toPrecision(2) : slider.value;
    });
    number.addEventListener("input", toSlider);
    toSlider();
  }
  root.querySelector("form").addEventListener("input", (event) => {
    if (["teachers", "classes"].includes(event.target.name)) {
      curves.clear();
      settle();
    }
    changed();
  });
  field("filter").addEventListener("input", () => { if (estimate) rows(); });
  root.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  part("copy").addEventListener("click", async () => {
    await navigator.clipboard.writeText(part("commands").textContent);
    part("copy").textContent = "Copied";
  });
  settle();
  // On the operator's page it waits until somebody opens it.
  const details = root.closest("details");
  if (!details || details.open) changed();
  else details.addEventListener("toggle", changed, { once: true });
})();
