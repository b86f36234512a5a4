"""Findings of the upgrade for the page: checked, applied one by one, verified."""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Iterable
from typing import Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.config.options import LoadOptions
from whimbrel.report.entries import entry_of
from whimbrel.report.model import ReportEntry
from whimbrel.report.verification.json import render
from whimbrel.studio.documents import Refused
from whimbrel.studio.sides import Edits
from whimbrel.upgrade.check.check import CheckResult, Selection, judge
from whimbrel.upgrade.check.fixpoint import DecideCallback, RuleError, UpgradeResult, upgrade
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.model import Finding, UpgradeOptions
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules import all_rules, rule_names
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.reading import Sources, read_config_tree
from whimbrel.verify.loading import load_sides
from whimbrel.verify.verify import verify

MAX_ENTRIES: Final = 2000
"""Findings that are sent at once; the page asks for those of the open file."""
MAX_RESULTS: Final = 3
"""Checked texts that are kept."""
MAX_TEXT: Final = 1000
"""Characters of one text of a finding."""
MAX_NEW: Final = 40
"""Lines of an edit that are shown."""
MAX_REQUESTS: Final = 6000
"""Derived requests of a verification."""
MAX_GROUPS: Final = 100
"""Differences that are shown."""
Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class FindingKey:
    """The finding that the page names: its rule and its place."""

    rule: str
    path: str
    line: int


class Findings:
    """The findings about the texts of one configuration.

    Key: the edited texts; value: the result of a check, valid while no other file changes on disk; bound
    MAX_RESULTS; the oldest is evicted.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self.root = sources.options.server_root if sources.options is not None else ""
        self._results: BoundedDict[tuple[tuple[str, bytes], ...], CheckResult] = BoundedDict(MAX_RESULTS)
        self._names = rule_names()

    def forget(self) -> None:
        """Drop all results: files on disk have changed."""
        self._results.clear()

    def files(self, edits: Edits) -> dict[str, list[str]]:
        """Return the paths of all files of the configuration, with the names that the page shows."""
        tree = self._tree(edits)
        return {"paths": list(tree.files), "names": [display_path(path, self.root) for path in tree.files]}

    def check(self, edits: Edits, path: str = "") -> Json:
        """Return the findings, counted by risk and by file; of *path* alone if it is given."""
        result = self._checked(edits)
        entries = [
            entry_of(found, self.root, result.texts.get((found.place.path, found.place.line), ""))
            for found in result.findings
        ]
        by_file: dict[str, Counter[str]] = {}
        for entry in entries:
            by_file.setdefault(entry.path, Counter())[entry.risk.value] += 1
        chosen = [entry for entry in entries if not path or entry.path == display_path(path, self.root)]
        return {
            "count": len(entries),
            "risks": dict(Counter(entry.risk.value for entry in entries)),
            "fixable": sum(entry.is_fixable for entry in entries),
            "files": {name: dict(counts) for name, counts in by_file.items()},
            "entries": [self._entry(entry) for entry in chosen[:MAX_ENTRIES]],
            "left_out": max(len(chosen) - MAX_ENTRIES, 0),
            "lines": sum(result.files.values()),
        }

    def fix(self, edits: Edits, key: FindingKey) -> dict[str, bytes]:
        """Return the new texts of the files that the edits of one finding change; raises Refused."""
        rules = [rule for rule in all_rules() if key.rule in (rule.number, *rule.also)]
        applied: list[Finding] = []

        def decide(finding: Finding, _tree: ConfigTree) -> Finding | None:
            place = finding.place
            is_it = (finding.rule, place.path, place.line) == (key.rule, key.path, key.line)
            if not is_it or applied:
                return None
            applied.append(finding)
            return finding

        result = self._upgraded(edits, rules, decide)
        if not result.files:
            raise Refused(
                f"{key.rule} has no edit for this line alone: it follows from other changes; "
                "apply those first, or all",
                409,
            )
        return result.files

    def fix_all(self, edits: Edits) -> dict[str, bytes]:
        """Return the new texts of all files that the upgrade changes."""
        return self._upgraded(edits, all_rules(), lambda finding, _tree: finding).files

    def verify(self, old: tuple[Edits, str], new: tuple[Edits, str]) -> Json:
        """Return the comparison of two texts under two versions."""
        options = self._options()
        both = tuple(replace(options, overlay={**options.overlay, **texts}) for texts, _ in (old, new))
        sides = load_sides((both[0], both[1]), (old[1], new[1]), (f"old ({old[1]})", f"new ({new[1]})"))
        gc.disable()
        try:
            result = verify(*sides, limit=MAX_REQUESTS)
        finally:
            gc.enable()
        result.groups[MAX_GROUPS:] = []
        document: Json = json.loads(render(result))
        return {**document, "root": self.root}

    def _upgraded(self, edits: Edits, rules: Iterable[Rule], decide: DecideCallback) -> UpgradeResult:
        gc.disable()
        try:
            return upgrade(self._tree(edits), rules, decide)
        except RuleError as problem:
            raise Refused(str(problem)) from None
        finally:
            gc.enable()

    def _options(self) -> LoadOptions:
        if self._sources.options is None:
            raise Refused("fragments have no answers: name the main file of the server")
        return self._sources.options

    def _tree(self, edits: Edits) -> ConfigTree:
        options = self._options()
        edited = replace(options, overlay={**options.overlay, **edits})
        return read_config_tree(replace(self._sources, options=edited), UpgradeOptions())

    def _checked(self, edits: Edits) -> CheckResult:
        key = tuple(sorted(edits.items()))
        result = self._results.get(key)
        if result is None:
            options = self._options()
            edited = replace(options, overlay={**options.overlay, **edits})
            gc.disable()  # a configuration tree is a million live objects
            try:
                result = judge(self._tree(edits), Selection(), replace(self._sources, options=edited))
            except RuleError as problem:
                raise Refused(str(problem)) from None
            finally:
                gc.enable()
            self._results[key] = result
        return result

    def _entry(self, entry: ReportEntry) -> Json:
        return {
            "rule": entry.rule,
            "name": self._names.get(entry.rule, ""),
            "file": entry.path,
            "line": entry.line,
            "message": entry.message[:MAX_TEXT],
            "advice": entry.advice[:MAX_TEXT],
            "risk": entry.risk.value,
            "mark": entry.mark,
            "fixable": entry.is_fixable,
            "evidence": entry.evidence[:MAX_TEXT],
            "decision": entry.decision[:MAX_TEXT],
            "old": [{"line": number, "text": text[:MAX_TEXT]} for number, text in entry.old[:MAX_NEW]],
            "new": [line[:MAX_TEXT] for line in entry.new[:MAX_NEW]],
        }
