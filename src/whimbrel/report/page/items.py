"""Entries of a report as findings of a page: by file, the worst ones if there are too many."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.terminal_text import shown
from whimbrel.report.decisions import is_to_decide
from whimbrel.report.formats.frames import mark_spans, words_of_new
from whimbrel.report.model import EffectClass, ReportEntry
from whimbrel.report.page.model import (
    FAILS,
    KEYS,
    CodeLine,
    CodeSide,
    FindingGroup,
    Hunk,
    Pieces,
    ShownFinding,
)
from whimbrel.report.page.texts import MAX_CODE, MAX_MESSAGE, Anchors, number, page_text, without_bytes
from whimbrel.upgrade.model import OtherLines, Risk

MAX_FINDINGS: Final = 5000
"""Findings of a page: the worst ones; JSON has all."""
MAX_BYTES: Final = 16_000_000
"""Bytes that the texts of all findings of a page take at most, with their escapes."""
MAX_ESCAPED: Final = 7
"""Bytes of an escaped character: half of the tags for two backticks; others take five, as ``&amp;``."""
MAX_FILES: Final = 5
"""Further files of a change."""
MAX_LINES: Final = 40
"""Lines of one side of a finding."""
MAX_EVIDENCE: Final = 12
OLD_SIDE: Final = "2.2, as it is"
NEW_SIDE: Final = "2.4, as upgrade writes it"
_NOT_PLAIN: Final = re.compile(r"[^ !#-%(-;=?-\[\]-_a-~]")
_WORD: Final = re.compile(r"\S+")

NewNumbers = Mapping[str, Mapping[str, list[int]]]
"""The numbers of new lines, by file and text without white space around it."""


def left_out(
    entries: list[ReportEntry], limit: int = MAX_FINDINGS, max_bytes: int = MAX_BYTES
) -> tuple[list[ReportEntry], str]:
    """Return the entries that a page shows, and a sentence about the others, "" for none.

    The worst risks stay; within a risk the first ones.
    """
    chosen: list[ReportEntry] = []
    size = 0
    for entry in sorted(entries, key=lambda one: one.risk.rank):
        size += _size(entry)
        if len(chosen) >= limit or size > max_bytes:
            break
        chosen.append(entry)
    if len(chosen) == len(entries):
        return entries, ""
    text = f"The first {number(len(chosen))} of {number(len(entries))} findings are shown, the worst first"
    return chosen, f"{text}; --format json has all."


def _size(entry: ReportEntry) -> int:
    """Return the bytes that the texts of *entry* take at most."""
    texts = [(text, MAX_MESSAGE) for text in (entry.message, entry.advice, entry.decision, entry.via)]
    texts.append((entry.evidence, MAX_EVIDENCE * MAX_MESSAGE))
    lines = [text for _, text in entry.old[:MAX_LINES]] + list(entry.new[:MAX_LINES])
    lines += [line.text for line in entry.lines[:MAX_LINES] for _side in range(2)]
    lines += [text for one in _others(entry) for text in (*one.old[:MAX_LINES], *one.new[:MAX_LINES])]
    texts += [(text, MAX_CODE) for text in (entry.text, entry.text, *lines)]
    return sum(_escaped_size(text[:limit]) for text, limit in texts)


def _escaped_size(text: str) -> int:
    return len(text) + (MAX_ESCAPED - 1) * len(_NOT_PLAIN.findall(text))


class Grouped(NamedTuple):
    """The findings by file, and the place of each entry in the page."""

    groups: tuple[FindingGroup, ...]
    anchors: dict[ReportEntry, str]


def groups(
    entries: Iterable[ReportEntry],
    anchors: Anchors,
    names: Mapping[str, str],
    numbers: NewNumbers | None = None,
    hunks: Mapping[str, tuple[tuple[Hunk, ...], str]] | None = None,
) -> Grouped:
    """Return the entries by file, in the order of the lines; files that end the start come first. *hunks* are
    the differences of whole files.
    """
    places: dict[ReportEntry, str] = {}
    hunks = hunks or {}
    by_path: dict[str, list[ReportEntry]] = {path: [] for path in hunks}
    for entry in entries:
        by_path.setdefault(entry.path, []).append(entry)
    found = []
    for path in sorted(by_path, key=lambda path: (not any(map(_ends_start, by_path[path])), path)):
        of_file = sorted(by_path[path], key=lambda entry: entry.sort_key)
        title = page_text(path, MAX_CODE) or "no file"
        anchor = anchors.new(f"file {path}")
        items = tuple(item(entry, anchors, names, (numbers or {}).get(path, {})) for entry in of_file)
        places.update(zip(of_file, (one.anchor for one in items), strict=True))
        parts, changed = hunks.get(path, ((), ""))
        found.append(FindingGroup(anchor, title, items, parts, changed))
    return Grouped(tuple(found), places)


def _ends_start(entry: ReportEntry) -> bool:
    return entry.risk is Risk.BREAKS and not entry.effect_class.is_per_request


def item(
    entry: ReportEntry, anchors: Anchors, names: Mapping[str, str], numbers: Mapping[str, list[int]]
) -> ShownFinding:
    """Return one entry; *numbers* are those of the new lines of its file."""
    is_rule = entry.rule in names
    code, sides = _lines(entry, numbers)
    return ShownFinding(
        anchors.new(f"{entry.rule} {entry.path} {entry.line}"),
        page_text(entry.rule),
        page_text(names.get(entry.rule, "")),
        _place(entry),
        key_of(entry.effect_class),
        word_of(entry),
        page_text(entry.message),
        tuple(
            filter(None, (page_text(entry.mark), "decision" * (bool(entry.decision) > entry.needs_review)))
        ),
        tuple(_notes(entry)),
        code,
        sides,
        command=f"whimbrel explain {entry.rule}" if is_rule else "",
        is_to_decide=is_to_decide(entry),
        is_note=entry.is_note,
    )


def _place(entry: ReportEntry) -> str:
    """Return the line within its file in words."""
    if entry.line:
        return f"line {entry.line}"
    return "whole file" if entry.path else "no line"


def key_of(effect_class: EffectClass) -> str:
    """Return the key of the color of a class of effects, which the filter uses too."""
    return FAILS if effect_class.is_per_request else KEYS[effect_class.risk]


def word_of(entry: ReportEntry) -> str:
    """Return the words of its effect."""
    return page_text(entry.effect)


def _notes(entry: ReportEntry) -> Iterator[tuple[str, str]]:
    if entry.advice:
        yield "", page_text(entry.advice)
    if entry.decision:
        yield "To decide:", page_text(entry.decision)
    lines = entry.evidence.splitlines()
    yield from (("", page_text(line)) for line in lines[:MAX_EVIDENCE])
    if len(lines) > MAX_EVIDENCE:
        yield "", f"and {number(len(lines) - MAX_EVIDENCE)} more lines (JSON has all)"
    if entry.via:
        yield "Included from", page_text(entry.via)


def _lines(
    entry: ReportEntry, numbers: Mapping[str, list[int]]
) -> tuple[tuple[CodeLine, ...], tuple[CodeSide, ...]]:
    """Return the lines of a finding: as a frame, or as two sides if the upgrade changes some."""
    words = words_of_new(entry)
    if entry.lines:
        return (), _with_others(entry, _sides(entry, words, numbers))
    old = [CodeLine(_marked(text, entry, words), at, "-") for at, text in entry.old[:MAX_LINES]]
    around: list[CodeLine] = []
    if entry.line and entry.text and all(at != entry.line for at, _ in entry.old):
        if not old or entry.text.startswith("<"):
            around = [
                CodeLine(_marked(entry.text, entry, words) if not old else plain(entry.text), entry.line)
            ]
    if not entry.new and not entry.old:
        return tuple(around), ()
    known = {word for _, text in entry.old for word in text.split()}
    after = max((at for at, _ in entry.old), default=entry.line)
    new = [
        CodeLine(_new_words(text, known), _next_number(numbers.get(text.strip(), []), after), "+")
        for text in entry.own_new[:MAX_LINES]
    ]
    old += _more(len(entry.old) - MAX_LINES)
    new += _more(len(entry.own_new) - MAX_LINES)
    shared = [CodeLine(line.pieces) for line in around]
    sides = CodeSide(OLD_SIDE, (*around, *old)), CodeSide(NEW_SIDE, (*shared, *new))
    return (), _with_others(entry, sides)


def _others(entry: ReportEntry) -> tuple[OtherLines, ...]:
    return entry.elsewhere[:MAX_FILES]


def _with_others(entry: ReportEntry, sides: tuple[CodeSide, CodeSide]) -> tuple[CodeSide, CodeSide]:
    """Return both sides with the lines of other files that the change removes and writes, each below its
    place.
    """
    for one in _others(entry):
        place = f"{one.path}:{one.line}" if one.line else one.path
        old, new = (
            (
                CodeLine(plain(place), 0, "@"),
                *(CodeLine(plain(text), 0, sign) for text in texts[:MAX_LINES]),
                *_more(len(texts) - MAX_LINES),
            )
            for sign, texts in (("-", one.old), ("+", one.new))
        )
        sides = (
            replace(sides[0], lines=(*sides[0].lines, *old)),
            replace(sides[1], lines=(*sides[1].lines, *new)),
        )
    return sides


def _sides(
    entry: ReportEntry, words: frozenset[str], numbers: Mapping[str, list[int]]
) -> tuple[CodeSide, CodeSide]:
    """Return both sides of an edit with the unchanged lines between its parts."""
    known = {word for _, text in entry.old for word in text.split()}
    old: list[CodeLine] = []
    new: list[CodeLine] = []
    last = entry.line
    for line in entry.lines[:MAX_LINES]:
        last = line.number or last
        if line.sign == "-":
            old.append(CodeLine(_marked(line.text, entry, words), line.number, "-"))
        elif line.sign == "+":
            number = _next_number(numbers.get(line.text.strip(), []), last)
            new.append(CodeLine(_new_words(line.text, known), number, "+"))
        else:
            old.append(CodeLine(plain(line.text), line.number))
            new.append(CodeLine(plain(line.text)))
    more = _more(len(entry.lines) - MAX_LINES)
    return CodeSide(OLD_SIDE, (*old, *more)), CodeSide(NEW_SIDE, (*new, *more))


def _more(count: int) -> list[CodeLine]:
    return [CodeLine(plain(f"and {number(count)} more lines"))] if count > 0 else []


def _next_number(numbers: list[int], old_line: int) -> int:
    """Take the number nearest to the old line *old_line*; 0 if none is known."""
    if not numbers:
        return 0
    best = min(numbers, key=lambda at: abs(at - old_line))
    numbers.remove(best)
    return best


def plain(text: str) -> Pieces:
    """Return a line without marks."""
    return ((page_text(text, MAX_CODE), False),)


def _marked(text: str, entry: ReportEntry, new_words: frozenset[str]) -> Pieces:
    """Return a line with marks at the words that the finding is about."""
    code = shown(text, MAX_CODE)
    return _pieces(code, mark_spans(code, entry, new_words))


def _new_words(text: str, known: set[str]) -> Pieces:
    """Return a new line with marks at the words that no old line has."""
    code = shown(text, MAX_CODE)
    if not known:
        return plain(text)
    return _pieces(code, [found.span() for found in _WORD.finditer(code) if found[0] not in known])


def _pieces(code: str, spans: list[tuple[int, int]]) -> Pieces:
    """Cut *code* at *spans*, which are marked; neighbours with white space between them are one."""
    pieces: list[tuple[str, bool]] = []
    at = 0
    for start, end in spans:
        between = code[at:start]
        if pieces and pieces[-1][1] and not between.strip():
            pieces[-1] = (pieces[-1][0] + between + code[start:end], True)
        else:
            pieces += [(between, False), (code[start:end], True)]
        at = end
    pieces.append((code[at:], False))
    return tuple((without_bytes(text), is_marked) for text, is_marked in pieces if text)


def worst(entries: Iterable[ReportEntry]) -> Risk:
    """Return the worst risk of *entries*."""
    return min((entry.risk for entry in entries), key=lambda risk: risk.rank, default=Risk.COSMETIC)
