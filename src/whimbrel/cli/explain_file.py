"""`whimbrel explain FILE`: each changed place of one file as a small diff, with its reason below it.

Before an upgrade the new text is what `upgrade` would write, after `upgrade --write` what is there.

Exit codes: 0 explained; 2 no such file, or nothing could be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from whimbrel.base.counts import count_noun
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.real_paths import real_path
from whimbrel.base.terminal_text import shown, terminal_width, wrapped
from whimbrel.cli.explain_backups import before_upgrade, has_backups
from whimbrel.cli.explain_line import choices, path_of, place_of
from whimbrel.cli.next_commands import command_line
from whimbrel.cli.options import ColorMode, ConfigArguments, is_colored
from whimbrel.cli.terminal import write_text
from whimbrel.utilities.usage_error import UsageError

if TYPE_CHECKING:
    from whimbrel.report.formats.frames import FrameStyle
    from whimbrel.report.model import ReportEntry
    from whimbrel.upgrade.apply.written_edits import WrittenEdit
    from whimbrel.upgrade.check.fixpoint import UpgradeResult
    from whimbrel.upgrade.edits.diff import Change
    from whimbrel.upgrade.model import Finding
    from whimbrel.upgrade.source.line_map import OldLines
    from whimbrel.upgrade.source.reading import Sources

_MAX_GAP: Final = 3
"""Unchanged lines between changes of one finding that are shown as one place."""
_GUTTER: Final = 5
_SIGN_COLORS: Final = {"-": "31", "+": "32"}
_BY_HAND: Final = "it was changed by hand, or by options of the upgrade: no rule accounts for"


class ChangedLine(NamedTuple):
    """A line of a changed place.

    Attributes:
        sign: ``-`` for a line of the old text, ``+`` for one of the new text, a space for one of both.
        number: that of the old text, of ``+`` that of the new text.
    """

    sign: str
    number: int
    text: str


class ChangedPlace(NamedTuple):
    """Lines that change together, and the findings whose edits change them.

    Attributes:
        first, last: numbers of lines of the old text; *last* is less than *first* of lines that are added.
        written: the edits that wrote lines of it, as the journal of the upgrade has them.
        by_hand: the lines that no upgrade has changed.
    """

    first: int
    last: int
    lines: list[ChangedLine]
    reasons: list[ReportEntry]
    written: Sequence[WrittenEdit] = ()
    by_hand: Sequence[ChangedLine] = ()


class _Group(NamedTuple):
    """Positions of the first and last change of a place, and its findings by identity."""

    first: int
    last: int
    reasons: dict[int, ReportEntry]


def explain_file(path: str, named: ConfigArguments, *, as_json: bool = False, may_page: bool = True) -> None:
    """Print what changes in *path*, a file of the server *named* or of the one around it.

    Raises UsageError.
    """
    from whimbrel.report.entries import entry_of
    from whimbrel.upgrade.check.check import source_lines
    from whimbrel.upgrade.edits.diff import display_path, lines_of
    from whimbrel.upgrade.source.line_map import LineMap

    (found, directory), place, argument = place_of(path, named)
    is_upgraded = found.options is not None and has_backups(directory)
    result = _upgrade(found, directory, is_upgraded=is_upgraded)
    read = next((one for one in result.tree.files if real_path(one) == real_path(place)), None)
    if read is None:
        raise UsageError(f"{path}: {argument} does not read this file")
    old = result.tree.files[read].document.bytes
    written = result.files.get(read, old)
    new = read_regular(to_bytes(place)) if is_upgraded else written
    line_map = _PresentLines(written, new, result.line_maps.get(read) or LineMap())
    texts = source_lines(result.tree, result.findings)
    about = [(one, entry_of(one, directory, texts)) for one in result.findings]
    changed = [(lines, entry) for one, entry in about if one.edits for lines in _changed_lines(one, read)]
    places = list(_places(lines_of(old), lines_of(new), line_map, changed))
    if is_upgraded:
        writer = _Writer(place, new, line_map, directory)
        places = [writer.with_authors(one) for one in places]
    left = [entry for one, entry in about if one.place.path == read and not one.edits]
    open_entries = [*left, *(entry for one in places for entry in one.reasons)]
    if is_upgraded:  # what is open is what the present text leaves open
        left = _present(found, directory, place)
        open_entries = left
    name = display_path(read, directory)
    if as_json:
        write_text(_as_json(name, places, left, is_upgraded=is_upgraded), may_page=may_page)
        return
    lines = [*_text(name, places, left, is_upgraded=is_upgraded)]
    lines += choices(list({id(entry): entry for entry in open_entries}.values()))
    following = command_line("upgrade", argument)
    if is_upgraded:
        following = command_line("verify", "--backups", argument)
    elif not places and not left:
        following = command_line("check", argument)
    write_text("".join(f"{line}\n" for line in (*lines, f"Next: {shown(following)}")), may_page=may_page)


def _upgrade(found: Sources, directory: str, *, is_upgraded: bool) -> UpgradeResult:
    """Return the upgrade of the text of 2.2; no answer is compared."""
    from whimbrel.api.checking import upgrade_sources
    from whimbrel.cli.progress import ProgressBar
    from whimbrel.upgrade.check.check import Selection
    from whimbrel.upgrade.model import UpgradeOptions

    if is_upgraded and found.options is not None:
        found = replace(found, options=before_upgrade(found.options, directory))
    with ProgressBar() as bar:
        result, _ = upgrade_sources(
            found, UpgradeOptions(), Selection(), bar.on_file, bar.on_step, is_verified=False
        )
    return result


def _present(found: Sources, directory: str, place: str) -> list[ReportEntry]:
    """Return the findings of `check` in the file *place*, as it is."""
    from whimbrel.cli.check import run_check
    from whimbrel.upgrade.check.check import Selection
    from whimbrel.upgrade.model import UpgradeOptions

    report = run_check([(found, directory)], Selection(), 1, UpgradeOptions())
    return [one for one in report.entries if real_path(path_of(report, one.path)) == real_path(place)]


def _changed_lines(finding: Finding, path: str) -> Iterator[range]:
    """Yield the lines of the old text of *path* that the edits of *finding* change; of what they add, the
    lines around it.
    """
    if finding.fixes:
        yield from (range(one.start[0], one.end[0] + 1) for one in finding.fixes if one.path == path)
        return
    if finding.place.path == path:
        numbers = [number for number, _ in finding.old] or [finding.place.line]
        yield range(min(numbers), max(numbers) + 1)
    for other in finding.elsewhere:
        if other.path == path:
            yield range(other.line, other.line + 1 + len(other.old))


class _PresentLines:
    """The old lines that those of a present text are: lines that a person has left as the upgrade wrote them,
    from the beginning and from the end of the file.
    """

    def __init__(self, written: bytes, present: bytes, line_map: OldLines) -> None:
        from whimbrel.upgrade.edits.diff import lines_of

        self._line_map = line_map
        self._written = lines_of(written)
        self._present = lines_of(present)
        self._first = _same_at_start(self._written, self._present)
        rest = (lines[self._first :][::-1] for lines in (self._written, self._present))
        self._last = _same_at_start(*rest)
        numbers = range(1, len(self._written) + 1)
        self._old_unchanged = frozenset(map(line_map.unchanged_from, numbers))

    def is_written(self, line: ChangedLine) -> bool:
        """Return True if the text that upgrade writes has the changed *line* as the present text has it."""
        if line.sign == "-":
            return line.number not in self._old_unchanged
        return line.number <= self._first or line.number > len(self._present) - self._last

    def unchanged_from(self, line: int) -> int:
        """Return the old line that *line* is, 0 for none, or where that is not known."""
        if line <= self._first:
            return self._line_map.unchanged_from(line)
        if line > len(self._present) - self._last:
            return self._line_map.unchanged_from(line - len(self._present) + len(self._written))
        return 0


class _Writer:
    """Tells the lines that an upgrade has changed in the file *place* from those that a person has."""

    def __init__(self, place: str, present: bytes, line_map: _PresentLines, directory: str) -> None:
        self._place = place
        self._present = present
        self._line_map = line_map
        self._directory = real_path(directory)

    def with_authors(self, changed: ChangedPlace) -> ChangedPlace:
        """Return *changed* with the edits of the journal that wrote its lines, and the lines of none."""
        from whimbrel.upgrade.apply.written_texts import edits_at

        lines = [one for one in changed.lines if one.sign != " " and one.text.strip()]
        both = [one._replace(sign=sign) for one in lines for sign in "+-"]  # a line may be moved
        known = {one.text for one in both if any(_is_of(entry, one) for entry in changed.reasons)}
        strange = [one for one in lines if one.text not in known and not self._line_map.is_written(one)]
        if not strange:
            return changed
        added = [one.number for one in lines if one.sign == "+"]
        own = {number: edits_at(self._place, self._present, number, [self._directory]) for number in added}
        edits = list(dict.fromkeys(edit for found in own.values() for edit in found))
        texts = {text for edit in edits for _, text in edit.old}
        texts |= {one.text.strip() for one in lines if one.sign == "+" and own[one.number]}
        by_hand = [one for one in strange if one.text.strip() not in texts]
        rules = {entry.rule for entry in changed.reasons}
        written = [edit for edit in edits if edit.rule not in rules]
        return changed._replace(written=written, by_hand=by_hand)


def _same_at_start(first: Sequence[bytes], second: Sequence[bytes]) -> int:
    """Return with how many equal lines both begin."""
    pairs = zip(first, second, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(first), len(second)))


def _places(
    before: list[bytes], after: list[bytes], line_map: OldLines, changed: list[tuple[range, ReportEntry]]
) -> Iterator[ChangedPlace]:
    """Yield the places where *after* differs from *before*; *changed* has the reasons by lines of *before*.

    Changes near each other are one place if one finding makes them.
    """
    from whimbrel.upgrade.edits.diff import changes

    steps = list(changes(before, after, line_map))
    lines = [list(_change_lines(step, before, after)) for step in steps]
    groups: list[_Group] = []
    for at, met in enumerate(_met(steps, changed)):
        own = {id(entry): entry for entry in met if any(_is_of(entry, one) for one in lines[at])}
        last = groups[-1] if groups else None
        if last and steps[at][0] - steps[last.last][1] <= _MAX_GAP and own.keys() & last.reasons.keys():
            groups[-1] = _Group(last.first, at, {**last.reasons, **own})
        else:
            groups.append(_Group(at, at, own))
    for group in groups:
        begin = steps[group.first][0]
        end = steps[group.last][1]
        shown_lines = _old_lines(before, begin - 1, begin) if begin else []
        for at in range(group.first, group.last + 1):
            if at > group.first:
                shown_lines += _old_lines(before, steps[at - 1][1], steps[at][0])
            shown_lines += lines[at]
        shown_lines += _old_lines(before, end, end + 1)
        yield ChangedPlace(begin + 1, end, shown_lines, list(group.reasons.values()))


def _met(
    steps: Sequence[Change], changed: Iterable[tuple[range, ReportEntry]]
) -> Iterator[list[ReportEntry]]:
    """Yield for each of *steps*, in their order, the findings whose lines are those of it or around it."""
    waiting = sorted(enumerate(changed), key=lambda one: one[1][0].start, reverse=True)
    active: list[tuple[int, tuple[range, ReportEntry]]] = []
    for begin, end, *_ in steps:
        # numbers from 1; what is added stands before or behind a line
        while waiting and waiting[-1][1][0].start < end + 2:
            active.append(waiting.pop())
        active = [one for one in active if one[1][0].stop > begin]
        yield [entry for _, (numbers, entry) in sorted(active, key=lambda one: one[0])]


def _is_of(entry: ReportEntry, line: ChangedLine) -> bool:
    """Return True if *entry* removes or writes the text of a changed *line*."""
    text = line.text.strip()
    if line.sign == "+":
        return any(one.strip() == text for one in entry.new)
    removed = [*(one for _, one in entry.old), *(one for other in entry.elsewhere for one in other.old)]
    return line.sign == "-" and any(one.strip() == text for one in removed)


def _change_lines(step: Change, before: list[bytes], after: list[bytes]) -> Iterator[ChangedLine]:
    begin, end, new_begin, new_end = step
    yield from (line._replace(sign="-") for line in _old_lines(before, begin, end))
    yield from (line._replace(sign="+") for line in _old_lines(after, new_begin, new_end))


def _old_lines(lines: list[bytes], begin: int, end: int) -> list[ChangedLine]:
    """Return the lines from *begin* to *end*, counted from 0, as unchanged ones."""
    texts = (to_text(line).rstrip("\r\n") for line in lines[begin:end])
    return [ChangedLine(" ", number, text) for number, text in enumerate(texts, begin + 1)]


def _text(
    name: str, places: list[ChangedPlace], left: list[ReportEntry], *, is_upgraded: bool
) -> Iterator[str]:
    """Yield what changes, place by place, then what stays and is to decide or to know."""
    from whimbrel.report.formats.frames import FrameStyle, framed
    from whimbrel.report.model import groups
    from whimbrel.upgrade.rules import rule_names

    style = FrameStyle(terminal_width(), is_colored(ColorMode.auto), rule_names())
    verb = "is changed" if is_upgraded else "changes"
    if len(places) != 1:
        verb = "are changed" if is_upgraded else "change"
    yield from wrapped(f"{shown(name)}: {count_noun(len(places), 'place')} {verb}", style.width)
    if places:
        new_text = "the text that is here" if is_upgraded else "the text that upgrade writes"
        yield from wrapped(f"- and its number: the text of 2.2; + and its number: {new_text}", style.width)
    yield ""
    for place in places:
        yield from _place_lines(name, place, style)
        yield ""
    if left:
        count = count_noun(len(left), "finding")
        yield f"{'left to look at' if is_upgraded else 'without a change'}: {count}"
        yield ""
        yield from framed(groups(left), style)


def _place_lines(name: str, place: ChangedPlace, style: FrameStyle) -> Iterator[str]:
    where = f"{shown(name)}:{place.first}"
    yield style.paint(where if place.last <= place.first else f"{where}-{place.last}", "1")
    for line in place.lines:
        prefix = f"{line.number:>{_GUTTER}} {line.sign}| "
        for at, piece in enumerate(wrapped(shown(line.text), style.width - len(prefix))):
            start = f"{' ' * (len(prefix) - 2)}| " if at else prefix
            yield f"{start}{style.paint(piece, _SIGN_COLORS.get(line.sign, ''))}".rstrip()
    indent = " " * (_GUTTER + 2)
    texts = list(_reason_texts(place, style))
    if place.by_hand:
        texts.append(f"{_BY_HAND} {', '.join(f'{one.sign}{one.number}' for one in place.by_hand)}")
    for text in dict.fromkeys(texts):
        for at, piece in enumerate(wrapped(text, style.width - len(indent) - 2)):
            yield f"{indent}{'  ' if at else '= '}{piece}"


def _reason_texts(place: ChangedPlace, style: FrameStyle) -> Iterator[str]:
    """Yield the rule and its reason for each finding of a place, and who gains or loses access by it."""
    from whimbrel.upgrade.model import ACCESS_RULES

    for entry in place.reasons:
        rule = " ".join(filter(None, (entry.rule, style.names.get(entry.rule, ""))))
        yield f"{rule}: {shown(entry.message)}"
        if entry.rule in ACCESS_RULES:
            yield shown(entry.advice)
    for edit in place.written:
        rule = " ".join(filter(None, (edit.rule, style.names.get(edit.rule, ""))))
        yield f"{rule}: {shown(edit.message)}"


def _as_json(name: str, places: list[ChangedPlace], left: list[ReportEntry], *, is_upgraded: bool) -> str:
    from whimbrel.cli.explain_line import as_dict

    document = {
        "file": name,
        "is_upgraded": is_upgraded,
        "places": [
            {
                "line": one.first,
                "lines": [{"sign": line.sign, "line": line.number, "text": line.text} for line in one.lines],
                "reasons": [as_dict(entry) for entry in one.reasons],
            }
            for one in places
        ],
        "findings": [as_dict(entry) for entry in left],
    }
    return json.dumps(document, indent=1) + "\n"
