"""Findings of the upgrade for the page: checked, applied one by one, verified."""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Iterator
from typing import Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, field, replace
from whimbrel.config.options import LoadOptions
from whimbrel.report.decisions import is_to_decide, to_decide
from whimbrel.report.entries import entry_of
from whimbrel.report.model import EFFECT_CLASSES, ReportEntry
from whimbrel.report.verification.json import render
from whimbrel.studio.documents import Refused
from whimbrel.studio.sides import EditKey, Edits
from whimbrel.upgrade.check.check import Selection, judge
from whimbrel.upgrade.check.fixpoint import DecideCallback, RuleError, UpgradeResult, upgrade
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.model import ACCESS_RULES, Finding, UpgradeOptions
from whimbrel.upgrade.rules import rule_names
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.line_map import LineMap
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


Keys = tuple[FindingKey, ...]


@dataclass(frozen=True, slots=True)
class CheckedText:
    """The findings about one text.

    Attributes:
        texts: the line at each place.
        lines: of all files.
        origins: the line of a finding before accepted changes, by file, rule and line.
    """

    findings: list[Finding]
    texts: dict[tuple[str, int], str]
    lines: int
    origins: dict[tuple[str, str, int], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decided:
    """The result of accepted changes, with the proposals that were not accepted."""

    result: UpgradeResult
    declined: dict[tuple[str, SourceLocation, str], Finding]

    @property
    def files(self) -> dict[str, bytes]:
        return self.result.files

    def checked(self) -> CheckedText:
        """Return what is left to do, at the lines of the new text."""
        tree = self.result.tree
        data = {path: self.files.get(path, file.document.bytes) for path, file in tree.files.items()}
        moved = {path: _new_lines(data[path], found) for path, found in self.result.line_maps.items()}
        left = []
        origins: dict[tuple[str, str, int], int] = {}
        for finding in self.result.findings:
            place = finding.place
            offered = self.declined.get((finding.rule, place, finding.message))
            if finding.edits and offered is None:
                continue  # it was applied
            line = moved[place.path].get(place.line, place.line) if place.path in moved else place.line
            shown = finding if offered is None else self._offered(offered)
            left.append(replace(shown, place=SourceLocation(place.path, line, place.included_from)))
            origins[display_path(place.path, tree.root), finding.rule, line] = place.line
        left.sort(key=lambda one: (one.risk.rank, one.place.path, one.place.line, one.rule))
        wanted = {(one.place.path, one.place.line) for one in left}
        texts = {place: text for path in data for place, text in _texts(path, data[path], wanted)}
        return CheckedText(left, texts, sum(one.count(b"\n") for one in data.values()), origins)

    def _offered(self, finding: Finding) -> Finding:
        """Return a proposal with the lines that its edits write."""
        new = [line for one in finding.edits for line in one.edit.text.decode("latin-1").split("\n")]
        return replace(finding, new=tuple(line.strip() for line in new if line.strip()))


def _new_lines(data: bytes, line_map: LineMap) -> dict[int, int]:
    """Return the new line for each line of the original that is still there, or was replaced."""
    found: dict[int, int] = {}
    for line in range(1, data.count(b"\n") + 2):
        found.setdefault(line_map.original_line(line), line)
    return found


def _texts(path: str, data: bytes, wanted: set[tuple[str, int]]) -> Iterator[tuple[tuple[str, int], str]]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if (path, number) in wanted:
            yield (path, number), line.strip().decode("latin-1")


class Findings:
    """The findings about the texts of one configuration.

    Key: the edited texts and the accepted changes; value: the result of a check, valid while no other file
    changes on disk; bound MAX_RESULTS; the oldest is evicted.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        options = sources.options
        self.root = (options.image or options.server_root) if options is not None else ""
        self._results: BoundedDict[tuple[EditKey, Keys], CheckedText] = BoundedDict(MAX_RESULTS)
        self._names = rule_names()

    def forget(self) -> None:
        """Drop all results: files on disk have changed."""
        self._results.clear()

    def files(self, edits: Edits) -> dict[str, list[str]]:
        """Return the paths of all files of the configuration, with the names that the page shows."""
        tree = read_config_tree(self._edited(edits), UpgradeOptions())
        return {"paths": list(tree.files), "names": [display_path(path, self.root) for path in tree.files]}

    def check(self, edits: Edits, accepted: Keys = (), path: str = "") -> Json:
        """Return the findings, counted by risk and by file; of *path* alone if it is given.

        *accepted* changes are applied first; the other findings have the lines of the new text.
        """
        result = self._checked(edits, accepted)
        entries = [entry_of(found, self.root, result.texts) for found in result.findings]
        by_file: dict[str, Counter[str]] = {}
        for entry in entries:
            by_file.setdefault(entry.path, Counter())[entry.risk.value] += 1
        counts = Counter(entry.effect_class for entry in entries)
        keys = [(found.rule, found.place.line) for found in result.findings]
        shown = display_path(path, self.root)
        chosen = [
            (entry, result.origins.get((entry.path, *key), key[1]))
            for entry, key in zip(entries, keys, strict=True)
            if not path or entry.path == shown
        ]
        return {
            "count": sum(not entry.is_note for entry in entries),
            "notes": sum(entry.is_note for entry in entries),
            "to_decide": to_decide(entries) if any(map(is_to_decide, entries)) else "",
            "risks": {one.name: counts[one] for one in EFFECT_CLASSES if counts[one]},
            "fixable": sum(entry.is_fixable for entry in entries),
            "files": {name: dict(counts) for name, counts in by_file.items()},
            "entries": [self._entry(entry, origin) for entry, origin in chosen[:MAX_ENTRIES]],
            "left_out": max(len(chosen) - MAX_ENTRIES, 0),
            "lines": result.lines,
        }

    def fix(self, edits: Edits, accepted: Keys) -> dict[str, bytes]:
        """Return the new texts of the files with the *accepted* changes; raises Refused if the last one has
        no edit.
        """
        return self._decided(edits, accepted).files

    def fix_all(self, edits: Edits) -> dict[str, bytes]:
        """Return the new texts of all files that the upgrade changes."""
        return self._upgraded(edits, lambda finding, _tree, _place: finding).files

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

    def _upgraded(self, edits: Edits, decide: DecideCallback) -> UpgradeResult:
        gc.disable()  # a configuration tree is a million live objects
        try:
            return upgrade(read_config_tree(self._edited(edits), UpgradeOptions()), None, decide)
        except RuleError as problem:
            raise Refused(str(problem)) from None
        finally:
            gc.enable()

    def _decided(self, edits: Edits, accepted: Keys) -> Decided:
        """Return the result of the *accepted* changes alone, and the other proposals."""
        wanted = set(accepted)
        has_access = any(key.rule in ACCESS_RULES for key in accepted)
        declined: dict[tuple[str, SourceLocation, str], Finding] = {}
        applied: set[FindingKey] = set()

        def decide(finding: Finding, _tree: ConfigTree, place: SourceLocation) -> Finding | None:
            key = FindingKey(finding.rule, place.path, place.line)
            # sections are merged with each other: changes of access are right only together
            if key in wanted or (has_access and finding.rule in ACCESS_RULES):
                applied.add(key)
                return finding
            declined[finding.rule, place, finding.message] = finding
            return None

        result = self._upgraded(edits, decide)
        if accepted and accepted[-1] not in applied:
            raise Refused(
                f"{accepted[-1].rule} has no edit for this line alone: it follows from other changes; "
                "apply those first, or all",
                409,
            )
        return Decided(result, declined)

    def _options(self) -> LoadOptions:
        if self._sources.options is None:
            raise Refused("fragments have no answers: name the main file of the server")
        return self._sources.options

    def _edited(self, edits: Edits) -> Sources:
        options = self._options()
        return replace(self._sources, options=replace(options, overlay={**options.overlay, **edits}))

    def _checked(self, edits: Edits, accepted: Keys) -> CheckedText:
        key = (tuple(sorted(edits.items())), tuple(accepted))
        result = self._results.get(key)
        if result is None:
            result = self._decided(edits, accepted).checked() if accepted else self._judged(edits)
            self._results[key] = result
        return result

    def _judged(self, edits: Edits) -> CheckedText:
        """Return what `whimbrel check` finds."""
        sources = self._edited(edits)
        gc.disable()
        try:
            found = judge(read_config_tree(sources, UpgradeOptions()), Selection(), sources)
        except RuleError as problem:
            raise Refused(str(problem)) from None
        finally:
            gc.enable()
        return CheckedText(found.findings, found.texts, sum(found.files.values()))

    def _entry(self, entry: ReportEntry, origin: int) -> Json:
        return {
            "rule": entry.rule,
            "name": self._names.get(entry.rule, ""),
            "file": entry.path,
            "line": entry.line,
            "origin": origin,
            "message": entry.message[:MAX_TEXT],
            "advice": entry.advice[:MAX_TEXT],
            "risk": entry.risk.value,
            "class": entry.effect_class.name,
            "effect": entry.effect[:MAX_TEXT],
            "mark": entry.mark,
            "fixable": entry.is_fixable,
            "is_access": entry.rule in ACCESS_RULES,
            "evidence": entry.evidence[:MAX_TEXT],
            "decision": entry.decision[:MAX_TEXT],
            "old": [{"line": number, "text": text[:MAX_TEXT]} for number, text in entry.old[:MAX_NEW]],
            "new": [line[:MAX_TEXT] for line in entry.new[:MAX_NEW]],
        }
