"""Code frames: a finding with its lines, the words that it is about, and the text that an upgrade writes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.terminal_text import UNBOUNDED, columns_of, padded, paint, shown, wrapped
from whimbrel.report.model import ReportEntry
from whimbrel.upgrade.edits.frame_lines import FrameLine
from whimbrel.upgrade.model import Risk

RISK_COLORS: Final = {
    Risk.BREAKS: "31;1",
    Risk.OPENS: "31;1",
    Risk.CLOSES: "31",
    Risk.CHANGES: "33",
    Risk.COSMETIC: "36",
}
MIN_GUTTER: Final = 3
"""Columns of line numbers."""
MAX_OLD_LINES: Final = 4
MAX_NEW_LINES: Final = 8
MAX_FRAME_LINES: Final = 20
"""Lines of a frame that has the lines between removed and written ones too."""
MAX_FURTHER: Final = 5
"""Further places of equal findings."""
MAX_MESSAGE: Final = 1200
MAX_CODE: Final = 200
"""Characters of a line of code."""
MAX_EVIDENCE: Final = 12
"""Lines of the evidence of a finding."""
_WORD: Final = re.compile(r"\S+")
_CORE: Final = re.compile(r"[A-Za-z0-9][\w.:/-]*")
_RED: Final = "31"
_GREEN: Final = "32"
_DIM: Final = "2"
_SIGN_COLORS: Final = {"-": _RED, "+": _GREEN, ".": _DIM}


@dataclass(frozen=True, slots=True)
class FrameStyle:
    """How frames are printed: columns of the terminal, colors, short names of rules by number."""

    width: int = UNBOUNDED
    is_colored: bool = False
    names: Mapping[str, str] = field(default_factory=dict)

    def paint(self, text: str, code: str) -> str:
        return paint(text, code, self.is_colored)


def frame(group: list[ReportEntry], style: FrameStyle, *, is_applied: bool = False) -> Iterator[str]:
    """Yield the lines of a finding, or of several that differ by their location only.

    *is_applied*: an upgrade has made the change or prints it as a diff, so that only its line is shown.
    """
    entry = group[0]
    yield _header(group, style, is_applied)
    gutter = max(MIN_GUTTER, *(len(str(number)) for number, _ in _code_lines(entry, is_applied)), 0)
    yield from _code(entry, style, gutter, is_applied)
    if not is_applied:
        yield from _elsewhere(entry, style, gutter)
    indent = f"{' ' * (gutter + 4)}= "
    texts = [shown(entry.advice, MAX_MESSAGE)]
    texts += [f"to decide: {shown(entry.decision, MAX_MESSAGE)}"] if entry.decision else []
    texts += [shown(line, MAX_MESSAGE) for line in entry.evidence.splitlines()[:MAX_EVIDENCE]]
    texts += [f"included from {shown(entry.via)}"] if entry.via and len(group) == 1 else []
    texts += [_further(group)] if len(group) > 1 else []
    for text in filter(None, texts):
        yield from _indented(text, indent, style)


def _header(group: list[ReportEntry], style: FrameStyle, is_applied: bool) -> str:
    """Return the place, the rule with its name, and the risk with what is left to do: one line, so that a
    search for one of them shows the others.
    """
    entry = group[0]
    stays = entry.stays if is_applied else None  # the effect of the old text is gone
    risk = shown(entry.effect) if stays is None else stays.value
    marks = [
        (_applied_mark(entry) if is_applied else entry.mark),
        "decision" if entry.decision and not entry.needs_review else "",
    ]
    rule = " ".join(filter(None, (entry.rule, style.names.get(entry.rule, ""))))
    parts = [(shown(entry.place), "1"), (rule, ""), (risk, RISK_COLORS[stays or entry.risk])]
    rest = "".join(f" · {shown(mark)}" for mark in marks if mark)
    count = f"  in {len(group):,} places" if len(group) > 1 else ""
    return "  ".join(style.paint(*part) for part in parts) + rest + count


def _applied_mark(entry: ReportEntry) -> str:
    if not entry.needs_review:
        return ""
    return "changed, needs review" if entry.is_fixable else "needs review"


def _code_lines(entry: ReportEntry, is_applied: bool) -> list[tuple[int, str]]:
    """Return the lines of the frame with their numbers: the opening line of a section, and those that an edit
    removes; else the line of the place.
    """
    old = [] if is_applied else list(entry.old[:MAX_OLD_LINES])
    has_place = bool(entry.line and entry.text) and all(number != entry.line for number, _ in old)
    has_place = has_place and (not old or entry.text.startswith("<"))
    return [(entry.line, entry.text), *old] if has_place else old


def _frame_lines(entry: ReportEntry, style: FrameStyle, gutter: int) -> Iterator[str]:
    """Yield the lines of an edit where they stand in the file, with those between them."""
    blank = f"{' ' * (gutter + 4)}| "
    lines = list(_window(entry))
    removed = [at for at, line in enumerate(lines) if line.sign == "-"]
    written = [at for at, line in enumerate(lines) if line.sign == "+"]
    own = [at for at in removed if lines[at].number == entry.line]
    names = {at: "".join(shown(lines[at].text).split()[:1]) for at in removed}
    meant = [at for at in removed if _is_named(names[at], entry.message)]
    marked = (own or meant or removed or written or [0])[0]
    for at, line in enumerate(lines):
        number = str(line.number or "") if line.sign != "." else "..."
        prefix = f"{number:>{gutter + 2}} {line.sign.strip('.') or ' '}| "
        code = _new_text(line.text) if line.sign == "+" else shown(line.text, MAX_CODE)
        pieces = wrapped(code, style.width - len(prefix))
        for piece_number, piece in enumerate(pieces):
            start = blank if piece_number else prefix
            yield (start + style.paint(piece, _SIGN_COLORS.get(line.sign, ""))).rstrip()
        if at == marked:
            marks = _marks(code, entry) if len(pieces) == 1 and line.sign == "-" else ""
            yield from _marked(
                marks, shown(entry.message, MAX_MESSAGE), blank, style, RISK_COLORS[entry.risk]
            )


def _window(entry: ReportEntry) -> Iterator[FrameLine]:
    """Yield at most MAX_FRAME_LINES lines of the edit, that of the place among them, and counts of others."""
    lines = entry.lines
    first = next((at for at, line in enumerate(lines) if line.number == entry.line and line.sign == "-"), 0)
    if first < MAX_FRAME_LINES:
        first = 0
    else:  # what is written in the place of a line stands behind it
        yield FrameLine(".", 0, f"{first} more lines")
    last = min(len(lines), first + MAX_FRAME_LINES)
    yield from lines[first:last]
    if last < len(lines):
        yield FrameLine(".", 0, f"{len(lines) - last} more lines")


def _code(entry: ReportEntry, style: FrameStyle, gutter: int, is_applied: bool) -> Iterator[str]:
    if entry.lines and not is_applied:
        yield from _frame_lines(entry, style, gutter)
        return
    lines = _code_lines(entry, is_applied)
    removed = {} if is_applied else dict(entry.old)
    marked = next((at for at, (number, _) in enumerate(lines) if number in removed), 0)
    blank = f"{' ' * (gutter + 4)}| "
    message = shown(entry.message, MAX_MESSAGE)
    if not lines:
        yield from _indented(message, f"{' ' * (gutter + 4)}| ", style)
    for at, (number, text) in enumerate(lines):
        sign = "-" if number in removed else " "
        code = shown(text, MAX_CODE)
        color = _RED if sign == "-" else ""
        prefix = f"{number:>{gutter + 2}} {sign}| "
        pieces = wrapped(code, style.width - len(prefix))
        for piece_number, piece in enumerate(pieces):
            yield (blank if piece_number else prefix) + style.paint(piece, color)
        if at == marked:
            marks = _marks(code, entry) if len(pieces) == 1 else ""
            yield from _marked(marks, message, blank, style, RISK_COLORS[entry.risk])
    if is_applied:
        return
    if len(entry.old) > MAX_OLD_LINES:
        yield f"{blank}and {len(entry.old) - MAX_OLD_LINES} more lines"
    yield from _signed("+", entry.own_new, style, gutter)


def _elsewhere(entry: ReportEntry, style: FrameStyle, gutter: int) -> Iterator[str]:
    """Yield the lines that the change removes and writes in other files, below the place of each."""
    blank = f"{' ' * (gutter + 4)}| "
    for one in entry.elsewhere[:MAX_FURTHER]:
        place = f"{one.path}:{one.line}" if one.line else one.path
        yield from _indented(f"in {shown(place)}:", blank, style)
        yield from _signed("-", one.old, style, gutter)
        yield from _signed("+", one.new, style, gutter)
    if len(entry.elsewhere) > MAX_FURTHER:
        yield f"{blank}and in {len(entry.elsewhere) - MAX_FURTHER} more files"


def _signed(sign: str, texts: Sequence[str], style: FrameStyle, gutter: int) -> Iterator[str]:
    """Yield *texts* with the sign of what is removed or written, up to MAX_NEW_LINES."""
    blank = f"{' ' * (gutter + 4)}| "
    prefix = f"{' ' * (gutter + 3)}{sign}| "
    for text in texts[:MAX_NEW_LINES]:
        for piece_number, piece in enumerate(wrapped(_new_text(text), style.width - len(prefix))):
            yield (blank if piece_number else prefix) + style.paint(piece, _SIGN_COLORS[sign])
    if len(texts) > MAX_NEW_LINES:
        yield f"{blank}and {len(texts) - MAX_NEW_LINES} more lines"


def _new_text(text: str) -> str:
    code = shown(text, MAX_CODE)
    return code if len(text) <= MAX_CODE else f"{code} ({len(text)} characters)"


def _marked(marks: str, message: str, blank: str, style: FrameStyle, color: str) -> Iterator[str]:
    """Yield the marks below a line with the message behind them, or below them if it is too long."""
    if marks and columns_of(f"{blank}{marks} {message}") <= min(style.width, 110):
        yield f"{blank}{style.paint(marks, color)} {message}"
        return
    if marks:
        yield f"{blank}{style.paint(marks, color)}"
    yield from _indented(message, blank, style)


def _indented(text: str, indent: str, style: FrameStyle) -> Iterator[str]:
    continued = f"{' ' * (len(indent) - 2)}{indent[-2] if indent[-2] == '|' else ' '} "
    for number, line in enumerate(wrapped(text, style.width - len(indent))):
        yield f"{continued if number else indent}{line}"


def _marks(code: str, entry: ReportEntry) -> str:
    """Return circumflexes below the words of *code* that the finding is about."""
    out = ""
    for start, end in mark_spans(code, entry, words_of_new(entry)):
        out = padded(out, columns_of(code[:start])) + "^" * columns_of(code[start:end])
    return out


def words_of_new(entry: ReportEntry) -> frozenset[str]:
    """Return the words of the text that an upgrade writes."""
    return frozenset(word for line in entry.new for word in shown(line, MAX_CODE).split())


def mark_spans(code: str, entry: ReportEntry, new_words: frozenset[str]) -> list[tuple[int, int]]:
    """Return begin and end of the words of *code*, shown text, that the finding is about.

    They are the words that the new text lacks, or those that the message names; else the directive. A line
    behind which the new text stands has none. *new_words* are `words_of_new` of *entry*.
    """
    if entry.new and not entry.old:
        return []
    spans = [(found.start(), found.end()) for found in _WORD.finditer(code)]
    chosen = [span for span in spans if code[slice(*span)] not in new_words] if new_words else []
    if chosen[:1] == spans[:1]:  # the directive itself is replaced
        chosen = spans[:1]
    elif not chosen:
        chosen = [span for span in spans[1:] if _is_named(code[slice(*span)], entry.message)] or spans[:1]
    return chosen


def _is_named(word: str, message: str) -> bool:
    """Return True if *message* has the word: one of three characters or more, without quotes and signs."""
    core = _CORE.search(word)
    if core is None or len(core[0]) < 3:
        return False
    return re.search(rf"(?<![\w.]){re.escape(core[0])}(?!\w)", message) is not None


def _further(group: list[ReportEntry]) -> str:
    """Return the first further places of equal findings, and the count of all others."""
    places = [shown(entry.place) for entry in group[1 : MAX_FURTHER + 1]]
    more = len(group) - 1 - len(places)
    return f"also {'  '.join(places)}" + (f"  and {more:,} more (JSON names all)" if more else "")


def framed(
    groups: Iterable[list[ReportEntry]], style: FrameStyle, *, is_applied: bool = False
) -> Iterator[str]:
    """Yield the frames of *groups*, with a blank line behind each."""
    for group in groups:
        yield from frame(group, style, is_applied=is_applied)
        yield ""
