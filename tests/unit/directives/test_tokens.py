"""Words and ``${NAME}``.  Expected values: what 2.4.71 and 2.2.34 echo ("Illegal option WORD", "Could not
parse expression").
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.directives.tokens import expand, getword, undefined_warning, variables, words
from whimbrel.syntax.words import getword_braced


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  ", []),
        ("a  b\tc ", ["a", "b", "c"]),
        ('"a b"c "d"', ["a b", "c", "d"]),
        ('"" b ""', ["", "b", ""]),
        ('"" """\\\\x" ', ["", "", "\\x"]),
        ("\\'{\"\" >b\\\\\\'", ['\\\'{""', ">b\\\\'"]),
        ("a\xa0b\x1cc d", ["a\xa0b\x1cc", "d"]),
        ("'a", ["a"]),
    ],
)
def test_all_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text(st.sampled_from("ab \t\"'\\{}\xa0"), max_size=20))
def test_words_are_getword_again_and_again(text: str) -> None:
    found, rest = [], text.lstrip(" \t")
    while rest:
        word, rest = getword(rest)
        found.append(word)
    assert words(text) == found


@given(
    st.lists(st.text(st.characters(max_codepoint=255, exclude_characters="\0\n"), max_size=8), max_size=5),
    st.sampled_from("\"'"),
)
def test_quoting_keeps_any_words(wanted: list[str], quote: str) -> None:
    quoted = [quote + word.replace("\\", "\\\\").replace(quote, "\\" + quote) + quote for word in wanted]
    assert words(" ".join(quoted)) == wanted


@pytest.mark.parametrize(
    ("text", "word", "rest"),
    [
        ("{Q}", "Q", ""),
        ("{a {b} Q c} d", "a {b} Q c", "d"),
        ("{a\\}b Q} c", "a\\", "b Q} c"),
        ("{a\\\\}b Q} c", "a\\", "b Q} c"),
        ("{a\\{b Q} c} d", "a\\{b Q} c", "d"),
        ("{unbal Q", "unbal Q", ""),
        (" { a\\b Q } tail", " a\\b Q ", "tail"),
        ("{true}x", "true", "x"),
        ("'q {Q} r' s", "q {Q} r", "s"),
        ("bare{Q x}", "bare{Q", "x}"),
        ('{"a\\"}" Q}', '"a\\"', '" Q}'),
        ("", "", ""),
    ],
)
def test_words_in_braces(text: str, word: str, rest: str) -> None:
    assert getword_braced(text) == (word, rest)


LOOKUP = variables(
    {"x": "val", "sp": "a b", "deep": "${X}"}, {"LANG": "C", "X": "from the environment", "EMPTY": ""}
)


@pytest.mark.parametrize(
    ("text", "expected", "unknown"),
    [
        ("Options a${X}b", "Options avalb", []),
        ("${X}${x}", "valval", []),
        ("${SP}", "a b", []),
        ("'${X}'", "'val'", []),
        ("\\${X}", "\\val", []),
        ("$${X}", "$val", []),
        ("${X", "${X", []),
        ("$X", "$X", []),
        ("a$", "a$", []),
        ("$ {X}", "$ {X}", []),
        ("${X}}", "val}", []),
        ("${}", "${}", [""]),
        ("${ X}", "${ X}", [" X"]),
        ("${${X}}", "${${X}}", ["${X"]),
        ("${deep}", "${X}", []),
        ("${LANG}$", "C$", []),
        ("${lang}", "${lang}", ["lang"]),
        ("${EMPTY}|", "|", []),
        ("${X:y}", "${X:y}", []),
        ("${U1} ${U2} ${U1}", "${U1} ${U2} ${U1}", ["U1", "U2", "U1"]),
        ("%{X}", "%{X}", []),
    ],
)
def test_variables(text: str, expected: str, unknown: list[str]) -> None:
    reported: list[str] = []
    assert expand(text, LOOKUP, reported.append) == expected
    assert reported == unknown


def test_22_reports_nothing() -> None:
    assert expand("${U1}", LOOKUP) == "${U1}"


def test_the_warning() -> None:
    assert undefined_warning("U1") == "AH00111: Config variable ${U1} is not defined"
