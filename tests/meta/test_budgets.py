"""Sizes of files and functions, and lengths of lines."""

from __future__ import annotations

from statistics import median

from tests.meta.tree import assert_none, functions, length, sources, statements

MEDIAN_FILE = 130
NINE_TENTHS = 350
LARGEST_FILE = 700
MEDIAN_FUNCTION = 8
MOST_STATEMENTS = 60


def test_median_file() -> None:
    assert median(s.lines for s in sources("src")) <= MEDIAN_FILE


def test_nine_files_of_ten_are_small() -> None:
    large = [f"{s.name}: {s.lines}" for s in sources("src") if s.lines >= NINE_TENTHS]
    assert len(large) <= len(sources("src")) / 10, large


def test_no_file_is_huge() -> None:
    huge = [
        f"{s.name}: {s.lines}"
        for directory in ("src", "tests", "bench")
        for s in sources(directory)
        if s.lines > LARGEST_FILE
    ]
    assert_none(huge)


def test_median_function() -> None:
    assert median(length(f) for s in sources("src") for f in functions(s.tree)) <= MEDIAN_FUNCTION


def test_no_function_is_huge() -> None:
    huge = [
        f"{s.name}:{f.lineno} {f.name}: {statements(f)}"
        for s in sources("src")
        for f in functions(s.tree)
        if statements(f) > MOST_STATEMENTS
    ]
    assert_none(huge)
