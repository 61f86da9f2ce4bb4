"use strict";
// Draws curves as SVG: axes that start and end on ticks, steps for fronts, and what is under the
// pointer or the keyboard's arrows in words. Used by the calculator and by `tune --plot`.
const shieldChart = (() => {
  const NS = "http://www.w3.org/2000/svg";
  const make = (name, attributes, parent, text) => {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    parent?.append(element);
    return element;
  };

  // Ticks that include both ends: 1, 2 and 5 times powers of ten.
  const linear = (low, high) => {
    const rough = Math.max(high - low, 1e-9) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    const ticks = [];
    for (let i = Math.floor(low / step + 1e-9); i * step < high - 1e-9 * step; i++) {
      ticks.push(i * step);
    }
    ticks.push(Math.ceil(high / step - 1e-9) * step);
    return ticks;
  };
  const logarithmic = (low, high) => {
    const all = [];
    for (let e = -4; e <= 6; e++) for (const m of [1, 2, 5]) all.push(m * 10 ** e);
    const first = all.findLastIndex((tick) => tick <= low * 1.0001);
    const last = all.findIndex((tick) => tick >= high / 1.0001);
    return all.slice(Math.max(first, 0), last + 1);
  };
  const short = (value) => String(+value.toPrecision(4));

  // spec: {x: {label, log}, y: {label, percent}, series: [{name, points: [{x, y, text}], step,
  // dots}], cloud: [[x, y]], marks: [{x, y, text}], line: x, tell: (point) => void}
  return (svg, spec) => {
    const points = spec.series.flatMap((series) => series.points);
    svg.replaceChildren();
    if (!points.length) return;
    // As wide as it is shown, so that letters stay readable on a phone.
    const width = Math.max(300, Math.min(640, svg.clientWidth || 640));
    const height = Math.round(Math.max(240, 0.6 * width));
    const box = { left: 56, right: width - 14, top: 12, bottom: height - 46 };
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const all = [...points, ...(spec.marks ?? [])];
    const xs = all.map((p) => p.x).concat(spec.line ?? []);
    const ys = all.map((p) => p.y);
    const ticksX = (spec.x.log ? logarithmic : linear)(Math.min(...xs), Math.max(...xs));
    const ticksY = linear(Math.min(...ys), Math.max(...ys)).filter((t) => !spec.y.percent || t <= 1);
    if (spec.y.percent && ticksY.at(-1) < Math.max(...ys) - 1e-9) ticksY.push(1);
    const scale = (ticks, log, from, to) => {
      const f = log ? Math.log : (v) => v;
      const [a, b] = [f(ticks[0]), f(ticks.at(-1))];
      return (value) => from + ((f(value) - a) / (b - a || 1)) * (to - from);
    };
    const X = scale(ticksX, spec.x.log, box.left, box.right);
    const Y = scale(ticksY, false, box.bottom, box.top);
    for (const tick of ticksY) {
      make("line", { x1: box.left, x2: box.right, y1: Y(tick), y2: Y(tick), class: "grid" }, svg);
      const text = spec.y.percent ? `${short(100 * tick)}%` : short(tick);
      make("text", { x: box.left - 8, y: Y(tick) + 4, class: "tick end" }, svg, text);
    }
    for (const tick of ticksX) {
      make("line", { x1: X(tick), x2: X(tick), y1: box.top, y2: box.bottom, class: "grid" }, svg);
      make("text", { x: X(tick), y: box.bottom + 18, class: "tick middle" }, svg, short(tick));
    }
    const middle = (box.left + box.right) / 2;
    make("text", { x: middle, y: height - 8, class: "axis middle" }, svg, spec.x.label);
    const turned = { x: 14, y: (box.top + box.bottom) / 2, class: "axis middle" };
    turned.transform = `rotate(-90 14 ${turned.y})`;
    make("text", turned, svg, spec.y.label);
    if (spec.line) {
      const x = X(spec.line);
      make("line", { x1: x, x2: x, y1: box.top, y2: box.bottom, class: "budget" }, svg);
    }
    for (const [x, y] of spec.cloud ?? []) {
      if (x < ticksX[0] || x > ticksX.at(-1) || y < ticksY[0] || y > ticksY.at(-1)) continue;
      make("circle", { cx: X(x).toFixed(1), cy: Y(y).toFixed(1), r: 1.5, class: "cloud" }, svg);
    }
    spec.series.forEach((series, number) => {
      const colour = `series s${number % 7}`;
      let path = "";
      for (const [i, point] of series.points.entries()) {
        // A front is a staircase: nothing between two of its settings is better than the left one.
        const [x, y] = [X(point.x).toFixed(1), Y(point.y).toFixed(1)];
        path += i === 0 ? `M${x} ${y}` : series.step ? `H${x}V${y}` : `L${x} ${y}`;
      }
      make("path", { d: path, class: `${colour} line` }, svg);
      for (const point of series.points) {
        make("circle", { cx: X(point.x), cy: Y(point.y), r: 3.5, class: `${colour} dot` }, svg);
      }
    });
    for (const mark of spec.marks ?? []) {
      make("circle", { cx: X(mark.x), cy: Y(mark.y), r: 8, class: "mark-ring" }, svg);
    }
    const ring = make("circle", { r: 7, class: "hover", visibility: "hidden" }, svg);
    const named = spec.series.flatMap((s) => s.points.map((p) => ({ ...p, series: s.name })));
    named.push(...(spec.marks ?? []).map((mark) => ({ ...mark, series: "" })));
    named.sort((a, b) => a.x - b.x);
    let shown = -1;
    const show = (place) => {
      shown = place;
      const point = named[place];
      ring.setAttribute("visibility", point ? "visible" : "hidden");
      if (point) {
        ring.setAttribute("cx", X(point.x));
        ring.setAttribute("cy", Y(point.y));
      }
      spec.tell?.(point);
    };
    svg.onpointermove = (event) => {
      const place = new DOMPoint(event.clientX, event.clientY);
      const { x, y } = place.matrixTransform(svg.getScreenCTM().inverse());
      const far = (p) => (X(p.x) - x) ** 2 + (Y(p.y) - y) ** 2;
      show(named.reduce((best, p, i) => (far(p) < far(named[best]) ? i : best), 0));
    };
    svg.onpointerleave = () => show(-1);
    svg.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      show((shown + step + named.length) % named.length);
    };
  };
})();
