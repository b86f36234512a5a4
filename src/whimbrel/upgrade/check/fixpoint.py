"""Upgrade to a fixpoint: run the rules, apply their edits in memory, parse the result, repeat until nothing
changes.

The rules of an order run once those of the lower orders have no edits left. Edits that conflict wait for the
next pass. A finding without edits counts if it remains at the end, because another rule may fix it; a finding
with edits counts when they are applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, field, replace
from whimbrel.config.load import DeepRecursion
from whimbrel.syntax.edits import Edit, Group, apply
from whimbrel.syntax.lines import V22_LINES
from whimbrel.syntax.tree import Document, parse
from whimbrel.upgrade.edits.conflicts import (
    EditSelection,
    fault_before,
    resolve_conflicts,
    to_manual,
    why_by_hand,
)
from whimbrel.upgrade.edits.diff import changed_lines, line_starts
from whimbrel.upgrade.edits.text_fixes import OriginalPositions
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind
from whimbrel.upgrade.model import (
    ACCESS_RULES,
    NO_FIXPOINT,
    READ_ERROR,
    AccessDifference,
    Finding,
    OtherLines,
    Risk,
    Safety,
    TextFix,
    with_start,
)
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules import all_rules
from whimbrel.upgrade.source.config_tree import ConfigTree, Role
from whimbrel.upgrade.source.line_map import LineEdits, LineMap
from whimbrel.upgrade.source.suppressions import (
    access_lines_in,
    is_recorded,
    is_suppressed,
    named_requests,
    reviewed_lines,
)

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration

MAX_SWEEPS: Final = 8
MAX_ROUNDS: Final = 8

_Chosen = tuple[Finding, int | None]
"""A finding whose edits are applied, and the position of the finding that it is a part of."""

DecideCallback = Callable[[Finding, ConfigTree, SourceLocation], "Finding | None"]
"""Called before edits are applied, with the place in the original: returns the finding, with other edits if
need be, or None to keep the text."""


class RuleError(Exception):
    """A rule raised an exception: a defect of the rule. The upgrade stops and changes nothing."""

    def __init__(self, rule: Rule, problem: Exception) -> None:
        what = f"{type(problem).__name__}: {problem}"
        super().__init__(
            f"rule {rule.number} failed ({what}): nothing was changed; --ignore {rule.number} leaves it out"
        )
        self.rule = rule
        self.problem = problem


NOT_VERIFIED: Final = "not verified: "
"""The beginning of the item of the scope that tells why answers were not compared."""


NOT_SHOWN: Final = "the comment says so, and no file here shows it"
SHOWN_BY: Final = (
    "put the file of the module where the text names it, or load it with httpd 2.4: whimbrel ctl configtest"
)
"""What shows that a module is built for 2.4."""


_MISSING: Final = ("not found", "No such file", "leads nowhere")
"""What the subject of an item says where a file is not here."""
_READABLE: Final = "make the text readable, or check it by hand"


@dataclass(slots=True)
class UpgradeResult:
    """The result of an upgrade.

    Attributes:
        tree: the configuration tree as read from disk.
        findings: the findings by file and line, with the places of the original; those with edits were
            applied.
        files: the new bytes of the changed files, by path in *tree*.
        line_maps: the origin of the lines of changed files.
        passes: how often edits were applied and the tree was read again; edits that exclude each other, and
            rules about what others wrote, need one more. No finding depends on the number.
        scope: what was read, and what is unknown, before and after.
        end_of_start: the line at which every version of httpd ends its start, None for none.
        access: requests that one version admits and the other refuses, if the answers were compared, with the
            places of the original where it has one.
        loaded: the server of the new texts as 2.4 has loaded it, None if it was not loaded, or refused.
        upgraded: the configuration tree after the last edits, None where nothing was edited.
        exempted: the findings about access whose lines a comment exempts.
        recorded: the findings whose lines a comment exempts that names their rule, and `reviewed_lines`.
        version_causes: causes of other answers that lie in the versions alone, if the answers were compared.
    """

    tree: ConfigTree
    findings: list[Finding] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    line_maps: dict[str, LineMap] = field(default_factory=dict)
    passes: int = 0
    scope: KnowledgeScope = KnowledgeScope()
    end_of_start: SourceLocation | None = None
    access: tuple[AccessDifference, ...] = ()
    loaded: Configuration | None = None
    upgraded: ConfigTree | None = None
    exempted: tuple[Finding, ...] = ()
    recorded: tuple[Finding, ...] = ()
    version_causes: int = 0

    def new_document(self, path: str) -> Document:
        """Return the syntax tree of the new text of a file that was read."""
        old = self.tree.files[path].document
        data = self.files.get(path, old.bytes)
        read = self.upgraded.files.get(path) if self.upgraded is not None else None
        for document in (old, *([read.document] if read is not None else [])):
            if document.bytes == data:
                return document
        return parse(data, V22_LINES)

    @property
    def unverified(self) -> str:
        """``not verified: `` and the reason, if the answers could not be compared; else ""."""
        subjects = (item.subject for item in self.scope.items)
        return next((subject for subject in subjects if subject.startswith(NOT_VERIFIED)), "")

    @property
    def needs_review(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.needs_review]

    @property
    def has_open_findings(self) -> bool:
        """Return True if a finding needs a review or a decision."""
        return bool(self.needs_review) or any(finding.decision for finding in self.findings)


def upgrade(
    tree: ConfigTree, rules: Iterable[Rule] | None = None, decide: DecideCallback | None = None
) -> UpgradeResult:
    """Upgrade *tree*, which must come from `read_config_tree`; no file is written."""
    used = list(all_rules() if rules is None else rules)
    decide = decide or (lambda finding, _tree, _place: finding)
    with DeepRecursion():  # a tree is a million live objects, which each collection would traverse
        result = _Fixpoint(tree, used, decide).run()
        if tree.lone is not None:
            _add_lone(result, _Fixpoint(tree.lone, used, decide).run())
        return result


def _add_lone(result: UpgradeResult, lone: UpgradeResult) -> None:
    """Add the result for the files that no Include reads: no answer of the server depends on them."""
    result.tree.files.update(lone.tree.files)
    result.findings += lone.findings
    result.files.update(lone.files)
    result.line_maps.update(lone.line_maps)
    result.passes += lone.passes
    items = (replace(item, matters=False) for item in lone.scope.items)
    result.scope = result.scope.merge(KnowledgeScope(lone.scope.files_read, tuple(items)))


class _Fixpoint:
    def __init__(self, tree: ConfigTree, rules: Iterable[Rule], decide: DecideCallback) -> None:
        stages = (stage for rule in rules for stage in rule.stages())
        ordered = sorted(stages, key=lambda rule: rule.order)
        self.orders = [list(group) for _order, group in groupby(ordered, key=lambda rule: rule.order)]
        self.original = tree
        self.current = tree
        self.decide = decide
        # sections and Includes behind a damaged tag belong to other sections than the text shows
        self.end_of_start = next(self._ends_of_start(), None)
        self.result = UpgradeResult(tree, end_of_start=self.end_of_start)
        self.applied: list[Finding] = []
        self.declined: set[tuple[str, SourceLocation, str]] = set()
        self.refused: dict[tuple[str, SourceLocation, str], Finding] = {}
        self._line_starts: dict[str, list[int]] = {}  # by path, of the current tree
        self._positions: dict[str, OriginalPositions] = {}  # the same
        self.accepted: dict[SourceLocation, UnknownItem] = {}
        self.exempted: dict[str, list[Finding]] = {}  # about access, by the first rule of their order
        self.recorded: dict[str, list[Finding]] = {}  # the same, with a comment that names their rule
        # by order: the configuration tree without edits of that order, and its notes
        self._stable: dict[int, tuple[ConfigTree, list[Finding]]] = {}

    def run(self) -> UpgradeResult:
        """Sweep through the orders until one whole sweep changes nothing."""
        remaining: list[Finding] = []
        for _ in range(MAX_SWEEPS):
            before = self.result.passes
            remaining = []
            for number, rules in enumerate(self.orders):
                stable_tree, notes = self._stable.get(number, (None, []))
                if stable_tree is not self.current:
                    notes, is_stable = self._run_order(rules)
                    if is_stable:
                        self._stable[number] = self.current, notes
                remaining += notes
            if self.result.passes == before:
                break
        else:
            remaining.append(self._endless(remaining))
        self.result.files = {
            path: data
            for path, data in self.result.files.items()
            if data != self.original.files[path].document.bytes
        }
        if self.end_of_start is not None:
            remaining = [
                replace(finding, waits_for=self.end_of_start, decision="")
                if finding.needs_review or finding.decision
                else finding
                for finding in remaining
            ]
        findings = [*self.applied, *remaining, *self.refused.values(), *self._read_error_findings()]
        self.result.findings = with_start(self._sorted(findings))
        self.result.upgraded = self.current
        self.result.scope = self.original.scope().with_items(self.accepted.values())
        self.result.exempted = tuple(self._sorted([one for found in self.exempted.values() for one in found]))
        recorded = [one for found in self.recorded.values() for one in found]
        recorded += [*reviewed_lines(self.original, recorded), *named_requests(self.original)]
        self.result.recorded = tuple(self._sorted(recorded))
        return self.result

    def _run_order(self, rules: list[Rule]) -> tuple[list[Finding], bool]:
        """Run the rules of one order until they change nothing; return their findings without edits, and True
        if that was reached."""
        notes: list[Finding] = []
        for round_number in range(1, MAX_ROUNDS + 1):
            findings = self._check(rules)
            chosen, selection = self._choose([finding for finding in findings if finding.edits])
            if not chosen or round_number == MAX_ROUNDS:
                notes = [self._original(finding) for finding in findings if not finding.edits]
            if not chosen:
                return notes, True
            self._apply_edits(chosen, selection)
        return notes, False

    def _check(self, rules: list[Rule]) -> list[Finding]:
        findings: list[Finding] = []
        for number, rule in enumerate(rules):
            self.current.report_progress(f"rule {rule.number}", number, len(rules))
            try:
                findings += rule.check(self.current)
            except MemoryError:
                raise  # no fault of the rule
            except Exception as problem:
                raise RuleError(rule, problem) from problem
        findings = resolve_conflicts(findings, self.current.files)
        foreign = {path for path, file in self.current.files.items() if file.foreign}
        open_findings: list[Finding] = []
        exempted: list[Finding] = []
        recorded: list[Finding] = []
        for finding in findings:
            if finding.place.path in foreign:
                continue
            if not is_suppressed(finding, self.current):
                open_findings.append(finding)
                continue
            if finding.risk in (Risk.OPENS, Risk.CLOSES):
                exempted.append(self._original(finding))
            if is_recorded(finding, self.current):
                recorded.append(self._original(finding))
            if finding.accepted:
                place = self._original(finding).place
                self.accepted[place] = UnknownItem(
                    UnknownKind.ASSUMED,
                    place,
                    f"ignore[{finding.rule}]: {finding.accepted}",
                    NOT_SHOWN,
                    finding.shown_by or SHOWN_BY,
                    matters=not finding.shown_by,  # a library that nobody has read: 2.4 may refuse it
                )
        self.exempted[rules[0].number] = exempted
        self.recorded[rules[0].number] = recorded
        return open_findings

    def _choose(self, proposals: list[Finding]) -> tuple[list[_Chosen], EditSelection]:
        """Select the findings whose edits can be applied now; declined and impossible ones are recorded in
        `refused`."""
        selection = EditSelection()
        chosen: list[_Chosen] = []
        for proposal in proposals:
            original = self._original(proposal)
            key = (original.rule, original.place, original.message)
            fault = self.end_of_start or fault_before(proposal, self.current)
            if fault is not None:
                self.refused[key] = replace(
                    original, safety=Safety.MANUAL, edits=(), decision="", waits_for=fault
                )
                continue
            why = why_by_hand(proposal, self.current)
            if why:
                self.refused[key] = to_manual(original, why)
                continue
            decided = None if key in self.declined else self.decide(proposal, self.current, original.place)
            if decided is None:
                self.declined.add(key)
                self.refused[key] = to_manual(original, "you declined the change")
            elif selection.try_add(decided.edits):
                writer = self._writer(proposal) if proposal.is_part else None
                chosen.append((self._with_lines(original, decided), writer))
        return chosen, selection

    def _with_lines(self, original: Finding, decided: Finding) -> Finding:
        """Return *original* with the edits of *decided*, the lines that they remove from its file, and those
        that they add.
        """
        by_file: dict[str, list[Edit]] = {}
        for file_edit in dict.fromkeys(decided.edits):
            by_file.setdefault(file_edit.path, []).append(file_edit.edit)
        old: list[tuple[int, str]] = []
        new: list[str] = []
        elsewhere: list[OtherLines] = []
        fixes: tuple[TextFix, ...] | None = ()
        for path, edits in by_file.items():
            data = self.current.files[path].document.bytes
            if path not in self._line_starts:
                self._line_starts[path] = line_starts(data)
            removed, added = changed_lines(data, edits, self._line_starts[path])
            new += added
            line_map = self.result.line_maps.get(path, LineMap())
            if fixes is not None:
                if path not in self._positions:
                    source = self.original.files[path].document.bytes
                    self._positions[path] = OriginalPositions(
                        path, source, data, self._line_starts[path], line_map
                    )
                ranges = self._positions[path].fixes(edits)
                fixes = None if ranges is None else (*fixes, *ranges)
            lines = [(line_map.unchanged_from(number), text) for number, text in removed]
            if path == original.place.path:
                old += [(number, text) for number, text in lines if number]
                continue
            numbers = [number for number, _ in lines if number] or [
                fix.start[0] for fix in fixes or () if fix.path == path
            ]
            texts = tuple(text for _, text in lines)
            elsewhere.append(OtherLines(path, min(numbers, default=0), texts, added))
        return replace(
            original,
            edits=decided.edits,
            old=tuple(old),
            new=tuple(new),
            fixes=fixes or (),
            elsewhere=tuple(elsewhere),
        )

    def _apply_edits(self, chosen: list[_Chosen], selection: EditSelection) -> None:
        """Apply the edits and read the configuration tree again."""
        files = self.result.files
        traces = self.result.line_maps
        for path, edits in selection.edits.items():
            old_bytes = self.current.files[path].document.bytes
            new_bytes = apply(old_bytes, [Group(tuple(edits))])
            if new_bytes != old_bytes:
                files[path] = new_bytes
                traces.setdefault(path, LineMap()).steps.append(LineEdits(old_bytes, edits))
        self._line_starts.clear()
        self._positions.clear()
        for finding, writer in chosen:
            if writer is None:
                self.applied.append(replace(finding, is_part=False) if finding.is_part else finding)
            else:
                self.applied[writer] = _with_part(self.applied[writer], finding)
        self.result.passes += 1
        self.current = self.original.reparse(files, self.current)
        self.current.original = self.original
        self.current.original_place = self._original_place
        self.current.is_written = self._is_written
        for path, file in self.current.files.items():  # edits may lead to files that were not read before
            self.original.files.setdefault(path, file)

    # places --------------------------------------------------------------------------------------
    def _original(self, finding: Finding) -> Finding:
        place = self._original_place(finding.place)
        same = place is finding.place or place == finding.place
        return finding if same else replace(finding, place=place)

    def _original_place(self, place: SourceLocation) -> SourceLocation:
        line_map = self.result.line_maps.get(place.path)
        via = self._original_place(place.included_from) if place.included_from else None
        if line_map is None and via is place.included_from:
            return place
        return SourceLocation(place.path, line_map.original_line(place.line) if line_map else place.line, via)

    def _is_written(self, place: SourceLocation) -> bool:
        line_map = self.result.line_maps.get(place.path)
        return line_map is not None and not line_map.unchanged_from(place.line)

    def _writer(self, part: Finding) -> int | None:
        """Return the position in `applied` of the finding whose edit wrote the line of *part*."""
        path = part.place.path
        lines = self.current.files[path].document.bytes.split(b"\n")
        text = lines[part.place.line - 1].decode("latin-1").strip()
        original = self._original_place(part.place).line
        writers = [
            (abs(finding.place.line - original), at)
            for at, finding in enumerate(self.applied)
            if finding.place.path == path and text in map(str.strip, finding.new)
        ]
        return min(writers)[1] if writers else None

    def _sorted(self, findings: list[Finding]) -> list[Finding]:
        """Return each finding once, by file in reading order and line, those in .htaccess files marked."""
        findings = [
            found
            if found.in_htaccess == self._is_htaccess(found.place.path)
            else replace(found, in_htaccess=not found.in_htaccess)
            for found in findings
        ]
        findings = [
            replace(found, access_line=line) if (line := self._access_line(found)) else found
            for found in findings
        ]
        unique = {
            (f.rule, f.place.path, f.place.line, f.message, bool(f.edits)): f for f in reversed(findings)
        }
        order = {path: at for at, path in enumerate(self.original.files)}
        return sorted(
            unique.values(), key=lambda f: (order.get(f.place.path, len(order)), f.place.line, f.rule)
        )

    def _access_line(self, finding: Finding) -> int:
        """Return `Finding.access_line` of *finding*."""
        file = self.original.files.get(finding.place.path)
        if file is None or not finding.in_htaccess or finding.rule not in ACCESS_RULES:
            return 0
        return next(iter(access_lines_in(file, finding.place.line)), 0)

    def _is_htaccess(self, path: str) -> bool:
        file = self.original.files.get(path)
        return file is not None and file.role is Role.HTACCESS

    # what the engine itself has to say -----------------------------------------------------------
    def _read_error_findings(self) -> Iterator[Finding]:
        """Yield findings for the read errors of the original, and for those that the edits caused."""
        for item in self.original.unread:
            finding = _read_error_finding(_place(item), item.subject, item.advice)
            yield replace(finding, risk=Risk.BREAKS) if self._ends_start(item) else finding
        known = {(_place(item).path, item.subject) for item in self.original.unread}
        for item in self.current.unread:
            if (_place(item).path, item.subject) not in known:
                place = self._original_place(_place(item))
                finding = _read_error_finding(place, f"after the upgrade: {item.subject}")
                yield replace(finding, risk=Risk.BREAKS)

    def _ends_start(self, item: UnknownItem) -> bool:
        """Return True if httpd ends its start, or answers 500, at the line that could not be read."""
        file = self.original.files.get(_place(item).path)
        faults = file.faults if file is not None and file.role is not Role.FRAGMENT else ()
        return any(fault.kind.ends_start and fault.line == _place(item).line for fault in faults)

    def _ends_of_start(self) -> Iterator[SourceLocation]:
        """Yield the lines at which every version of httpd ends its start."""
        for path, file in self.original.files.items():
            if file.role is Role.MAIN:
                faults = (fault for fault in file.faults if fault.kind.ends_start)
                yield from (SourceLocation(path, fault.line) for fault in faults)

    def _endless(self, last: list[Finding]) -> Finding:
        rules = sorted({finding.rule for finding in self.applied[-20:]})
        path = next(iter(self.result.files), next(iter(self.original.files), ""))
        return Finding(
            NO_FIXPOINT,
            SourceLocation(path, 1),
            f"the edits of {', '.join(rules)} undo each other: stopped after {MAX_SWEEPS} rounds",
            "check the result of these rules, or exclude one of them with --ignore",
            Risk.BREAKS,
        )


def _with_part(finding: Finding, part: Finding) -> Finding:
    """Return *finding* with the edits of *part*, which what it wrote needs."""
    lines = ", ".join(f"`{line.strip()}`" for line in part.new)
    fixes = (*finding.fixes, *part.fixes) if finding.fixes and part.fixes else ()
    return replace(
        finding,
        advice=f"{finding.advice}; {lines} goes with it" if finding.advice else f"{lines} goes with it",
        edits=(*finding.edits, *part.edits),
        new=(*finding.new, *part.new),
        fixes=fixes,
        elsewhere=(*finding.elsewhere, *part.elsewhere),
    )


def _place(item: UnknownItem) -> SourceLocation:
    return item.place or SourceLocation("", 0)


def _read_error_finding(place: SourceLocation, message: str, advice: str = "") -> Finding:
    is_missing = any(words in message for words in _MISSING)
    how = "put it there, or run the command on the server itself" if is_missing else _READABLE
    advice = advice or f"{how}: no rule has checked it"
    return Finding(READ_ERROR, place, message, advice)
