// Old against new: two answers side by side, the verification, and the edits as a diff that a click writes.

import { call } from "./api.js";
import { riskOfStatus } from "./answer.js";
import { byId, chip, make, number, place, plural, replace } from "./dom.js";

const SIDES = {
  "disk 2.2": "on disk, 2.2",
  "disk 2.4": "on disk, 2.4",
  "edited 2.2": "edited, 2.2",
  "edited 2.4": "edited, 2.4",
};
const VERDICTS = { same: "same", different: "changes", "not decided": "undecided" };
const side = (name) => ({ text: name.split(" ")[0], dialect: name.split(" ")[1] });

export class Changes {
  constructor(studio) {
    this.studio = studio;
    this.sides = ["disk 2.2", "edited 2.4"];
    this.drawVerify();
    this.drawCompare(null);
  }

  chooser(at, label) {
    const options = Object.entries(SIDES).map(([value, text]) => make("option", { value, selected: this.sides[at] === value }, text));
    const change = (event) => {
      this.sides[at] = event.target.value;
      this.compare();
    };
    return make("label", {}, `${label} `, make("select", { class: "field", on: { change } }, options));
  }

  choosers() {
    return make("div", { class: "row" }, this.chooser(0, "Old"), this.chooser(1, "New"));
  }

  // compare ----------------------------------------------------------------------------------------
  async compare() {
    if (byId("compare").hidden) return;
    const request = this.studio.answer.request();
    if (!request.url) {
      this.drawCompare(make("p", { class: "soft" }, "Write a request first: both texts answer it."));
      return;
    }
    try {
      const found = await call("compare", { request, old: side(this.sides[0]), new: side(this.sides[1]) });
      if (found) this.drawCompare(this.compared(found));
    } catch (problem) {
      this.drawCompare(make("p", { class: "note error" }, problem.message));
    }
  }

  drawCompare(content) {
    replace(byId("compare"), this.choosers(), content);
  }

  compared(found) {
    const verdict = found.is_equal ? ["same", "Same answer"] : ["changes", "Different answers"];
    const isLoaded = !found.old.errors.length && !found.new.errors.length;
    const steps = (isLoaded ? found.changes : []).map((change) => make("div", { class: "diff" }, this.step(change.old, "removed"), this.step(change.new, "added")));
    return [
      make("p", {}, make("span", { class: "badge", data: { risk: verdict[0] } }, verdict[1])),
      make("div", { class: "diff" }, this.half(found.old, this.sides[0]), this.half(found.new, this.sides[1])),
      !isLoaded ? null : make("h3", {}, steps.length ? `${plural(steps.length, "step")} on the way ${steps.length === 1 ? "differs" : "differ"}` : "No step on the way differs"),
      steps,
    ];
  }

  half(found, name) {
    return make(
      "div",
      { class: "panel half" },
      make("p", { class: "side" }, SIDES[name]),
      make("p", {}, make("span", { class: "chip", data: { risk: riskOfStatus(found) } }, found.answer)),
      found.errors.length ? make("p", { class: "mono" }, found.errors[0]) : null,
      place(found.error_place, this.studio.open),
      found.because.map((line) => make("p", {}, make("code", {}, line.text), " ", place(line, this.studio.open))),
      found.sentence && !found.errors.length ? make("p", {}, found.sentence) : null,
    );
  }

  step(step, kind) {
    if (!step) return make("div", { class: "half soft" }, "no such step");
    return make(
      "div",
      { class: `half code-step ${kind}` },
      make("span", { class: "kind" }, `${step.kind} `),
      step.kind === step.what ? null : make("span", {}, step.what),
      step.result ? make("b", {}, ` ${step.result}`) : null,
      step.detail ? make("span", { class: "soft" }, ` ${step.detail}`) : null,
      (step.lines || []).slice(0, 2).map((line) => make("span", {}, " ", place(line, this.studio.open))),
    );
  }

  // verify -----------------------------------------------------------------------------------------
  drawVerify(content = null, isRunning = false) {
    const button = make("button", { type: "button", class: "button main", disabled: isRunning, on: { click: () => this.verify() } }, isRunning ? "Verifying …" : "Verify old against new");
    const about = "Access control is compared exactly, everything else by derived requests. The old text is that on disk under 2.2, the new one the edited text under 2.4.";
    replace(byId("verify"), make("p", { class: "soft" }, about), make("p", {}, button), content);
  }

