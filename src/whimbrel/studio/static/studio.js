// The studio: one text with its edits, shown in three columns.

import { call } from "./api.js";
import { Answer } from "./answer.js";
import { Changes } from "./changes.js";
import { byId, plural, settled } from "./dom.js";
import { Editor } from "./editor.js";
import { Findings } from "./findings.js";
import { enableAllTabs, enableKeys, show, showPanel } from "./keys.js";

const SCHEME = "whimbrel-studio-scheme";

class Studio {
  constructor() {
    this.state = { version: 0, edited: [], undo: 0, redo: 0 };
    this.open = (file, line) => {
      show("config");
      this.editor.open(file, line);
    };
    this.editor = new Editor(this);
    this.answer = new Answer(this);
    this.findings = new Findings(this);
    this.changes = new Changes(this);
    this.loadFindings = settled(() => this.findings.load(), 400);
    this.onAnswered = settled(() => this.changes.compare(), 150);
    byId("undo").addEventListener("click", () => this.step("undo"));
    byId("redo").addEventListener("click", () => this.step("redo"));
    byId("reload").addEventListener("click", () => this.reload());
    byId("review").addEventListener("click", () => this.panel("diff"));
    byId("scheme").addEventListener("click", () => this.switchScheme());
    byId("notice").addEventListener("click", () => (byId("notice").hidden = true));
    enableKeys(this);
    enableAllTabs((name) => this.onPanel(name));
    this.setScheme(localStorage.getItem(SCHEME) || "");
  }

  async start() {
    try {
      this.take(await call("state"));
      await this.editor.loadFiles();
      if (this.editor.names.length) await this.editor.open(this.editor.names[0]);
      this.answer.ask();
      await this.findings.load();
    } catch (problem) {
      this.notice(problem);
    }
  }

  take(state) {
    if (!state) return;
    this.state = state;
    byId("title").textContent = state.title;
    document.title = `${state.edited.length ? "● " : ""}Whimbrel studio`;
    byId("edits").textContent = state.edited.length ? `${plural(state.edited.length, "file")} edited, in memory` : "no edits";
    byId("undo").disabled = !state.undo;
    byId("redo").disabled = !state.redo;
    byId("review").classList.toggle("main", state.edited.length > 0);
  }

  // A keystroke has changed the text.
  onEdited(state, started) {
    this.take(state);
    this.answer.ask({ started });
    this.loadFindings();
  }

  // Another text: everything is shown anew.
  async onState(state) {
    this.take(state);
    await this.refresh();
    this.answer.ask();
    this.loadFindings();
  }

  async refresh() {
    await this.editor.reload();
    this.editor.drawFiles();
    this.onPanel(document.querySelector('.inner [aria-selected="true"]').id.replace("tab-", ""));
  }

  // Files on disk may have changed.
  async reload() {
    try {
      const state = await call("reload");
      await this.editor.loadFiles();
      await this.onState(state);
    } catch (problem) {
      this.notice(problem);
    }
  }

  async step(method) {
    try {
      await this.onState(await call(method));
    } catch (problem) {
      this.notice(problem);
    }
  }

  async fix(entry) {
    try {
      await this.onState(await call("fix", { file: entry.file, rule: entry.rule, line: entry.origin, version: this.state.version }));
      this.editor.open(entry.file, entry.line);
    } catch (problem) {
      this.notice(problem);
    }
  }

  async fixAll() {
    try {
      await this.onState(await call("fix_all", { version: this.state.version }));
      byId("dialect").value = "2.4";
      this.answer.ask();
      this.panel("diff");
    } catch (problem) {
      this.notice(problem);
    }
  }

  findingNote(entry) {
    return this.findings.note(entry);
  }

  fileFindings(file) {
    this.findings.ofFile(file);
  }

  panel(name) {
    show("side");
    showPanel(name);
    this.onPanel(name);
  }

  onPanel(name) {
    if (name === "diff") this.changes.showDiff();
    if (name === "compare") this.changes.compare();
  }

  notice(problem) {
    const box = byId("notice");
    box.textContent = problem.message;
    box.hidden = false;
    clearTimeout(this.noticed);
    this.noticed = setTimeout(() => (box.hidden = true), 12000);
  }

  switchScheme() {
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = document.documentElement.dataset.scheme || (isDark ? "dark" : "light");
    const next = now === "dark" ? "light" : "dark";
    localStorage.setItem(SCHEME, next);
    this.setScheme(next);
  }

  setScheme(scheme) {
    if (scheme) document.documentElement.dataset.scheme = scheme;
  }
}

new Studio().start();
