"""Unified diffs of edited files.

The edits give the unchanged lines, so the time is linear in the number of lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.syntax.edits import Edit
from whimbrel.upgrade.source.line_map import OldLines

CONTEXT: Final = 3
_SPECIAL: Final = re.compile(rb'[\x00-\x1f"\\\x7f]')
MAX_REFINED_LINES: Final = 2000
"""The maximum number of lines of a change that is compared line by line; a larger one is shown as a whole."""

# lines a to b of the old file became lines c to d of the new one, counted from 0
Change = tuple[int, int, int, int]
Heading = Callable[[int, int], str]
"""Returns why the lines from the first to the last number of the old file change, "" for nothing."""


def display_path(path: str, root: str) -> str:
    """Return *path* relative to *root* if it is below it."""
    top = root.rstrip("/") + "/"
    return path[len(top) :] if root and path.startswith(top) else path


def no_heading(_first: int, _last: int) -> str:
    """Return no reason."""
    return ""


def unified_diff(
    path: str, old_bytes: bytes, new_bytes: bytes, line_map: OldLines, heading: Heading = no_heading
) -> bytes:
    """Return the diff with git's names of the two sides; patch(1) accepts it, and bytes are unchanged.

    What *heading* returns stands where diff(1) has the name of a function.
    """
    before = lines_of(old_bytes)
    after = lines_of(new_bytes)
    old_name, new_name = (_quoted(prefix + to_bytes(path.lstrip("/"))) for prefix in (b"a/", b"b/"))
    out = [
        b"diff --git " + old_name + b" " + new_name + b"\n",
        b"--- " + old_name + b"\n",
        b"+++ " + new_name + b"\n",
    ]
    for hunk in _hunks(changes(before, after, line_map)):
        out += _hunk(hunk, before, after, heading)
    return b"".join(out)


def _quoted(name: bytes) -> bytes:
    """Return a name as git writes it: with quotes and escapes if it has control characters."""
    if _SPECIAL.search(name) is None:
        return name
    return b'"' + _SPECIAL.sub(lambda found: b"\\%03o" % ord(found[0]), name) + b'"'


def line_starts(data: bytes) -> list[int]:
    """Return the offsets at which the lines of *data* begin."""
    return [0, *(found.end() for found in re.finditer(rb"\n", data))]


def changed_lines(
    old: bytes, edits: Iterable[Edit], starts: list[int]
) -> tuple[tuple[tuple[int, str], ...], tuple[str, ...]]:
    """Return the lines of *old* that *edits* remove, with their numbers, and those that they add, without
    indentation; *starts* are its `line_starts`.
    """
    removed: list[tuple[int, str]] = []
    added: list[str] = []
    for group in _regions(old, sorted(edits, key=lambda edit: (edit.start, edit.end, edit.rank))):
        start = old.rfind(b"\n", 0, group[0].start) + 1
        end = old.find(b"\n", max(edit.end for edit in group))
        end = len(old) if end < 0 else end
        before = [line.strip() for line in old[start:end].split(b"\n")]
        after = [line.strip() for line in _applied(old, group, start, end).split(b"\n")]
        first = bisect_right(starts, start)
        for kind, a1, a2, c1, c2 in _opcodes(tuple(before), tuple(after)):
            if kind != "equal":
                added += [line.decode("latin-1") for line in after[c1:c2] if line]
                removed += [(first + at, before[at].decode("latin-1")) for at in range(a1, a2) if before[at]]
    return tuple(removed), tuple(added)


@lru_cache(maxsize=1024)
def _opcodes(before: tuple[bytes, ...], after: tuple[bytes, ...]) -> Sequence[tuple[str, int, int, int, int]]:
    """Return the operations from *before* to *after*; hosts repeat their lines, and so their changes."""
    return SequenceMatcher(None, before, after, autojunk=False).get_opcodes()


def _regions(old: bytes, edits: list[Edit]) -> Iterator[list[Edit]]:
    """Yield groups of edits that share a line."""
    group: list[Edit] = []
    for edit in edits:
        if group and b"\n" in old[group[-1].end : edit.start]:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _applied(old: bytes, edits: list[Edit], start: int, end: int) -> bytes:
    """Return the bytes from *start* to *end* with the edits, which are disjoint and in order."""
    pieces = []
    for edit in edits:
        pieces += [old[start : edit.start], edit.text]
        start = edit.end
    return b"".join([*pieces, old[start:end]])


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines of *data* with their ends."""
    lines = data.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def changes(before: list[bytes], after: list[bytes], line_map: OldLines) -> Iterator[Change]:
    """Yield the ranges between unchanged lines; *before* and *after* are `lines_of` the texts."""
    a = 0
    c = 0
    for new, line in enumerate([*after, None]):
        old = len(before) if line is None else line_map.unchanged_from(new + 1) - 1
        if old < a or (line is not None and (old >= len(before) or before[old] != line)):
            continue
        if old > a or new > c:
            yield from _refined(before, after, (a, old, c, new))
        a = old + 1
        c = new + 1


def _refined(before: list[bytes], after: list[bytes], change: Change) -> Iterator[Change]:
    a, b, c, d = change
    if max(b - a, d - c) > MAX_REFINED_LINES or a == b or c == d:
        yield change
        return
    for kind, a1, a2, c1, c2 in SequenceMatcher(None, before[a:b], after[c:d], autojunk=False).get_opcodes():
        if kind != "equal":
            yield a + a1, a + a2, c + c1, c + c2


def _hunks(changes: Iterator[Change]) -> Iterator[list[Change]]:
    """Yield groups of changes that share their context."""
    hunk: list[Change] = []
    for change in changes:
        if hunk and change[0] - hunk[-1][1] > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _hunk(changes: list[Change], before: list[bytes], after: list[bytes], heading: Heading) -> list[bytes]:
    first = changes[0]
    last = changes[-1]
    lead = min(CONTEXT, first[0])
    tail = min(CONTEXT, len(before) - last[1])
    a = first[0] - lead
    b = last[1] + tail
    c = first[2] - lead
    d = last[3] + tail
    head = f"@@ -{_span(a, b)} +{_span(c, d)} @@ {heading(a + 1, max(b, a + 1))}"
    out = [head.rstrip().encode("utf-8", "surrogateescape") + b"\n"]
    at = a
    for start, end, new_start, new_end in changes:
        out += [_marked(b" ", line) for line in before[at:start]]
        out += [_marked(b"-", line) for line in before[start:end]]
        out += [_marked(b"+", line) for line in after[new_start:new_end]]
        at = end
    return out + [_marked(b" ", line) for line in before[at:b]]


def _span(start: int, end: int) -> str:
    count = end - start
    return f"{start + 1 if count else start},{count}" if count != 1 else str(start + 1)


def _marked(mark: bytes, line: bytes) -> bytes:
    return mark + line if line.endswith(b"\n") else mark + line + b"\n\\ No newline at end of file\n"
