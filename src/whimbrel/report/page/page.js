// The report's own script: filter, keys, folds of rules, sorting, copying, colors, printing. It sends nothing.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (name) => document.getElementById(name);
  const say = (text) => { byId("said").textContent = text; };
  for (const part of all(".tools, .filter")) part.hidden = false;

  // findings whose lines stand in the block of JSON get them when they come near the view
  const findings = all(".finding");
  const bodies = byId("late") ? JSON.parse(byId("late").textContent) : [];
  const complete = (finding) => {
    if (finding.dataset.late === undefined) return;
    finding.insertAdjacentHTML("beforeend", bodies[finding.dataset.late]);
    delete finding.dataset.late;
    prepare(finding);
  };
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      complete(entry.target);
      near.unobserve(entry.target);
    }
  }, { rootMargin: "1000px" });
  for (const finding of all("[data-late]")) near.observe(finding);

  // colors: the system's, until the switch is used
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem("whimbrel-scheme"); } catch { return null; } };
  const isDark = () => (root.dataset.scheme || (dark.matches ? "dark" : "light")) === "dark";
  const label = () => { byId("scheme").firstChild.textContent = isDark() ? "Light" : "Dark"; };
  if (stored() === "dark" || stored() === "light") root.dataset.scheme = stored();
  label();
  dark.addEventListener("change", label);
  byId("scheme").addEventListener("click", () => {
    root.dataset.scheme = isDark() ? "light" : "dark";
    try { localStorage.setItem("whimbrel-scheme", root.dataset.scheme); } catch { /* a page of a file may have no store */ }
    label();
  });

  // printing: every fold is open on paper, and as it was afterwards
  let opened = [];
  addEventListener("beforeprint", () => {
    findings.forEach(complete);
    opened = all("details.file:not([open]), details.more:not([open])");
    for (const fold of opened) fold.open = true;
  });
  addEventListener("afterprint", () => { for (const fold of opened) fold.open = false; });
  byId("print").addEventListener("click", () => print());

  // copying
  const copied = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = document.createElement("textarea");
      field.value = text;
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await copied(button.dataset.copy);
    say(`copied: ${button.dataset.copy}`);
    const word = button.querySelector("span");
    word.textContent = "copied";
    setTimeout(() => { word.textContent = "copy"; }, 1500);
  });

  // the text of a rule is in the page once; a fold gets its copy when it opens
  document.addEventListener("toggle", (event) => {
    const fold = event.target;
    if (!fold.matches("details.why") || !fold.open || fold.querySelector(".document")) return;
    const text = document.querySelector(`#rule-${CSS.escape(fold.dataset.rule)} .document`);
    if (text) fold.append(text.cloneNode(true));
  }, true);

  // sorted tables: numbers by value, all else as words
  const values = (row, at) => row.cells[at].dataset.value ?? row.cells[at].textContent;
  const compare = (a, b) => {
    const x = Number(a.replaceAll(",", ""));
    const y = Number(b.replaceAll(",", ""));
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, "en", { numeric: true }) : x - y;
  };
  const sortable = (table) => {
    for (const head of all("thead th", table)) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const sign = head.ariaSort === "ascending" ? -1 : 1;
        for (const other of all("th", table)) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        const rows = all("tbody tr", table);
        rows.sort((a, b) => sign * compare(values(a, head.cellIndex), values(b, head.cellIndex)));
        table.tBodies[0].append(...rows);
      });
    }
  };
  const prepare = (part) => {
    for (const button of all(".copy", part)) button.hidden = false;
    all("table[data-sortable]", part).forEach(sortable);
  };
  prepare(document);

  // places in the page: the folds around a target open, a hidden finding is shown
  const files = all("details.file");
  const reveal = () => {
    let target = null;
    try { target = byId(decodeURIComponent(location.hash.slice(1))); } catch { /* no name of a place */ }
    if (!target) return;
    const finding = target.closest(".finding");
    if (finding?.hidden) clear();
    if (finding) complete(finding);
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target.scrollIntoView({ block: "start" });
    if (target.matches(".finding")) target.focus({ preventScroll: true });
  };

  // filter: risks of the cards (any of the pressed ones), rule, file, and words that must all occur
  const form = document.querySelector(".filter");
  const cards = all("[data-filter]");
  const texts = new Map();
  const characters = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&#34;": '"', "&#39;": "'" };
  const plain = (html) => html.replace(/<[^>]*>|&(?:lt|gt|amp|#34|#39);/g, (part) => characters[part] ?? " ");
  const textOf = (finding) => {
    if (!texts.has(finding)) {
      const late = finding.dataset.late === undefined ? "" : plain(bodies[finding.dataset.late]);
      texts.set(finding, `${finding.parentElement.dataset.file} ${finding.textContent} ${late}`.toLowerCase());
    }
    return texts.get(finding);
  };
  const isOf = (finding, card) => card === finding.dataset.risk || card === finding.dataset.also ||
    (card === "review" && finding.dataset.review !== undefined);
  const filter = () => {
    const risks = cards.filter((card) => card.ariaPressed === "true").map((card) => card.dataset.filter);
    const words = byId("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    const rule = byId("rule").value;
    const file = byId("file").value;
    let shown = 0;
    let notes = 0;
    for (const part of files) {
      let here = 0;
      const isOther = file !== "" && part.dataset.file !== file;
      for (const finding of all(".finding", part)) {
        const isShown = !isOther && (!risks.length || risks.some((risk) => isOf(finding, risk))) &&
          (rule === "" || finding.dataset.rule === rule) && words.every((word) => textOf(finding).includes(word));
        finding.hidden = !isShown;
        here += isShown;
        notes += isShown && finding.dataset.note !== undefined;
      }
      part.hidden = isOther || (here === 0 && part.querySelector(".finding") !== null);
      shown += here;
    }
    const of = shown === findings.length ? "" : ` of ${findings.length.toLocaleString("en")}`;
    const noted = notes ? `, ${notes.toLocaleString("en")} with nothing to do` : "";
    byId("count").textContent = `${shown.toLocaleString("en")}${of} shown${noted}`;
  };
  const clear = () => {
    form.reset();
    for (const card of cards) card.ariaPressed = "false";
    filter();
  };
  if (form) {
    const fill = (select, names) => {
      for (const name of names) select.add(new Option(name, name));
      select.closest("label").hidden = names.length < 2;
    };
    fill(byId("rule"), [...new Set(findings.map((finding) => finding.dataset.rule))].filter(Boolean).sort());
    fill(byId("file"), files.map((part) => part.dataset.file));
    form.addEventListener("submit", (event) => event.preventDefault());
    let wait = 0;
    form.addEventListener("input", () => { cancelAnimationFrame(wait); wait = requestAnimationFrame(filter); });
    byId("all").addEventListener("click", clear);
    for (const card of cards) {
      card.addEventListener("click", () => {
        card.ariaPressed = card.ariaPressed === "true" ? "false" : "true";
        filter();
      });
    }
    filter();
  }

  // keys: / goes to the filter, arrows walk from finding to finding, Escape shows all
  const walk = (step) => {
    const shown = findings.filter((finding) => !finding.hidden);
    const at = shown.indexOf(document.activeElement.closest(".finding"));
    const next = shown[at < 0 ? (step > 0 ? 0 : shown.length - 1) : at + step];
    if (!next) return;
    next.parentElement.open = true;
    complete(next);
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isField = event.target.matches("input, select, textarea");
    const isInView = () => byId("findings").getBoundingClientRect().top < innerHeight / 2;  // before, arrows scroll
    const isWalking = event.target.id === "words" || event.target.closest(".finding") ||
      (event.target === document.body && isInView());
    if (event.key === "/" && !isField && form) {
      byId("words").focus();
      byId("words").select();
    } else if (event.key === "Escape" && form) {
      clear();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && isWalking && findings.length) {
      walk(event.key === "ArrowDown" ? 1 : -1);
    } else {
      return;
    }
    event.preventDefault();
  });
  addEventListener("hashchange", reveal);
  reveal();
})();
