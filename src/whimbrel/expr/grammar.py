"""The grammar of expressions as data: rules over httpd's own token names, which its messages contain.

Each rule names the method of `parser.Builder` that creates the tree; "" passes the only value on.
"""

from __future__ import annotations

from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GrammarRule:
    """A production of *name* from *parts*; *make* gets the values of the parts that *keep* counts."""

    name: str
    parts: tuple[str, ...]
    make: str
    keep: tuple[int, ...]


def _rule(name: str, parts: str, make: str = "", keep: tuple[int, ...] = (0,)) -> GrammarRule:
    return GrammarRule(
        name, tuple(f"'{part}'" if part in "(){},:" else part for part in parts.split()), make, keep
    )


_COMPARISONS: Final = tuple(
    f"T_OP_{kind}{op}" for kind in ("", "STR_") for op in ("EQ", "NE", "LT", "LE", "GT", "GE")
)

RULES: Final[tuple[GrammarRule, ...]] = (
    _rule("$accept", "root $end"),
    _rule("root", "T_EXPR_BOOL expr", keep=(1,)),
    _rule("root", "T_EXPR_STRING string", keep=(1,)),
    _rule("root", "T_ERROR", "fail"),
    _rule("expr", "T_TRUE", "true", ()),
    _rule("expr", "T_FALSE", "false", ()),
    _rule("expr", "T_OP_NOT expr", "negated", (1,)),
    _rule("expr", "expr T_OP_OR expr", "either", (0, 2)),
    _rule("expr", "expr T_OP_AND expr", "both", (0, 2)),
    _rule("expr", "comp"),
    _rule("expr", "T_OP_UNARY word", "unary", (0, 1)),
    _rule("expr", "word T_OP_BINARY word", "binary", (0, 1, 2)),
    _rule("expr", "( expr )", keep=(1,)),
    _rule("expr", "T_ERROR", "fail"),
    *(_rule("comp", f"word {token} word", f"compare {token}", (0, 2)) for token in _COMPARISONS),
    _rule("comp", "word T_OP_IN wordlist", "member", (0, 2)),
    _rule("comp", "word T_OP_REG regex", "match", (0, 2)),
    _rule("comp", "word T_OP_NRE regex", "mismatch", (0, 2)),
    _rule("wordlist", "T_ID ( word )", "list_call", (0, 2)),
    _rule("wordlist", "{ words }", keep=(1,)),
    _rule("words", "word", "one"),
    _rule("words", "words , word", "another", (0, 2)),
    _rule("string", "string strpart", "join", (0, 1)),
    _rule("string", "strpart"),
    _rule("string", "T_ERROR", "fail"),
    _rule("strpart", "T_STRING", "text"),
    _rule("strpart", "var"),
    _rule("strpart", "backref"),
    _rule("var", "T_VAR_BEGIN T_ID T_VAR_END", "variable", (1,)),
    _rule("var", "T_VAR_BEGIN T_ID : string T_VAR_END", "call", (1, 3)),
    _rule("word", "T_DIGIT", "digits"),
    _rule("word", "word T_OP_CONCAT word", "join", (0, 2)),
    _rule("word", "var"),
    _rule("word", "backref"),
    _rule("word", "T_ID ( word )", "call", (0, 2)),
    _rule("word", "T_STR_BEGIN string T_STR_END", keep=(1,)),
    _rule("word", "T_STR_BEGIN T_STR_END", "empty", ()),
    _rule("regex", "T_REGEX", "regex"),
    _rule("regex", "T_REGEX_I", "regex_ignoring_case"),
    _rule("backref", "T_REGEX_BACKREF", "backref"),
)

# Lowest first; operators of one level are right-associative.
PRECEDENCE: Final = (("T_OP_OR",), ("T_OP_AND",), ("T_OP_NOT",), ("T_OP_CONCAT",))

# The order in which messages list the expected tokens.
TOKENS: Final = (
    "$end",
    "T_TRUE",
    "T_FALSE",
    "T_ERROR",
    "T_DIGIT",
    "T_ID",
    "T_STRING",
    "T_REGEX",
    "T_REGEX_I",
    "T_REGEX_BACKREF",
    "T_OP_UNARY",
    "T_OP_BINARY",
    "T_STR_BEGIN",
    "T_STR_END",
    "T_VAR_BEGIN",
    "T_VAR_END",
    "T_OP_EQ",
    "T_OP_NE",
    "T_OP_LT",
    "T_OP_LE",
    "T_OP_GT",
    "T_OP_GE",
    "T_OP_REG",
    "T_OP_NRE",
    "T_OP_IN",
    "T_OP_STR_EQ",
    "T_OP_STR_NE",
    "T_OP_STR_LT",
    "T_OP_STR_LE",
    "T_OP_STR_GT",
    "T_OP_STR_GE",
    "T_OP_CONCAT",
    "T_OP_OR",
    "T_OP_AND",
    "T_OP_NOT",
    "T_EXPR_BOOL",
    "T_EXPR_STRING",
    "'('",
    "')'",
    "'{'",
    "'}'",
    "','",
    "':'",
)
