// The files, the lines of one file with the findings below them, and the editor of a line.

import { call } from "./api.js";
import { byId, chip, make, plural, replace, riskOf, settled } from "./dom.js";
import { enable, firstInOrder, openItem, select, treeItem } from "./tree.js";

const MAX_SHOWN = 1500; // files in the tree; the filter finds the others
const TYPING = 25; // milliseconds of rest before a keystroke is sent

export class Editor {
  constructor(studio) {
    this.studio = studio;
    this.names = [];
    this.counts = {};
    this.file = "";
    this.first = 1;
    this.count = 0;
    this.line = 0;
    this.lines = [];
    this.locked = new Set();
    this.findings = [];
    this.marked = new Map();
    this.group = 0;
    this.editing = null;
    this.tree = byId("files");
    this.box = byId("lines");
    enable(this.tree);
    this.box.addEventListener("click", (event) => this.onClick(event));
    this.box.addEventListener("dblclick", (event) => {
      const row = event.target.closest(".code");
      if (row && !event.target.closest("textarea")) this.edit();
    });
    this.box.addEventListener("keydown", (event) => this.onKey(event));
    byId("filter").addEventListener("input", settled(() => this.drawFiles(), 80));
  }

  // files ------------------------------------------------------------------------------------------
  async loadFiles() {
    const found = await call("files");
    if (!found) return;
    this.names = found.names;
    this.leftOut = found.left_out;
    this.drawFiles();
  }

  drawFiles() {
    const wanted = byId("filter").value.trim().toLowerCase();
    const names = this.names.filter((name) => !wanted || name.toLowerCase().includes(wanted));
    const items = names.slice(0, MAX_SHOWN).map((name) => this.fileItem(name));
    const left = names.length - items.length + (this.leftOut || 0);
    replace(this.tree, items, left > 0 ? make("li", { class: "soft", role: "none" }, `and ${plural(left, "more file")}`) : null);
    const shown = items.find((item) => item.dataset.file === this.file);
    if (shown) select(this.tree, shown, { focus: false });
    firstInOrder(this.tree);
  }

  fileItem(name) {
    const counts = Object.entries(this.counts[name] || {});
    const worst = counts.length ? counts[0][0] : "";
    const total = counts.reduce((sum, [, count]) => sum + count, 0);
    const words = counts.map(([word, count]) => `${count} ${word}`).join(", ");
    const slash = name.lastIndexOf("/") + 1;
    const label = [
      make("span", { class: "tree-text", title: name }, make("span", { class: "soft" }, name.slice(0, slash)), name.slice(slash)),
      this.studio.state.edited.includes(name) ? make("span", { class: "chip edited" }, "edited") : null,
      total ? make("span", { class: "chip", data: { risk: riskOf(worst) }, title: words }, String(total), make("span", { class: "unseen" }, ` findings: ${words}`)) : null,
    ];
    return treeItem(label, {
      data: { file: name },
      load: () => this.sectionItems(name),
      onSelect: (item) => item.dataset.file !== this.file && this.open(name, 1),
    });
  }

  async sectionItems(name) {
    const found = await call("file", { file: name, first: 1 }).catch((problem) => this.studio.notice(problem));
    return found ? found.sections.map((section) => this.sectionItem(name, section)) : [];
  }

  sectionItem(name, section) {
    return treeItem(make("span", { class: "tree-text mono" }, section.text), {
      children: section.sections.map((inner) => this.sectionItem(name, inner)),
      onSelect: () => this.open(name, section.line),
    });
  }

  setCounts(counts) {
    this.counts = counts;
    const open = [...this.tree.querySelectorAll(':scope > [aria-expanded="true"]')].map((item) => item.dataset.file);
    this.drawFiles();
    for (const item of this.tree.children) if (open.includes(item.dataset.file)) openItem(item, true);
  }

