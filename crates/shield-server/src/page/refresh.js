"use strict";
// Fetches the page again every two seconds while it is looked at, and replaces the parts that have changed.
(() => {
  const warning = document.getElementById("connection");
  let latest = Date.now();
  let busy = false;

  const replace = (part, fresh) => {
    if (part.innerHTML === fresh.innerHTML) return;
    const folds = [...part.querySelectorAll("details[id]")].map(({ id, open }) => [id, open]);
    const active = part.contains(document.activeElement) && document.activeElement;
    const focused = active && active.closest("[id]")?.id;
    const chosen = [...part.querySelectorAll("input[id]")].map((input) => [input.id, input.value]);
    part.replaceChildren(...fresh.childNodes);
    for (const [id, open] of folds) document.getElementById(id)?.toggleAttribute("open", open);
    for (const [id, value] of chosen) {
      const input = document.getElementById(id);
      if (input) input.value = value;
    }
    if (focused) {
      const again = document.getElementById(focused);
      const target = active.id ? again : again?.querySelector("summary");
      target?.focus({ preventScroll: true });
    }
    document.dispatchEvent(new Event("shield-fresh"));
  };

  const refresh = async () => {
    if (document.hidden || busy) return;
    busy = true;
    try {
      const answer = await fetch("/?fragment", { cache: "no-store", signal: AbortSignal.timeout(10000) });
      if (answer.status === 401) return location.reload();
      if (!answer.ok) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-live]")) {
        const fresh = page.getElementById(part.id);
        if (fresh) replace(part, fresh);
      }
      latest = Date.now();
      warning.hidden = true;
    } catch {
      const seconds = Math.round((Date.now() - latest) / 1000);
      warning.textContent = `The server does not answer. What you see is ${seconds} seconds old.`;
      warning.hidden = false;
    } finally {
      busy = false;
    }
  };

  setInterval(refresh, 2000);
  document.addEventListener("visibilitychange", refresh);
  document.addEventListener("shield-refresh", refresh);
})();
