"""Conditions of <If> hold for the names that the sections match, as `base` and httpd match them."""

from __future__ import annotations

import random
from typing import Final

import pytest
from tests.unit.expr.stand_in import StandIn, record

from whimbrel.access.file_conditions import (
    covers_outer,
    file_condition,
    is_file_condition,
    name_patterns,
    quoted,
)
from whimbrel.access.sections import RequestSection
from whimbrel.base.regex import compile_regex
from whimbrel.config.model import SectionKind
from whimbrel.expr.api import compile_condition
from whimbrel.syntax.words import getword

FILES, MATCH = SectionKind.FILES, SectionKind.FILES_MATCH
NAMES: Final = (
    "n.html",
    "n.html\n",
    "a.html",
    "N.HTML",
    "index.html",
    "x",
    "a-b.txt",
    "n.htmlx",
    "]",
    "",
    "b#c",
)
GLOBS: Final = (
    "a",
    "n",
    "*",
    "*",
    "*",
    "?",
    ".",
    "html",
    "[an]",
    "[!a]",
    "[^n]",
    "[a-n]",
    "]",
    "[",
    "-",
    "^",
)
EXPRESSIONS: Final = (
    "^",
    "$",
    "n",
    "a",
    r"\.",
    "html",
    "(x|n)",
    "[^a]",
    ".*",
    "(?<!a)",
    r"\b",
    "#",
    ",",
    '"',
    "|",
)


def section(kind: SectionKind, pattern: str, outer: RequestSection | None = None) -> RequestSection:
    """A section as `find_sections` makes it."""
    if kind is MATCH:
        return RequestSection(kind, pattern, compile_regex(pattern), outer=outer)
    return RequestSection(kind, pattern, fnmatch=any(c in pattern for c in "*?["), outer=outer)


def holds(condition: str, path: str) -> bool:
    return compile_condition(condition)(StandIn(record(filename=path)))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [FILES, MATCH])
def test_random_patterns_match_the_same_names(kind: SectionKind) -> None:
    chance = random.Random(7)
    written = 0
    differing = 0
    for _ in range(600):
        parts = GLOBS if kind is FILES else EXPRESSIONS
        pattern = "".join(chance.choice(parts) for _ in range(chance.randint(1, 6)))
        one = section(kind, pattern)
        condition = file_condition([one])
        if condition is None:
            continue
        written += 1
        assert is_file_condition(condition)
        wanted = [one.matches(name) for name in NAMES]
        assert [holds(condition, f"/site/a.html/{name}") for name in NAMES] == wanted, pattern
        differing += len(set(wanted)) == 2
    assert written > 300 and differing > 40


def test_all_sections_of_a_condition_have_to_match() -> None:
    both = file_condition([section(FILES, "*.html"), section(MATCH, "^n")])
    assert both is not None and is_file_condition(both)
    assert [holds(both, f"/a/{name}") for name in ("n.html", "a.html", "n.txt")] == [True, False, False]


def test_a_directory_around_a_section_is_part_of_the_condition() -> None:
    directory = RequestSection(SectionKind.DIRECTORY, "/site/v1.0/in/")
    one = section(FILES, "x.html", directory)
    condition = file_condition([one])
    assert condition is not None and is_file_condition(condition) and covers_outer(one)
    paths = ("/site/v1.0/in/x.html", "/site/v1.0/in/deep/x.html", "/site/v1a0/in/x.html", "/site/v1.0/x.html")
    assert [holds(condition, path) for path in paths] == [True, True, False, False]
    assert not covers_outer(section(FILES, "x.html", RequestSection(SectionKind.DIRECTORY_MATCH, "/in")))


def test_a_directory_is_a_condition_for_itself_and_all_below_it() -> None:
    """httpd reads the .htaccess file of a directory for a request without the slash too."""
    alone = file_condition([], "/site/v1.0/")
    with_files = file_condition([section(FILES, "x.html")], "/site/v1.0/")
    assert alone is not None and is_file_condition(alone)
    assert with_files is not None and is_file_condition(with_files)
    assert name_patterns(alone) == frozenset() and name_patterns(with_files) == {"x.html"}
    assert name_patterns("%{REQUEST_URI} == '/x.html'") is None
    paths = ("/site/v1.0", "/site/v1.0/", "/site/v1.0/a/x.html", "/site/v1.0.1/x.html", "/site/v1a0/x.html")
    assert [holds(alone, path) for path in paths] == [True, True, True, False, False]
    assert [holds(with_files, path) for path in paths] == [False, False, True, False, False]


def test_a_directory_that_an_expression_may_read_otherwise_has_no_condition() -> None:
    assert [file_condition([], path) for path in ("/", "/a#b/", "/100%{x}/", "", "a/")] == [None] * 5


def test_a_proxied_request_has_no_file() -> None:
    """mod_proxy makes the path proxy:URL, and httpd skips the <Files> sections."""
    condition = file_condition([section(FILES, "x.html")])
    assert condition is not None
    assert not holds(condition, "proxy:http://127.0.0.1/x.html")


@pytest.mark.parametrize(
    "one",
    [
        section(FILES, "it's.html"),
        section(FILES, "a\\*b"),
        section(FILES, "100%{x}"),
        section(FILES, "\xe4.html"),
        section(FILES, ""),
        section(MATCH, "#,;!%_"),
        section(MATCH, "${NAME}"),
        section(SectionKind.LOCATION, "/a"),
        RequestSection(MATCH, "(", is_malformed=True),
    ],
)
def test_patterns_that_an_expression_may_read_otherwise_have_none(one: RequestSection) -> None:
    assert file_condition([one]) is None
    assert file_condition([section(FILES, "x"), one]) is None


def test_no_section_is_no_condition() -> None:
    assert file_condition([]) is None


@pytest.mark.parametrize(
    "condition",
    [
        "%{REQUEST_FILENAME} =~ m#^/(?:[^/]*/)*([^/]*)$# && $1 == '%{REMOTE_USER}'",
        "%{REQUEST_FILENAME} =~ m#^/(?:[^/]*/)*([^/]*)$# && $1 =~ m#a# || -n %{REMOTE_USER}",
        "%{REQUEST_FILENAME} =~ m#^/(?:[^/]*/)*([^/]*)$# && $1 =~ m#a# && %{REMOTE_USER} =~ m#b#",
        "%{REQUEST_FILENAME} =~ m#^/# || %{REMOTE_USER} =~ m#(?:[^/]*/)*([^/]*)$# && $1 == 'a'",
        "%{REQUEST_URI} =~ m#^/(?:[^/]*/)*([^/]*)$# && $1 == 'a'",
        "true",
        "",
    ],
)
def test_other_conditions_may_ask_for_more_than_the_file(condition: str) -> None:
    assert not is_file_condition(condition)


def test_quoted_text_is_read_back() -> None:
    chance = random.Random(3)
    for _ in range(2000):
        text = "".join(chance.choice("\\\"a. $'") for _ in range(chance.randint(1, 9)))
        word = quoted(text)
        assert getword(word) == (text, len(word)), text