  // one file ---------------------------------------------------------------------------------------
  async open(file, line = 1, { focus = false } = {}) {
    if (this.editing) this.finish(true);
    const isShown = file === this.file && line >= this.first && line < this.first + this.lines.length;
    if (!isShown) await this.load(file, Math.max(1, line - 300));
    if (this.file === file) this.go(line, { focus });
  }

  async reload() {
    if (this.file) await this.load(this.file, this.first, { keeps: true });
  }

  async load(file, first, { keeps = false } = {}) {
    let found;
    try {
      found = await call("file", { file, first });
    } catch (problem) {
      this.studio.notice(problem);
      return;
    }
    if (!found) return;
    const isNew = file !== this.file;
    const top = byId("lines-box").scrollTop;
    Object.assign(this, { file, first: found.first, lines: found.lines, count: found.count, locked: new Set(found.locked || []) });
    if (isNew) this.findings = [];
    byId("file-name").textContent = file;
    const note = found.is_binary
      ? `binary, ${found.size.toLocaleString("en")} bytes: not shown`
      : `${plural(found.count, "line")}${found.is_edited ? ", edited" : ""}`;
    byId("file-note").textContent = note;
    this.draw();
    if (keeps) byId("lines-box").scrollTop = top;
    if (isNew) {
      this.studio.fileFindings(file);
      const item = [...this.tree.children].find((one) => one.dataset.file === file);
      if (item) select(this.tree, item, { focus: false });
    }
  }

  draw() {
    const rows = [];
    if (this.first > 1) rows.push(this.part("Earlier lines", Math.max(1, this.first - 1500)));
    this.lines.forEach((text, at) => rows.push(this.row(this.first + at, text), ...this.notes(this.first + at)));
    const last = this.first + this.lines.length;
    if (last <= this.count) rows.push(this.part("Further lines", last - 100));
    replace(this.box, rows);
    this.mark();
  }

  part(words, first) {
    const load = async () => {
      await this.load(this.file, first);
      this.go(Math.min(first + 50, this.count));
    };
    return make("button", { type: "button", class: "button part", on: { click: load } }, words);
  }

  row(line, text) {
    const findings = this.findings.filter((one) => one.line === line);
    const error = this.marked.get(`${this.file}:${line}`) === "error";
    return make(
      "div",
      {
        class: "code",
        id: `line-${line}`,
        "aria-current": line === this.line ? "true" : null,
        data: { n: String(line), line: String(line), ...(findings.length ? { risk: riskOf(findings[0].risk) } : {}), ...(error ? { risk: "breaks" } : {}) },
      },
      make("span", { class: "t" }, text),
    );
  }

  notes(line) {
    const error = this.errorAt === `${this.file}:${line}` ? [make("div", { class: "note error" }, chip("breaks start-up", "does not load"), " ", this.errorText)] : [];
    const found = this.findings.filter((one) => one.line === line).slice(0, 20);
    return [...error, ...found.map((finding) => this.studio.findingNote(finding))];
  }

  setFindings(file, findings) {
    if (file !== this.file) return;
    this.findings = findings;
    if (!this.editing) {
      const top = byId("lines-box").scrollTop;
      this.draw();
      byId("lines-box").scrollTop = top;
    }
  }

  setError(known, text) {
    const at = known ? `${known.file}:${known.line}` : "";
    if (at === this.errorAt && text === this.errorText) return;
    this.errorAt = at;
    this.errorText = text;
    if (!this.editing) this.draw();
    else this.noteWhileEditing();
  }

  noteWhileEditing() {
    for (const note of this.box.querySelectorAll(".note.error")) note.remove();
    if (this.errorAt !== `${this.file}:${this.editing.line}`) return;
    this.editing.row.after(...this.notes(this.editing.line).slice(0, 1));
  }

  go(line, { focus = false } = {}) {
    this.line = Math.max(1, Math.min(line, this.count));
    this.mark();
    const row = byId(`line-${this.line}`);
    if (row) row.scrollIntoView({ block: "center" });
    if (focus) this.box.focus();
  }