  async verify() {
    this.drawVerify(make("p", { class: "soft", role: "status" }, "This takes seconds, at many virtual hosts minutes; the page stays usable."), true);
    const { version } = this.studio.state;
    try {
      const found = await call("verify", { old: side("disk 2.2"), new: side("edited 2.4") });
      this.verified = version;
      this.drawVerify(found ? this.verdict(found) : null);
    } catch (problem) {
      this.drawVerify(make("p", { class: "note error" }, problem.message));
    }
  }

  verdict(found) {
    const errors = Object.entries(found.errors).flatMap(([name, texts]) => texts.map((text) => make("p", { class: "note error mono" }, `${name}: ${text}`)));
    const reasons = found.not_decided.slice(0, 50).map((one) => make("li", {}, one.reason));
    return [
      make("p", {}, make("span", { class: "badge", data: { risk: errors.length ? "breaks" : VERDICTS[found.verdict] || "undecided" } }, found.verdict)),
      make("p", {}, `${plural(found.chains, "chain")} of sections, exact; ${plural(found.requests, "request")}.`),
      errors,
      found.differences.map((group) => this.difference(group, found.root)),
      reasons.length ? [make("h3", {}, "Not decided"), make("ul", {}, reasons)] : null,
      found.limits.length ? make("p", { class: "soft" }, found.limits.join("; ")) : null,
    ];
  }

  difference(group, root) {
    const known = (line) => ({ file: line.file.startsWith(`${root}/`) ? line.file.slice(root.length + 1) : line.file, line: line.line });
    const example = group.examples[0];
    const lines = [...group.cause.old.map((line) => ["removed", line]), ...group.cause.new.map((line) => ["added", line])];
    return make(
      "div",
      { class: "panel half" },
      make("p", {}, chip(group.risk), ` ${plural(group.count, "request")}`),
      example ? make("p", { class: "mono" }, `${example.request.method} ${example.request.host}${example.request.target} from ${example.request.client}`) : null,
      example ? example.parts.map((part) => make("p", {}, `${part.name}: `, make("del", {}, part.old || "none"), " → ", make("ins", {}, part.new || "none"))) : null,
      lines.map(([kind, line]) => make("p", { class: `code-step ${kind}` }, make("code", {}, line.text), " ", place(known(line), this.studio.open))),
    );
  }

  // edits ------------------------------------------------------------------------------------------
  async showDiff() {
    const { edited } = this.studio.state;
    if (!edited.length) {
      replace(byId("diff"), this.written || make("p", { class: "soft" }, "No file is edited. Apply a finding, or press e on a line."));
      return;
    }
    this.written = null;
    try {
      const found = await call("diff");
      if (!found) return;
      const write = make("button", { type: "button", class: "button main", on: { click: () => this.write(found.version) } }, `Write ${plural(edited.length, "file")}`);
      replace(
        byId("diff"),
        make("p", { class: "soft" }, "The files are still as they were. Writing keeps a backup of each, and `whimbrel upgrade --undo` restores them."),
        make("p", {}, write),
        make("div", { class: "frame patch" }, this.patch(found.diff)),
      );
    } catch (problem) {
      replace(byId("diff"), make("p", { class: "note error" }, problem.message));
    }
  }

  patch(text) {
    const lines = text.split("\n").slice(0, 3000);
    const kinds = { "+": "added", "-": "removed", "@": "hunk", d: "patch-file" };
    const rows = lines.map((line) => make("div", { class: `patch-line ${kinds[line[0]] || ""}` }, line || " "));
    return text.split("\n").length > lines.length ? [rows, make("p", { class: "soft" }, "Further lines are left out here; they are written too.")] : rows;
  }

  async write(version) {
    try {
      const state = await call("write", { version });
      this.written = make(
        "div",
        {},
        make("p", {}, make("span", { class: "badge", data: { risk: "same" } }, "Written")),
        make("p", {}, `${plural(state.written, "file")} on disk, with backups. To restore them:`),
        make("p", {}, make("code", {}, state.undo_command)),
        make("details", {}, make("summary", {}, `${number(state.backups.length)} backups`), make("ul", {}, state.backups.slice(0, 500).map((path) => make("li", { class: "mono" }, path)))),
      );
      await this.studio.onState(state);
    } catch (problem) {
      this.studio.notice(problem);
    }
  }
}
