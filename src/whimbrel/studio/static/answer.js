// The request form, the answer with its cause, and the tree of its steps.

import { call } from "./api.js";
import { byId, make, place, replace, settled } from "./dom.js";
import { enable, firstInOrder, select, treeItem } from "./tree.js";

const FIELDS = ["method", "client", "user", "host", "address"];
const LOG_LINE = /^\S+ .*"|\[client /; // what is no URL and looks like a line of a log
const STORED = "whimbrel-studio-request";
const MAX_ROWS_OPEN = 400; // steps of a tree that is open at once

export const riskOfStatus = (answer) => {
  if (answer.errors.length) return "breaks";
  if (answer.status === null) return "undecided";
  if (answer.status >= 500) return "breaks";
  if (answer.status >= 400) return "closes";
  return answer.status >= 300 ? "changes" : "same";
};

export class Answer {
  constructor(studio) {
    this.studio = studio;
    this.form = byId("request");
    this.tree = byId("steps");
    this.last = null; // the last answer of a text that loads
    this.number = 0;
    this.dialect = "";
    enable(this.tree);
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask();
    });
    this.form.addEventListener("input", settled(() => this.onInput(), 120));
    byId("dialect").addEventListener("change", () => (this.dialect = byId("dialect").value));
    this.restore();
  }

  restore() {
    try {
      const stored = JSON.parse(sessionStorage.getItem(STORED) || "{}");
      for (const [name, value] of Object.entries(stored)) this.set(name, value);
    } catch {
      sessionStorage.removeItem(STORED);
    }
  }

  set(name, value) {
    const field = this.form.elements[name];
    if (!field) return;
    if (field.type === "checkbox") field.checked = Boolean(value);
    else field.value = value;
  }

  async onInput() {
    const text = byId("url").value;
    if (LOG_LINE.test(text.trim())) await this.fill(text);
    else this.ask();
  }

  // A pasted line of a log fills the form.
  async fill(line) {
    try {
      const form = await call("log_line", { line, dialect: byId("dialect").value });
      if (!form) return;
      for (const [name, value] of Object.entries(form)) this.set(name, Array.isArray(value) ? value.join("\n") : value);
      if (form.fields.length) byId("more").open = true;
      this.ask();
    } catch (problem) {
      this.problem(problem);
    }
  }

  request() {
    const elements = this.form.elements;
    const request = { url: elements.url.value.trim(), tls: elements.tls.checked };
    for (const name of FIELDS) request[name] = elements[name].value.trim();
    request.fields = elements.fields.value.split("\n").filter((line) => line.trim());
    return request;
  }

  async ask({ started = performance.now() } = {}) {
    const request = this.request();
    if (!request.url) {
      this.drawEmpty();
      return;
    }
    sessionStorage.setItem(STORED, JSON.stringify({ ...request, fields: request.fields.join("\n"), dialect: byId("dialect").value }));
    const number = (this.number += 1);
    byId("answer-box").setAttribute("aria-busy", "true");
    try {
      let found = await call("answer", { request, dialect: byId("dialect").value, quick: true });
      if (!found || number !== this.number) return;
      found = await this.withOtherVersion(found, request);
      if (number !== this.number) return;
      this.show(found);
      document.documentElement.dataset.milliseconds = String(Math.round(performance.now() - started));
      if (!found.is_complete) await this.confirm(found, request, number);
      this.studio.onAnswered();
    } catch (problem) {
      if (number === this.number) this.problem(problem);
    } finally {
      if (number === this.number) byId("answer-box").setAttribute("aria-busy", "false");
    }
  }

  // A configuration of 2.2 does not load under 2.4: until a version is chosen, the one that loads answers.
  async withOtherVersion(found, request) {
    if (this.dialect || !found.errors.length || this.last) return found;
    const other = await call("answer", { request, dialect: "2.2", quick: true });
    if (!other || other.errors.length) return found;
    byId("dialect").value = "2.2";
    this.switched = found;
    return other;
  }

  // The first answer comes from the virtual hosts that matter; the whole configuration confirms it.
  async confirm(quick, request, number) {
    const pause = performance.now() + 350;
    while (performance.now() < pause) {
      await new Promise((done) => setTimeout(done, 50));
      if (number !== this.number) return;
    }
    const whole = await call("answer", { request, dialect: quick.dialect, quick: false });
    if (!whole || number !== this.number) return;
    if (whole.unknown === null) whole.unknown = quick.unknown;
    this.show(whole);
  }

  drawEmpty() {
    this.number += 1;
    const words = ["Why does this request get its answer? Write a URL above, or paste a line of an access log or an error log.", "The answer comes with the line that decided it, and follows every edit at once."];
    replace(byId("verdict"), words.map((text) => make("p", { class: "soft" }, text)));
    replace(byId("summary"));
    this.drawSteps([]);
  }

  problem(problem) {
    replace(byId("verdict"), make("p", { class: "note error" }, problem.message));
  }

  show(found) {
    const isBroken = found.errors.length > 0;
    this.studio.editor.setError(found.error_place, isBroken ? found.errors[0] : "");
    if (!isBroken) this.last = found;
    const shown = isBroken && this.last ? this.last : found;
    const switched = found.dialect === "2.2" && this.switched ? this.ofOther() : null;
    replace(byId("verdict"), switched, isBroken ? this.broken(found) : null, isBroken && !this.last ? null : this.head(shown, isBroken));
    if (isBroken && !this.last) {
      replace(byId("summary"));
      this.drawSteps([]);
      return;
    }
    replace(byId("summary"), this.rows(shown));
    this.drawSteps(shown.steps);
    this.current = shown;
    this.studio.editor.highlight(shown.because);
  }

  // Why the version of the answer is another one than that of the page at first.
  ofOther() {
    return make("p", { class: "note" }, "2.4 does not load this text (", place(this.switched.error_place, this.studio.open), "), so 2.2 answers. Apply the fixes, or choose a version.");
  }

  broken(found) {
    return make(
      "div",
      { class: "note error" },
      make("strong", {}, `The text does not load under ${found.dialect}`),
      make("p", { class: "mono" }, found.errors[0]),
      place(found.error_place, this.studio.open),
      this.last ? make("p", {}, "Below is the answer of the last text that loaded.") : null,
    );
  }

  head(found, isOld) {
    const because = found.because.map((line, at) =>
      make("p", { class: "because" }, make("span", { class: "label" }, at ? "" : "because"), make("code", {}, line.text), place(line, this.studio.open)),
    );
    return make(
      "div",
      { class: `verdict${isOld ? " old" : ""}` },
      make("p", {}, make("span", { class: "badge", data: { risk: riskOfStatus(found) } }, found.answer), " ", make("span", { class: "soft" }, `httpd ${found.dialect}`), isOld ? make("span", { class: "chip", data: { risk: "undecided" } }, "of the last text that loaded") : null),
      make("p", { class: "mono soft" }, found.request),
      because,
      found.sentence ? make("p", { class: "because" }, make("span", { class: "label" }, because.length ? "" : "because"), make("span", {}, found.sentence)) : null,
      found.is_complete ? null : make("p", { class: "soft" }, "The other virtual hosts are being read again."),
    );
  }

  rows(found) {
    const row = (label, text, known) =>
      make("tr", {}, make("th", { scope: "row" }, label), make("td", {}, text, " ", place(known, this.studio.open)));
    const rows = found.rows.map((one) => row(one.label, one.text, one.place));
    const unknown = (found.unknown || []).map((one, at) => row(at ? "" : "not known", one.text, one.place));
    return rows.length + unknown.length
      ? make("table", { class: "summary" }, make("caption", { class: "unseen" }, "The way of the request"), make("tbody", {}, rows, unknown))
      : null;
  }

  // steps ------------------------------------------------------------------------------------------
  drawSteps(steps) {
    this.drawn = 0;
    const chosen = this.chosen;
    replace(this.tree, steps.map((step) => this.item(step)));
    byId("steps-name").hidden = this.tree.hidden = !steps.length;
    const again = chosen && [...this.tree.querySelectorAll("[role=treeitem]")].find((item) => item.dataset.step === chosen);
    if (again) {
      again.setAttribute("aria-selected", "true");
      again.tabIndex = 0;
    }
    firstInOrder(this.tree);
  }

  item(step) {
    this.drawn += 1;
    const isOpen = this.drawn < MAX_ROWS_OPEN && step.kind !== "sub-request";
    const label = [
      make(
        "span",
        { class: "tree-text" },
        step.kind && step.kind !== step.what ? make("span", { class: "kind" }, `${step.kind} `) : null,
        make("span", {}, step.what),
        step.result ? make("b", { class: "result", data: { result: step.result } }, ` ${step.result}`) : null,
        step.detail ? make("span", { class: "soft" }, ` ${step.detail}`) : null,
        (step.lines || []).slice(0, 3).map((line) => [" ", place(line, this.studio.open)]),
      ),
    ];
    const children = (step.steps || []).map((inner) => this.item(inner));
    return treeItem(label, {
      children,
      isOpen,
      data: { step: `${step.kind} ${step.what}` },
      onSelect: () => this.choose(step),
    });
  }

  choose(step) {
    this.chosen = `${step.kind} ${step.what}`;
    const lines = step.lines || [];
    this.studio.editor.highlight(lines);
    if (lines.length) this.studio.editor.open(lines[0].file, lines[0].line);
  }

  focusSteps() {
    const item = this.tree.querySelector('[tabindex="0"]') || this.tree.querySelector("[role=treeitem]");
    if (item) select(this.tree, item);
  }
}
