"use strict";
(() => {
  const make = (tag, css, text) => {
    const node = document.createElement(tag);
    if (css) node.className = css;
    if (text !== undefined) node.textContent = text;
    return node;
  };

  // Tables: a button in each head sorts by it; equal rows keep their order, gaps come last.
  const keyOf = (cell) => {
    const given = cell.dataset.sort ?? cell.textContent.trim();
    const value = Number(given);
    return given === "" ? null : Number.isNaN(value) ? given : value;
  };
  const order = (a, b) =>
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true });
  const sortBy = (table, column, down) => {
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => [keyOf(row.cells[column]), row]);
    keyed.sort(([a], [b]) =>
      a === null || b === null ? (a === null) - (b === null) : down ? order(b, a) : order(a, b));
    body.append(...keyed.map(([, row]) => row));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    if (table.tBodies[0].rows.length < 2) continue;
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = make("button", "", head.textContent);
      button.type = "button";
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const first = head.classList.contains("n") && column > 0 ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const next = now === first ? other : first;
        for (const one of heads) one.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", next);
        sortBy(table, column, next === "descending");
      });
    });
  }

  // Charts: the nearest point answers the pointer, a finger, or the arrow keys.
  const tip = make("div", "tip");
  tip.setAttribute("aria-hidden", "true");
  document.body.append(tip);
  const chartOf = (svg) => {
    const points = [...svg.querySelectorAll(".answer")].map((node) => {
      node.querySelector("title")?.remove();
      const x = Number(node.getAttribute("cx")), y = Number(node.getAttribute("cy"));
      return { node, x, y, group: node.parentNode };
    });
    const title = svg.querySelector(":scope > title");
    if (title) {
      // Kept as a label: as a title it would cover the answer after a second.
      svg.setAttribute("aria-label", title.textContent);
      svg.removeAttribute("aria-labelledby");
      title.remove();
    }
    const byX = svg.dataset.by === "x";
    const cross = svg.querySelector(".cross");
    const stops = byX
      ? [...new Set(points.map((p) => p.x))].sort((a, b) => a - b).map((x) => ({ x }))
      : points;
    let current = -1;
    const hide = () => {
      current = -1;
      tip.classList.remove("on");
      cross?.classList.remove("on");
      for (const p of points) p.node.classList.remove("on");
    };
    const show = (index) => {
      if (index === current) return;
      hide();
      current = index;
      const stop = stops[index];
      const chosen = byX ? points.filter((p) => Math.abs(p.x - stop.x) < 0.06) : [stop];
      const where = chosen[0].node.dataset.where;
      const lines = make("div", "said");
      for (const { node, group } of chosen) {
        node.classList.add("on");
        const name = byX ? group.dataset.name : node.dataset.label || group.dataset.name;
        lines.append(make("span", "key " + group.getAttribute("class")));
        lines.append(make("bdi", "", name), make("span", "value", node.dataset.value));
      }
      tip.replaceChildren(make("div", "where", byX || where !== chosen[0].node.dataset.label
        ? `${svg.dataset.axis} ${where}` : chosen[0].group.dataset.name), lines);
      for (const { node } of chosen) {
        if (node.dataset.remark) tip.append(make("div", "remark", node.dataset.remark));
      }
      const box = svg.getBoundingClientRect();
      const scale = box.width / svg.viewBox.baseVal.width;
      if (cross && byX) {
        cross.setAttribute("x1", stop.x);
        cross.setAttribute("x2", stop.x);
        cross.classList.add("on");
      }
      const atX = box.left + stop.x * scale;
      const atY = box.top + (byX ? Math.min(...chosen.map((p) => p.y)) : stop.y) * scale;
      const room = document.documentElement.clientWidth - 8;
      let left = atX + 14;
      if (left + tip.offsetWidth > room) left = atX - 14 - tip.offsetWidth;
      left = Math.max(8, Math.min(left, room - tip.offsetWidth));
      const top = Math.max(8, atY - tip.offsetHeight - 10);
      tip.style.left = `${left + scrollX}px`;
      tip.style.top = `${top + scrollY}px`;
      tip.classList.add("on");
    };
    const nearest = (event) => {
      const box = svg.getBoundingClientRect();
      const scale = box.width / svg.viewBox.baseVal.width;
      const x = (event.clientX - box.left) / scale, y = (event.clientY - box.top) / scale;
      let best = -1, least = byX ? Infinity : 32;
      stops.forEach((s, i) => {
        const far = byX ? Math.abs(s.x - x) : Math.hypot(s.x - x, s.y - y);
        if (far < least) [best, least] = [i, far];
      });
      if (best < 0) hide(); else show(best);
    };
    if (!points.length) return;
    svg.addEventListener("pointermove", nearest);
    svg.addEventListener("pointerdown", nearest);
    svg.addEventListener("pointerleave", hide);
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      const start = current < 0 && step < 0 ? stops.length : current;
      show(Math.max(0, Math.min(stops.length - 1, start + step)));
    });
  };
  document.querySelectorAll("svg.chart").forEach(chartOf);

  // Commands can be copied, the numbers saved.
  for (const block of document.querySelectorAll(".code")) {
    if (!navigator.clipboard) break;
    const button = make("button", "tool", "Copy");
    button.type = "button";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(block.querySelector("code").textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Select and copy by hand";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    block.append(button);
  }
  const save = make("button", "tool", "Save the numbers as JSON");
  save.type = "button";
  save.addEventListener("click", () => {
    const text = document.getElementById("truerank-data").textContent;
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "truerank.json";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  document.querySelector("footer").append(save);

  // The contents follow the reader; the printed page has everything unfolded.
  const links = new Map([...document.querySelectorAll(".contents a")].map((a) => [a.hash.slice(1), a]));
  if ("IntersectionObserver" in window) {
    const seen = new Set();
    const watch = new IntersectionObserver((entries) => {
      for (const e of entries) e.isIntersecting ? seen.add(e.target.id) : seen.delete(e.target.id);
      const first = [...links.keys()].find((id) => seen.has(id));
      for (const [id, a] of links) {
        if (id === first) a.setAttribute("aria-current", "true"); else a.removeAttribute("aria-current");
      }
    }, { rootMargin: "-20% 0px -60% 0px" });
    document.querySelectorAll("main > section").forEach((s) => watch.observe(s));
  }
  const folded = new Set();
  addEventListener("beforeprint", () => {
    for (const d of document.querySelectorAll("details:not([open])")) { folded.add(d); d.open = true; }
  });
  addEventListener("afterprint", () => {
    for (const d of folded) d.open = false;
    folded.clear();
  });
})();