  // Lines of the chosen step, and the line of the cursor.
  highlight(lines) {
    this.steps = new Set(lines.map((line) => `${line.file}:${line.line}`));
    this.mark();
  }

  mark() {
    for (const row of this.box.querySelectorAll(".code")) {
      const line = Number(row.dataset.line);
      if (line === this.line) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
      row.classList.toggle("step", Boolean(this.steps && this.steps.has(`${this.file}:${line}`)));
    }
    const text = this.line ? `Line ${this.line}: ${this.lines[this.line - this.first] || ""}` : "";
    if (document.activeElement === this.box) byId("line-text").textContent = text;
  }

  onClick(event) {
    const row = event.target.closest(".code");
    if (!row || event.target.closest("button, textarea, summary")) return;
    const line = Number(row.dataset.line);
    if (this.editing && this.editing.line !== line) this.finish(true);
    this.line = line;
    this.mark();
  }

  onKey(event) {
    if (this.editing || event.target !== this.box || event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 25, PageUp: -25, Home: -this.count, End: this.count };
    if (event.key === "Enter") this.edit();
    else if (event.key in steps) this.move(steps[event.key]);
    else return;
    event.preventDefault();
  }

  move(by) {
    const line = Math.max(1, Math.min(this.line + by, this.count));
    this.open(this.file, line);
  }

  // editing ----------------------------------------------------------------------------------------
  edit() {
    const row = byId(`line-${this.line}`);
    if (!row || this.editing) return;
    if (this.locked.has(this.line)) {
      this.studio.notice(new Error("This line is too long, or has control characters: edit it in an editor"));
      return;
    }
    const text = this.lines[this.line - this.first];
    const field = make("textarea", { class: "edit", rows: "1", spellcheck: "false", "aria-label": `Line ${this.line}` });
    field.value = text;
    const editing = { line: this.line, row, field, before: text, sent: text, written: 1, group: String((this.group += 1)), isSending: false, wasSent: false };
    this.editing = editing;
    row.querySelector(".t").replaceChildren(field);
    field.addEventListener("keydown", (event) => this.onEditKey(event));
    field.addEventListener("input", settled(() => this.send(editing), TYPING));
    field.addEventListener("blur", () => this.editing === editing && this.finish(true));
    this.fit(field);
    field.focus();
    field.setSelectionRange(text.length, text.length);
  }

  fit(field) {
    field.rows = field.value.split("\n").length;
  }

  onEditKey(event) {
    event.stopPropagation();
    if (event.key === "Escape") this.finish(false);
    else if (event.key === "Enter" && !event.shiftKey) this.finish(true);
    else return;
    event.preventDefault();
  }

  // Sends the newest text; one edit is on its way at a time.
  async send(editing) {
    this.fit(editing.field);
    if (editing.isSending || editing.field.value === editing.sent) return;
    editing.isSending = true;
    const text = editing.field.value;
    editing.started = performance.now();
    try {
      const lines = text.split("\n");
      const state = await call("edit", {
        file: this.file, version: this.studio.state.version, first: editing.line, count: editing.written, lines, group: editing.group,
      });
      editing.sent = text;
      editing.written = lines.length;
      editing.wasSent = true;
      this.studio.onEdited(state, editing.started);
    } catch (problem) {
      this.studio.notice(problem);
    }
    editing.isSending = false;
    if (editing.field.value !== editing.sent && this.editing === editing) await this.send(editing);
  }

  async finish(keeps) {
    const editing = this.editing;
    if (!editing || editing.isFinishing) return;
    editing.isFinishing = true;
    while (editing.isSending) await new Promise((done) => setTimeout(done, 5));
    if (keeps && editing.field.value !== editing.sent) await this.send(editing);
    this.editing = null;
    if (!keeps && editing.wasSent) await this.studio.step("undo");
    else if (editing.wasSent) await this.studio.refresh();
    else this.draw();
    this.box.focus();
  }
}
