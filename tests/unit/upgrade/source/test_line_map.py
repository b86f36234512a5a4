"""Where the lines of an edited file come from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from whimbrel.syntax.edits import Edit, Group, apply
from whimbrel.upgrade.source.line_map import LineEdits, LineMap

TEXT = b"1\n2\n3\n4\n5\n"


def origins(*edits: Edit) -> tuple[list[int], list[int]]:
    """For each line of the result the line it was, and the line whose place it takes."""
    new = apply(TEXT, [Group(edits)])
    step = LineEdits(TEXT, edits)
    count = new.count(b"\n")
    return [step.unchanged_from(line + 1) for line in range(count)], [
        step.source_line(line + 1) for line in range(count)
    ]


def test_nothing_changes() -> None:
    assert origins() == ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5])


def test_a_word() -> None:
    assert origins(Edit(2, 3, b"two")) == ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5])


def test_a_line_goes() -> None:
    assert origins(Edit(2, 4, b"")) == ([1, 3, 4, 5], [1, 3, 4, 5])


def test_lines_come_in() -> None:
    assert origins(Edit(4, 4, b"a\nb\n")) == ([1, 2, 0, 0, 3, 4, 5], [1, 2, 3, 3, 3, 4, 5])


def test_a_line_comes_in_behind_lines_that_go() -> None:
    assert origins(Edit(0, 4, b""), Edit(4, 4, b"a\n")) == ([0, 3, 4, 5], [1, 3, 4, 5])


def test_lines_for_lines() -> None:
    assert origins(Edit(2, 6, b"a\nb\nc\n"), Edit(8, 10, b"e\n")) == ([1, 0, 0, 0, 4, 0], [1, 2, 3, 3, 4, 5])


def test_two_steps() -> None:
    trace = LineMap()
    trace.steps = [LineEdits(TEXT, [Edit(0, 2, b"")]), LineEdits(TEXT[2:], [Edit(0, 0, b"a\n")])]
    assert [trace.unchanged_from(line) for line in range(1, 6)] == [0, 2, 3, 4, 5]
    assert [trace.original_line(line) for line in range(1, 6)] == [2, 2, 3, 4, 5]


@given(st.lists(st.integers(0, 9), max_size=9), st.sets(st.integers(0, 8)))
def test_lines_that_stay_are_the_same(words: list[int], gone: set[int]) -> None:
    lines = [b"%d\n" % word for word in words]
    edits = [Edit(2 * at, 2 * at + 2, b"x\ny\n" if at % 2 else b"") for at in gone if at < len(lines)]
    new = apply(b"".join(lines), [Group(tuple(edits))]).split(b"\n")[:-1]
    step = LineEdits(b"".join(lines), edits)
    kept = [step.unchanged_from(number) for number in range(1, len(new) + 1)]
    assert [number for number in kept if number] == [at + 1 for at in range(len(lines)) if at not in gone]
    assert all(lines[number - 1] == line + b"\n" for number, line in zip(kept, new, strict=True) if number)
