"""Searches of PCRE: limits, groups, and all matches of one subject."""

from __future__ import annotations

import time
from itertools import count, islice
from unittest.mock import create_autospec

import pytest

from whimbrel.base import pcre, pcre_library
from whimbrel.base.pcre_library import load_library
from whimbrel.base.regex import MAX_COPIED, RegexError, compile_regex
from whimbrel.base.short_searches import LongSearch, ShortSearches

NESTED = "a" * 60 + "!"
LONG = "xy" * MAX_COPIED


def spans(pattern: str, subject: str) -> list[tuple[int, int, int]]:
    """Return start of the search, start and end of up to 50 matches."""
    found = islice(compile_regex(pattern).find_all(subject), 50)
    return [(at, match.start(), match.end()) for at, match in found]


@pytest.mark.parametrize(
    ("pattern", "subject"),
    [
        (r"^\x{41}$", "A"),
        (r"^\x{00042}$", "B"),
        (r"^b\x4$", "b\x04"),
        (r"^\xg$", "\0g"),
        (r"^[\x{41}-\x43]\x$", "B\0"),
        (r"^\Q\x{41}\E\\x$", "\\x{41}\\x"),
    ],
)
def test_escapes_are_those_of_httpd(pattern: str, subject: str) -> None:
    """As apache2 matches them in RedirectMatch."""
    assert compile_regex(pattern).search(subject)
    assert not compile_regex(pattern).search("x" * 41)


@pytest.mark.parametrize("pattern", [r"\u0041", r"\U", r"\x{141}", r"\x{}", r"\x{4g}"])
def test_escapes_that_do_not_compile(pattern: str) -> None:
    """As apache2 -t refuses them."""
    with pytest.raises(RegexError):
        compile_regex(pattern)


def test_a_search_beyond_the_limit_finds_nothing() -> None:
    assert compile_regex("(a+)+$").search(NESTED) is None


def test_short_searches_end_early() -> None:
    regex = compile_regex("(a+)+$")
    begin = time.process_time()
    with ShortSearches(), pytest.raises(LongSearch):
        regex.search(NESTED)
    assert time.process_time() - begin < 0.05
    with ShortSearches():
        assert regex.search("baa").groups() == ("aa",)


@pytest.mark.parametrize("length", [20, 100, 1000, 8000, 20_000])
@pytest.mark.parametrize("pattern", ["(a|b)+(c)?$", "^(?:a|b)+(d)?", r"(?=(b))\w", "(x)?(?:ab)+"])
def test_lengths_make_no_difference(pattern: str, length: int) -> None:
    """Compiled code with each of its limits, and the interpreter, find the same."""
    import pcre2

    subject = "ab" * (length // 2)
    match = compile_regex(pattern).search(subject)
    wanted = pcre2.compile(pattern.encode().replace(b"$", rb"\z"), pcre2.DOTALL, jit=False).search(
        subject.encode()
    )
    assert (match is None) == (wanted is None)
    if wanted is not None:
        groups = tuple(None if group is None else group.decode() for group in wanted.groups())
        assert (match.start(), match.end(), match.groups()) == (wanted.start(), wanted.end(), groups)


@pytest.mark.parametrize("pattern", ["^x", r"\bx", "y", "(?<=x)y", "x|$", "(?:xy)+", "q", "(x)(y)(z)?"])
def test_all_matches_of_a_long_subject(pattern: str) -> None:
    """Each search has a subject of its own: a copy of the rest of the text."""
    search, subject, at, wanted = compile_regex(pattern).search, LONG, 0, []
    while len(wanted) < 50 and (match := search(subject)) is not None:
        wanted.append((at, match.start(), match.end()))
        if not match.end():
            break
        subject, at = subject[match.end() :], at + match.end()
    assert spans(pattern, LONG) == wanted


def test_many_matches_take_linear_time() -> None:
    found = compile_regex(r"(x+)(?=y)").find_all("xy" * 50_000)
    begin = time.process_time()
    assert sum(1 for _match in found) == 50_000
    assert time.process_time() - begin < 5


@pytest.mark.skipif(load_library() is None, reason="the system has no libpcre2-8")
@pytest.mark.parametrize(
    ("pattern", "subject", "cannot"),
    [
        ("(x+)+y$", "x" * 60, True),
        ("(x+)+y$", "xY", False),
        ("(?i)(x+)+y", "XXY", False),
        ("(x+)+(?:y|z)", "x", False),
        ("ab(*ACCEPT)c", "ab", False),
        ("a(?=b)", "ab", False),
        ("(?:b)?a", "a", False),
    ],
)
def test_a_subject_without_a_required_byte_needs_no_search(pattern: str, subject: str, cannot: bool) -> None:
    """Such a byte is in each match, in one case or the other; PCRE has it from the pattern."""
    library = load_library()
    assert library is not None
    compiled = library.compile(pattern.encode(), 0)
    assert compiled.cannot_match(subject.encode()) is cannot
    assert not (cannot and compiled.search(subject.encode()))


@pytest.mark.skipif(load_library() is None, reason="the system has no libpcre2-8")
def test_a_line_without_a_required_byte_waits_for_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = create_autospec(pcre.search_beside_loop, side_effect=pcre.search_beside_loop)
    monkeypatch.setattr(pcre, "search_beside_loop", beside)
    pattern = compile_regex("(x+)+y$")
    assert list(pattern.find_all("a" * 400_000 + "x")) == []
    assert pattern.search("x" * 400_000) is None
    assert beside.call_count == 0
    assert [match.start() for _, match in pattern.find_all("a" * 400_000 + "xy")] == [400_000]
    assert beside.call_count > 0


@pytest.mark.skipif(load_library() is None, reason="the system has no libpcre2-8")
def test_a_thread_that_runs_late_finds_every_match(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock is a second after the last, as on a machine that runs other threads first."""
    clock = create_autospec(pcre_library.perf_counter, side_effect=count(step=1.0).__next__)
    monkeypatch.setattr(pcre_library, "perf_counter", clock)
    subject = "x" * MAX_COPIED + " y"
    found = [(at, match.start(), match.end()) for at, match in compile_regex(r"\w+").find_all(subject)]
    assert found == [(0, 0, MAX_COPIED), (MAX_COPIED, 1, 2)]
