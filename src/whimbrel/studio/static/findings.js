// The findings of the upgrade: counted, filtered by risk, applied one by one.

import { call } from "./api.js";
import { byId, chip, make, number, place, plural, replace, riskOf } from "./dom.js";

const PART = 150; // findings that are drawn at once

export class Findings {
  constructor(studio) {
    this.studio = studio;
    this.panel = byId("findings");
    this.all = null;
    this.risk = "";
    this.shown = PART;
    this.number = 0;
  }

  // Asks for all findings; meanwhile those of the earlier text are marked as such.
  async load() {
    const asked = (this.number += 1);
    this.isOld = true;
    this.draw();
    try {
      const found = await call("findings");
      if (!found || asked !== this.number) return;
      this.all = found;
      this.isOld = false;
      this.studio.editor.setCounts(found.files);
      await this.ofFile(this.studio.editor.file);
      this.draw();
    } catch (problem) {
      if (asked === this.number) replace(this.panel, make("p", { class: "note error" }, problem.message));
    }
  }

  async ofFile(file) {
    if (!file || !this.all) return;
    const asked = this.number;
    let entries = this.all.entries.filter((one) => one.file === file);
    if (this.all.left_out) {
      const found = await call("findings", { file }).catch(() => null);
      if (!found || asked !== this.number) return;
      entries = found.entries;
    }
    this.studio.editor.setFindings(file, entries);
  }

  draw() {
    if (!this.all) {
      replace(this.panel, make("p", { class: "soft" }, "The findings are being computed …"));
      return;
    }
    const { all } = this;
    const entries = all.entries.filter((one) => !this.risk || one.class === this.risk);
    const cards = Object.entries(all.risks).map(([risk, count]) =>
      make("button", { type: "button", class: "card", data: { risk: riskOf(risk) }, "aria-pressed": String(this.risk === risk), on: { click: () => this.filter(risk) } },
        make("b", {}, number(count)), make("span", {}, risk)),
    );
    replace(
      this.panel,
      this.isOld ? make("p", { class: "soft", role: "status" }, "These are of the text before; the new ones are being computed …") : null,
      all.stop ? make("p", { class: "stop" }, make("span", { class: "badge", data: { risk: "breaks" } }, "2.4 does not start"), " ", place(all.stop.place, this.studio.open), ` ${all.stop.reason}`) : null,
      all.to_decide ? make("p", {}, all.to_decide) : null,
      all.count || all.notes ? make("div", { class: "cards" }, cards) : make("p", {}, make("span", { class: "badge", data: { risk: "same" } }, "Nothing to do")),
      make("div", { class: "row" },
        all.fixable ? make("button", { type: "button", class: "button main", on: { click: () => this.studio.fixAll() } }, `Apply all ${number(all.fixable)} fixes`) : null,
        make("span", { class: "soft" }, `${plural(all.count, "finding")} and ${plural(all.notes, "note")} in ${plural(all.lines, "line")}`)),
      make("ul", { class: "entries" }, entries.slice(0, this.shown).map((entry) => make("li", {}, place(entry, this.studio.open), this.note(entry)))),
      entries.length > this.shown ? make("button", { type: "button", class: "button", on: { click: () => this.more() } }, `Show ${number(Math.min(PART, entries.length - this.shown))} more of ${number(entries.length - this.shown)}`) : null,
      all.left_out ? make("p", { class: "soft" }, `${plural(all.left_out, "further finding")}: open a file to see its own.`) : null,
    );
  }

  filter(risk) {
    this.risk = this.risk === risk ? "" : risk;
    this.shown = PART;
    this.draw();
  }

  more() {
    this.shown += PART;
    this.draw();
  }

  // One finding: a sentence, and on demand the advice, the new text and the button that applies it.
  note(entry) {
    const lines = [
      ...entry.old.map((one) => this.line("removed", one.text, one.line)),
      ...entry.new.map((text) => this.line("added", text)),
    ];
    return make(
      "details",
      { class: "note", data: { risk: riskOf(entry.risk) } },
      make("summary", {}, chip(entry.risk, entry.effect), " ", make("b", {}, entry.rule), " ", make("span", { class: "soft" }, entry.name), entry.mark ? make("span", { class: "soft" }, ` · ${entry.mark}`) : null, make("span", { class: "message" }, entry.message)),
      entry.advice ? make("p", {}, entry.advice) : null,
      entry.decision ? make("p", {}, make("b", {}, "Decision: "), entry.decision) : null,
      entry.evidence ? make("p", { class: "mono soft" }, entry.evidence) : null,
      lines.length ? make("div", { class: "frame" }, lines) : null,
      make("p", { class: "row" },
        entry.fixable ? make("button", { type: "button", class: "button main", on: { click: () => this.studio.fix(entry) } }, entry.is_access ? "Apply the changes of access" : "Apply this change") : null,
        make("code", { class: "soft" }, `whimbrel explain ${entry.rule}`)),
    );
  }

  line(kind, text, line = "") {
    return make("div", { class: `code ${kind}`, data: { n: String(line) } }, text);
  }
}
