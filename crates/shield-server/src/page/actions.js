"use strict";
// What an operator does at the page: create, invite, close, call off, find. Tokens are made here,
// with the browser's own generator; the server gets their hashes and nothing else.
(() => {
  document.body.classList.add("scripts");
  const byId = (id) => document.getElementById(id);

  const send = async (method, address, body) => {
    const answer = await fetch(address, {
      method,
      headers: body ? { "content-type": "application/json" } : {},
      body: body && JSON.stringify(body),
    });
    if (answer.status === 401) location.reload();
    const text = await answer.text();
    const document_ = text ? JSON.parse(text) : {};
    if (!answer.ok) throw new Error(document_.detail ?? `${answer.status}`);
    return document_;
  };

  // --- Tokens and their hashes -------------------------------------------------------------

  const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const newToken = () => `shield_${hex(crypto.getRandomValues(new Uint8Array(32)))}`;

  // BLAKE3 of at most one chunk, which a token is.
  const IV = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
    0x5be0cd19];
  const ORDER = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
  const compress = (chain, block, length, flags) => {
    let words = Array.from({ length: 16 }, (_, i) => new DataView(block.buffer).getUint32(4 * i, true));
    const v = [...chain, ...IV.slice(0, 4), 0, 0, length, flags];
    const turn = (x, by) => (x >>> by) | (x << (32 - by));
    const mix = (a, b, c, d, x, y) => {
      v[a] = (v[a] + v[b] + x) | 0; v[d] = turn(v[d] ^ v[a], 16);
      v[c] = (v[c] + v[d]) | 0; v[b] = turn(v[b] ^ v[c], 12);
      v[a] = (v[a] + v[b] + y) | 0; v[d] = turn(v[d] ^ v[a], 8);
      v[c] = (v[c] + v[d]) | 0; v[b] = turn(v[b] ^ v[c], 7);
    };
    for (let round = 0; round < 7; round++) {
      const m = words;
      mix(0, 4, 8, 12, m[0], m[1]); mix(1, 5, 9, 13, m[2], m[3]);
      mix(2, 6, 10, 14, m[4], m[5]); mix(3, 7, 11, 15, m[6], m[7]);
      mix(0, 5, 10, 15, m[8], m[9]); mix(1, 6, 11, 12, m[10], m[11]);
      mix(2, 7, 8, 13, m[12], m[13]); mix(3, 4, 9, 14, m[14], m[15]);
      words = ORDER.map((place) => m[place]);
    }
    return chain.map((_, i) => v[i] ^ v[i + 8]);
  };
  const hashChunk = (bytes, key, kind) => {
    const blocks = Math.max(1, Math.ceil(bytes.length / 64));
    let chain = key;
    for (let i = 0; i < blocks; i++) {
      const part = bytes.subarray(64 * i, 64 * i + 64);
      const block = new Uint8Array(64);
      block.set(part);
      const flags = kind | (i === 0 ? 1 : 0) | (i === blocks - 1 ? 2 | 8 : 0);
      chain = compress(chain, block, part.length, flags);
    }
    return chain;
  };
  const hashToken = (token) => {
    const text = (value) => new TextEncoder().encode(value);
    const key = hashChunk(text("shield 2026 token v1"), IV, 32);
    const words = hashChunk(text(token), key, 64);
    const bytes = new DataView(new ArrayBuffer(32));
    words.forEach((word, i) => bytes.setUint32(4 * i, word >>> 0, true));
    return hex(new Uint8Array(bytes.buffer));
  };
  window.shieldHashToken = hashToken;

  // --- Invitations --------------------------------------------------------------------------

  const quoted = (text) => JSON.stringify(text);
  const invitation = (server, certificate, election, teacher, token) => {
    const file = teacher ? `teacher-${teacher}.toml` : "student.toml";
    const steps = teacher
      ? [`shield vote --invitation ${file} --votes my-votes.csv`, `shield election status --invitation ${file}`]
      : [`shield election fetch election --invitation ${file} --out election.toml`,
        "shield keygen --election election.toml --out keys",
        `shield election submit --invitation ${file} keys/public.key keys/evaluation.key`,
        `shield election status --invitation ${file}`];
    const whose = teacher ? `the teacher ${teacher} of ${election}` : `the student of ${election}`;
    const lines = [
      `# For ${whose} alone: whoever has this file can act in that place. Send it over a safe channel.`,
      "#", "# What to do:", ...steps.map((step) => `#     ${step}`),
      `server = ${quoted(server)}`,
      `role = ${quoted(teacher ? "teacher" : "student")}`,
      `election = ${quoted(election)}`,
      ...(teacher ? [`teacher = ${quoted(teacher)}`] : []),
      `token = ${quoted(token)}`,
      ...(certificate ? [`certificate = '''\n${certificate}'''`] : []),
    ];
    return { file, text: `${lines.join("\n")}\n` };
  };

  const crcTable = Array.from({ length: 256 }, (_, n) => {
    for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
    return n >>> 0;
  });
  const crc = (bytes) => {
    let sum = 0xffffffff;
    for (const byte of bytes) sum = crcTable[(sum ^ byte) & 255] ^ (sum >>> 8);
    return (sum ^ 0xffffffff) >>> 0;
  };
  // A ZIP archive without compression.
  const archive = (files) => {
    const [parts, directory] = [[], []];
    let offset = 0;
    const numbers = (...fields) => {
      const bytes = [];
      for (const [value, size] of fields) {
        for (let i = 0; i < size; i++) bytes.push(Math.floor(value / 256 ** i) & 255);
      }
      return new Uint8Array(bytes);
    };
    for (const { file, text } of files) {
      const [name, content] = [file, text].map((t) => new TextEncoder().encode(t));
      const common = [[20, 2], [0x800, 2], [0, 2], [0, 2], [0x21, 2], [crc(content), 4],
        [content.length, 4], [content.length, 4], [name.length, 2], [0, 2]];
      const head = numbers([0x04034b50, 4], ...common);
      parts.push(head, name, content);
      // Readable by its owner alone.
      directory.push(numbers([0x02014b50, 4], [0x0314, 2], ...common, [0, 2], [0, 2], [0, 2],
        [0o100600 * 65536, 4], [offset, 4]), name);
      offset += head.length + name.length + content.length;
    }
    const size = directory.reduce((sum, part) => sum + part.length, 0);
    const end = numbers([0x06054b50, 4], [0, 2], [0, 2], [files.length, 2], [files.length, 2],
      [size, 4], [offset, 4], [0, 2]);
    return new Blob([...parts, ...directory, end], { type: "application/zip" });
  };
  const offer = (link, name, blob) => {
    if (link.href) URL.revokeObjectURL(link.href);
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.textContent = `Save ${name} again`;
    link.hidden = false;
    link.click();
  };

  // --- A new election -----------------------------------------------------------------------

  const form = byId("create");
  const value = (name) => form.elements[name].value.trim();
  const teachers = () => value("teachers").split(/[\s,;]+/).filter(Boolean);
  const electionFile = () => {
    const classes = value("classes");
    const named = () => `[${classes.split(",").map((name) => quoted(name.trim())).join(", ")}]`;
    const lines = [
      `name = ${quoted(value("name"))}`,
      `group = ${quoted(value("group"))}`,
      `classes = ${/^\d+$/.test(classes) ? classes : named()}`,
      `samples = ${value("samples") || 0}`,
      ...(value("polynomial") ? [`polynomial = ${quoted(value("polynomial"))}`] : []),
      ...(value("offset") ? [`offset = ${value("offset")}`] : []),
      `quorum = ${value("quorum") || 0}`,
      `teachers = [${teachers().map(quoted).join(", ")}]`,
    ];
    if (value("deadline")) lines.push(`deadline = ${new Date(value("deadline")).toISOString()}`);
    if (value("more")) lines.push(value("more"));
    return `${lines.join("\n")}\n`;
  };
  const priced = byId("price");
  const problem = byId("create-problem");
  const fixed = (epsilon) => (typeof epsilon === "number" ? epsilon.toFixed(3) : "infinite");
  let latest = 0;
  const price = async () => {
    const number = ++latest;
    try {
      const cost = await send("POST", "/v1/price", { file: electionFile() });
      if (number !== latest) return;
      // The order at which a group's moments add up is fixed with its first election.
      const order = fixed(cost.alone) === fixed(cost.only) ? ""
        : ` at the group's order (${fixed(cost.only)} if it were a group's only election)`;
      priced.textContent = `Costs epsilon ${fixed(cost.alone)}${order}. The group has spent or set aside `
        + `${fixed(cost.before)} of ${cost.budget}; with this election ${fixed(cost.after)}. `
        + (cost.fits ? `After it, ${cost.labels_left} more labels like these.` : "It does not fit.");
      priced.className = `notice broad ${cost.fits ? "fine" : "bad"}`;
    } catch (error) {
      if (number !== latest) return;
      priced.textContent = error.message;
      priced.className = "notice broad";
    }
  };
  let waiting;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(price, 200);
  });
  form.elements.server.value = location.origin;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.hidden = true;
    const button = form.querySelector("button");
    button.disabled = true;
    try {
      const [name, server, certificate] = [value("name"), value("server"), form.dataset.certificate];
      const files = [];
      const invite = (teacher) => {
        const token = newToken();
        files.push(invitation(server, certificate, name, teacher, token));
        return hashToken(token);
      };
      const student = invite(null);
      const hashes = Object.fromEntries(teachers().map((teacher) => [teacher, invite(teacher)]));
      await send("POST", "/v1/elections", { file: electionFile(), student, teachers: hashes });
      offer(byId("invitations"), `${name}-invitations.zip`, archive(files));
      priced.textContent = `${name} is created. Send each party its own file of the archive; the `
        + "student makes keys first. The tokens are nowhere else: save the archive now.";
      priced.className = "notice broad fine";
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    } finally {
      button.disabled = false;
    }
  });

  // --- Elections that are there -------------------------------------------------------------

  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without TLS there is no clipboard; a person can copy what is selected.
      prompt("Copy these names:", text);
    }
  };
  const acts = {
    close: async (name) => {
      const words = "No ballot is taken any more, and the aggregation starts.";
      if (confirm(`Close ${name}? ${words}`)) await send("POST", `/v1/elections/${name}/close`);
    },
    "call-off": async (name) => {
      const words = "Its ballots are never aggregated, and its budget is given back.";
      if (confirm(`Call ${name} off? ${words}`)) await send("DELETE", `/v1/elections/${name}`);
    },
    turn: async (name, button) => {
      const priority = Number(byId(`priority-${name}`).value);
      const paused = button.dataset.paused === "true";
      await send("POST", `/v1/elections/${name}/schedule`, { priority, paused });
    },
    erase: async (name, button) => {
      const { what } = button.dataset;
      const words = `Deletes ${what === "ballots" ? "the ballots" : "everything but the ledger line"} of ${name}, for ever.`;
      if (prompt(`${words} Type its name to go on:`) !== name) return;
      await send("POST", `/v1/elections/${name}/erase`, { what });
      button.textContent = "Deleted";
    },
    budget: async (group) => {
      const [epsilon, reason] = [Number(byId(`budget-${group}`).value), byId(`reason-${group}`).value];
      if (!confirm(`Let ${group} spend ${epsilon} in all? The reason stays in the ledger.`)) return;
      await send("POST", `/v1/groups/${group}/budget`, { epsilon, reason });
    },
    copy: async (name, button) => {
      await copy(button.dataset.names);
      button.textContent = "Copied";
    },
    reissue: async (name, button) => {
      const typed = byId(`party-${name}`).value.trim();
      const teacher = typed && typed !== "student" ? typed : null;
      const whose = teacher ? `the teacher ${teacher}` : "the student";
      if (!confirm(`Make a new invitation for ${whose}? The old one stops working at once.`)) return;
      const token = newToken();
      await send("POST", `/v1/elections/${name}/tokens`, { teacher, token: hashToken(token) });
      const [server, certificate] = [value("server"), form.dataset.certificate];
      const { file, text } = invitation(server, certificate, name, teacher, token);
      const link = document.createElement("a");
      offer(link, `${name}-${file}`, new Blob([text], { type: "application/toml" }));
      button.textContent = "Made and saved";
    },
    revoke: async (name) => {
      if (confirm(`Revoke the token ${name}? Whoever has it is a stranger from now on.`)) {
        await send("DELETE", `/v1/tokens/${name}`);
      }
    },
    rotate: async (name, button) => {
      if (!confirm(`Make a new token for ${name}? The old one stops working at once.`)) return;
      const token = newToken();
      const whose = await send("POST", `/v1/tokens/${name}/rotate`, { token: hashToken(token) });
      const [server, certificate] = [value("server"), form.dataset.certificate];
      const link = document.createElement("a");
      if (whose.election) {
        const { file, text } = invitation(server, certificate, whose.election, whose.teacher, token);
        offer(link, `${whose.election}-${file}`, new Blob([text], { type: "application/toml" }));
      } else {
        const lines = [`server = ${quoted(server)}`, `role = ${quoted(whose.role)}`,
          `token = ${quoted(token)}`,
          ...(certificate ? [`certificate = '''\n${certificate}'''`] : [])];
        offer(link, `${whose.role}.toml`, new Blob([`${lines.join("\n")}\n`]));
      }
      button.textContent = "Made and saved";
    },
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-action]");
    if (!button) return;
    const alarm = byId("action-problem");
    alarm.hidden = true;
    try {
      await acts[button.dataset.action](button.dataset.election, button);
      document.dispatchEvent(new Event("shield-refresh"));
    } catch (error) {
      alarm.textContent = error.message;
      alarm.hidden = false;
      alarm.scrollIntoView({ block: "nearest" });
    }
  });

  // How many elections are shown at once.
  const PAGE = 20;
  let most = PAGE;
  const arrange = () => {
    const cards = document.querySelector("#elections .cards");
    if (!cards) return;
    const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const keys = {
      name: (card) => card.dataset.name,
      deadline: (card) => card.dataset.deadline || "9",
      voted: (card) => Number(card.dataset.voted).toFixed(6),
      created: (card) => -Date.parse(card.dataset.created),
    };
    const key = keys[byId("sort").value];
    const all = [...cards.children];
    all.forEach((card, place) => { card.dataset.place ??= place; });
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    all.sort((a, b) => key ? compare(key(a), key(b)) : a.dataset.place - b.dataset.place);
    if (all.some((card, place) => cards.children[place] !== card)) cards.append(...all);
    let found = 0;
    for (const card of all) {
      const text = card.textContent.toLowerCase();
      found += words.every((word) => text.includes(word)) ? 1 : 0;
      card.hidden = !words.every((word) => text.includes(word)) || found > most;
    }
    byId("found").textContent = words.length ? `${found} of ${all.length}` : "";
    const more = byId("more");
    more.hidden = found <= most;
    more.textContent = `Show more (${found - most})`;
  };
  document.addEventListener("click", (event) => {
    if (event.target.id !== "more") return;
    most += PAGE;
    arrange();
  });
  byId("filter").addEventListener("input", arrange);
  byId("sort").addEventListener("change", arrange);
  document.addEventListener("shield-fresh", arrange);
  arrange();
})();
