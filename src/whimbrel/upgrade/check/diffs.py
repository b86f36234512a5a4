"""The unified diffs of an upgrade."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from whimbrel.base.counts import count_noun
from whimbrel.base.lazy_re import compile
from whimbrel.base.terminal_text import shown
from whimbrel.upgrade.access_control.admission import reason_in
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.edits.diff import Heading, display_path, unified_diff
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rules import all_rules, rule_names
from whimbrel.upgrade.source.line_map import LineMap

MAX_HEADING: Final = 90
"""Characters of a heading; what is longer has the numbers of its rules alone."""
MAX_WITH_REASONS: Final = 105
"""Characters of a heading with the reasons for startling edits; the summary has them whole."""
_REPEATED: Final = compile(r"^upgrade repeats `[^`]*`")
RuleLines = list[tuple[int, int, str, tuple[str, ...]]]  # first and last line of the old file, rule, reasons


def diffs(result: UpgradeResult, directory: str) -> dict[str, bytes]:
    """Return a unified diff for each changed file, by its path; a hunk is headed by its rules, and by the
    reasons for what they do not explain. The names of all files are below one directory, so that patch(1)
    finds them from there: *directory*, else the image of a machine, else ``/``.
    """
    top = _top_of(result, directory)
    ranges: dict[str, RuleLines] = {}
    for finding in result.findings:
        if finding.edits:
            for path, first, last in _changed(finding):
                reasons = _reasons(finding, (path, first, last), directory)
                ranges.setdefault(path, []).append((first, last, finding.rule, reasons))
    titles = {rule.number: rule.title for rule in all_rules()}
    words = titles, rule_names()
    diff_by_path = {}
    for path, file in result.tree.files.items():  # in the order in which the server reads them
        new_bytes = result.files.get(path)
        if new_bytes is None:
            continue
        old_bytes = file.document.bytes
        line_map = result.line_maps.get(path, LineMap())
        heading = _heading(sorted(ranges.get(path, [])), words)
        diff_by_path[path] = unified_diff(display_path(path, top), old_bytes, new_bytes, line_map, heading)
    return diff_by_path


def _top_of(result: UpgradeResult, directory: str) -> str:
    """Return the directory that contains all changed files."""
    for top in filter(None, (directory, result.tree.disk.image)):
        if all(path.startswith(f"{top.rstrip('/')}/") for path in result.files):
            return top
    return "/" if directory else ""


def _changed(finding: Finding) -> Iterator[tuple[str, int, int]]:
    """Yield file, first and last line of what the edits of *finding* change in the text as it was read."""
    if finding.fixes:
        yield from ((fix.path, fix.start[0], fix.end[0]) for fix in finding.fixes)
        return
    yield finding.place.path, finding.place.line, finding.place.line
    yield from ((finding.place.path, number, number) for number, _ in finding.old)


def _reasons(finding: Finding, lines: tuple[str, int, int], directory: str) -> tuple[str, ...]:
    """Return in short why the edits of *finding* are other than its rule makes them expect, () for nothing.

    *lines* are those that change, in a file from the first to the last: of a section that is repeated there,
    the reason is where it comes from.
    """
    path, first, last = lines
    place = finding.place
    end = max((number for number, _ in finding.old), default=place.line)
    is_own = path == place.path and first <= max(end, place.line) and last >= place.line
    found = []
    for reason in (finding.remark or reason_in(finding.advice)).split("; "):
        repeated = _REPEATED.search(reason)
        if repeated is None:
            found.append(reason.partition(": ")[0])
        elif is_own:
            where = reason.partition(", with what ")[0].removeprefix(repeated[0])
            found.append(f"line {place.line} is repeated{where}")
        else:
            found.append(f"repeats {display_path(place.path, directory)}:{place.line}")
    return tuple(filter(None, found))


def _heading(ranges: RuleLines, words: Iterable[Mapping[str, str]]) -> Heading:
    """Return a function that names the rules of some lines with the first of *words*, by rule, that fit, and
    the reasons, as far as there is room.
    """

    def heading(first: int, last: int) -> str:
        own = [one for one in ranges if one[0] <= last and one[1] >= first]
        rules = list(dict.fromkeys(rule for _, _, rule, _ in own))
        reasons = list(dict.fromkeys(reason for *_, found in own for reason in found))
        explained = _with_reasons(", ".join(rules), reasons)
        if explained:
            return explained
        forms = ("; ".join(f"{rule} {one.get(rule, '')}".strip() for rule in rules) for one in words)
        return next((text for text in forms if len(text) <= MAX_HEADING), ", ".join(rules))

    return heading


def _with_reasons(rules: str, reasons: Sequence[str]) -> str:
    """Return *rules* with those of *reasons* for which there is room, whole, and the number of the others; ""
    if there is room for none: a part of a sentence may say the contrary of it.
    """
    named: list[str] = []
    for reason in map(shown, reasons):
        if len(f"{rules}: {'; '.join((*named, reason))}") <= MAX_WITH_REASONS:
            named.append(reason)
    left = len(reasons) - len(named)
    more = [count_noun(left, "more reason")] if left else []
    return f"{rules}: {'; '.join((*named, *more))}" if named else ""
