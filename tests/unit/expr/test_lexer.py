"""The scanner: longest match, and the parts of a string."""

from __future__ import annotations

import pytest

from whimbrel.expr.api import compile_condition
from whimbrel.expr.errors import ExprError
from whimbrel.expr.lexer import Lexer, Token


def tokens(text: str, *, string: bool = False) -> list[Token]:
    lexer, out = Lexer(text, string=string), []
    while not out or out[-1][0] not in ("$end", "T_ERROR"):
        out.append(lexer.next())
    return out[1:-1]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1-1", ["T_DIGIT", "T_DIGIT"]),
        ("-a-ab", ["T_OP_UNARY", "T_OP_BINARY"]),
        ("-eq -eqx eq eqx", ["T_OP_EQ", "T_OP_BINARY", "T_OP_EQ", "T_ID"]),
        ("m_ a_", ["T_REGEX"]),
        ("m_a", ["T_ID"]),
        ("/a/i&&/b/x", ["T_REGEX_I", "T_OP_AND", "T_REGEX", "T_ID"]),
        ("!== !~", ["T_OP_STR_NE", "T_OP_STR_EQ", "T_OP_NRE"]),
        (
            "%{A:b%{C}}",
            ["T_VAR_BEGIN", "T_ID", "':'", "T_STRING", "T_VAR_BEGIN", "T_ID", "T_VAR_END", "T_VAR_END"],
        ),
    ],
)
def test_names(text: str, names: list[str]) -> None:
    assert [name for name, _ in tokens(text)] == names


def test_quotes_of_the_other_kind_are_text() -> None:
    assert tokens("'a\"b'") == [("T_STR_BEGIN", "'"), ("T_STRING", 'a"b'), ("T_STR_END", "'")]


def test_a_whole_string_keeps_both_quotes_and_braces() -> None:
    assert tokens("'a\"}$1%", string=True) == [
        ("T_STRING", "'a\"}"),
        ("T_REGEX_BACKREF", "1"),
        ("T_STRING", "%"),
    ]


def test_a_null_ends_a_text() -> None:
    assert tokens(r"'a\000b'")[1] == ("T_STRING", "a")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("'a", "Unterminated string or variable"),
        ("%{A-}", "Invalid character in variable name '-'"),
        (r"'\400'", "Escape sequence out of bound"),
        (r"'\18'", "Bad escape sequence"),
    ],
)
def test_problems(text: str, problem: str) -> None:
    lexer = Lexer(text, string=False)
    while lexer.next()[0] != "T_ERROR":
        pass
    assert lexer.problem == problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("'{}' == 'b'", "String too long"),
        ("'x' == '{}%{{REQUEST_URI}}'", "String too long"),
        (
            "'x' =~ /{}/",
            "syntax error, unexpected T_ERROR, expecting T_REGEX or T_REGEX_I: Regexp too long",
        ),
    ],
)
def test_a_string_has_8191_bytes_at_most(text: str, problem: str) -> None:
    """Messages of apache2 2.4.71."""
    compile_condition(text.format("a" * 8191))
    with pytest.raises(ExprError) as refused:
        compile_condition(text.format("a" * 8192))
    assert refused.value.reason == problem
