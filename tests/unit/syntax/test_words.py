"""One argument of a line.  Expected values are those that 2.4.71 and 2.2.34 print in "Illegal
option WORD".
"""

from __future__ import annotations

import pytest

from whimbrel.syntax.words import getword, skip_blanks, tokenize_argv, unescaped


@pytest.mark.parametrize(
    ("text", "word", "rest"),
    [
        ("a", "a", ""),
        ("  a  b ", "a", "b "),
        ('"a b" c', "a b", "c"),
        ("'a \"b' c", 'a "b', "c"),
        ('"a"b', "a", "b"),  # glued text is the next word
        ('a"b c"', 'a"b', 'c"'),  # a quote opens only at the beginning
        ('"a\\"b" c', 'a"b', "c"),
        ("'a\\\"b' c", 'a\\"b', "c"),  # the other quote needs no hiding
        ('"a\\\\" b', "a\\", "b"),
        ('"a\\nb"', "a\\nb", ""),
        ("a\\\\b", "a\\b", ""),
        ("a\\ b", "a\\", "b"),  # a backslash hides no blank
        ('"a b', "a b", ""),  # no partner: to the end
        ('"a\\', "a\\", ""),
        ('"', "", ""),
        ('"" b', "", "b"),
        ("", "", ""),
        ("a\xa0b\x85c d", "a\xa0b\x85c", "d"),  # only ASCII has white space
        ("a\x1cb", "a\x1cb", ""),
        ("a\x0bb", "a", "b"),
        ("a\x0cb", "a", "b"),
    ],
)
def test_a_word_and_the_rest(text: str, word: str, rest: str) -> None:
    found, at = getword(text)
    assert (found, text[at:]) == (word, rest)


def test_words_can_be_read_from_a_position() -> None:
    assert getword('a "b c" d', 1) == ("b c", 8)


def test_a_backslash_reduces_only_pairs_and_its_own_quote() -> None:
    assert unescaped('\\\\\\"', '"') == '\\"'
    assert unescaped('\\"', "") == '\\"'


def test_blanks_end_at_the_first_visible_character() -> None:
    assert skip_blanks(" \t\r\x0b\x0cx") == 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/bin/sed -e 's/words/WORDS/'", ["/bin/sed", "-e", "s/words/WORDS/"]),
        (r'a\ b	"c d\" e" f', ["a b", 'c d" e', "f"]),
        (r"s/a'b/ a\\b", ["s/a'b/", "a\\b"]),
        ("'' x", ["", "x"]),
        ("  ", []),
    ],
)
def test_command_lines(text: str, words: list[str]) -> None:
    assert tokenize_argv(text.replace(r"\t", "\t")) == words
