"""Lexer of expressions.  Token names are httpd's own, since its messages contain them.

A token is (name, text).  For unreadable text it returns T_ERROR as httpd's scanner does, and sets a message
that the parser appends to its own.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

from whimbrel.expr.evaluation import MAX_STRING

Token = tuple[str, str]

END: Final = "$end"
ERROR: Final = "T_ERROR"
UNTERMINATED: Final = "Unterminated string or variable"


class _State(Enum):
    """State: outside strings, in a string, in the name of a ``%{}``, in its argument."""

    PLAIN = auto()
    STRING = auto()
    NAME = auto()
    ARGUMENT = auto()


_OPERATORS: Final = {
    "=": "T_OP_STR_EQ",
    "==": "T_OP_STR_EQ",
    "!=": "T_OP_STR_NE",
    "<": "T_OP_STR_LT",
    "<=": "T_OP_STR_LE",
    ">": "T_OP_STR_GT",
    ">=": "T_OP_STR_GE",
    "=~": "T_OP_REG",
    "!~": "T_OP_NRE",
    "&&": "T_OP_AND",
    "||": "T_OP_OR",
    "!": "T_OP_NOT",
    ".": "T_OP_CONCAT",
}
# Keywords are case-sensitive: TRUE is the name of a function.
_WORDS: Final = {
    "true": "T_TRUE",
    "false": "T_FALSE",
    "and": "T_OP_AND",
    "or": "T_OP_OR",
    "not": "T_OP_NOT",
    **{
        dash + name: f"T_OP_{name.upper()}"
        for name in ("eq", "ne", "lt", "le", "gt", "ge", "in")
        for dash in ("", "-")
    },
}
_PLAIN = re.compile(
    r"""(?P<space>[ \t\n]+)|(?P<quote>["'])|(?P<variable>%\{)|\$(?P<group>[0-9])|"""
    r"""/|m(?P<delimiter>[/\#$%^|?!'",;:.\-]|_(?![A-Za-z0-9_]))|"""
    r"""(?P<operator>[=!]~|==|!=|<=|>=|&&|\|\||[=<>!.])|(?P<single>[(){},:])|(?P<digits>-?[0-9]+)|"""
    r"""(?P<binary>-[A-Za-z_][A-Za-z0-9_]+)|(?P<unary>-[A-Za-z_])|(?P<word>[A-Za-z][A-Za-z0-9_]*)""",
    re.VERBOSE,
)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_PIECE = re.compile(
    r"""\\(?P<octal>[0-7]{1,3})(?![0-9])|\\(?P<digits>[0-9]+)|\\(?P<escaped>[^0-9])|"""
    r"""(?P<variable>%\{)|\$(?P<group>[0-9])|"""
    r"""(?P<text>[^\\"'%$}\n]+|[%$])""",
    re.DOTALL,
)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


class Lexer:
    """Lexer of *text*, a string (*string*) or a condition; *problem*: httpd's last message, or ""."""

    def __init__(self, text: str, *, string: bool) -> None:
        self.text = text
        self.problem = ""
        self._at = 0
        self._stack = [_State.STRING if string else _State.PLAIN]
        self._quote = ""  # the closing delimiter of the string; "" if the whole text is one
        self._started = False
        self._string = string

    def next(self) -> Token:
        """Return the next token."""
        if not self._started:
            self._started = True
            return ("T_EXPR_STRING" if self._string else "T_EXPR_BOOL", "")
        state = self._stack[-1]
        if state is _State.PLAIN:
            return self._plain()
        if state is _State.NAME:
            return self._name()
        return self._piece(state)

    def _failed(self, problem: str) -> Token:
        self.problem = problem
        return (ERROR, "")

    def _plain(self) -> Token:
        while True:
            match = _PLAIN.match(self.text, self._at)
            if match is None or match.lastgroup != "space":
                break
            self._at = match.end()
        if match is None:
            return (
                self._failed(f"Parse error near '{self.text[self._at]}'")
                if self._at < len(self.text)
                else (END, "")
            )
        self._at = match.end()
        kind = match.lastgroup
        text = match[0]
        if kind is None or kind == "delimiter":
            return self._regex(text[-1])
        return self._token(kind, text, match)

    def _token(self, kind: str, text: str, match: re.Match[str]) -> Token:
        if kind == "quote":
            self._stack[-1] = _State.STRING
            self._quote = text
            return ("T_STR_BEGIN", text)
        if kind == "variable":
            self._stack.append(_State.NAME)
            return ("T_VAR_BEGIN", text)
        if kind == "group":
            return ("T_REGEX_BACKREF", match["group"])
        if kind == "operator":
            return (_OPERATORS[text], text)
        if kind == "single":
            return (f"'{text}'", text)
        if kind == "digits":
            return ("T_DIGIT", text)
        if kind == "unary":
            return ("T_OP_UNARY", text[1:])
        named = _WORDS.get(text)
        if named is not None:
            return (named, text)
        return ("T_ID", text) if kind == "word" else ("T_OP_BINARY", text[1:])

    def _regex(self, delimiter: str) -> Token:
        """Return the text up to *delimiter*, which cannot be escaped; without one, the rest of the text."""
        end = self.text.find(delimiter, self._at)
        if (len(self.text) if end < 0 else end) - self._at > MAX_STRING:
            return self._failed("Regexp too long")
        if end < 0:
            self._at = len(self.text)
            return (END, "")
        pattern = self.text[self._at : end]
        self._at = end + 1
        if self.text[self._at : self._at + 1] == "i":
            self._at += 1
            return ("T_REGEX_I", pattern)
        return ("T_REGEX", pattern)

    def _name(self) -> Token:
        c = self.text[self._at : self._at + 1]
        if not c or c == "\n":
            return self._failed(UNTERMINATED)
        match = _NAME.match(self.text, self._at)
        if match is not None:
            self._at = match.end()
            return ("T_ID", match[0])
        self._at += 1
        if c == "}":
            self._stack.pop()
            return ("T_VAR_END", c)
        if c == ":":
            self._stack[-1] = _State.ARGUMENT
            return ("':'", c)
        return self._failed(f"Invalid character in variable name '{c}'")

    def _piece(self, state: _State) -> Token:
        """Return the text up to a delimiter or a substitution, or the substitution itself."""
        out: list[str] = []
        length = 0
        while True:
            length += len(out[-1]) if out else 0
            if length > MAX_STRING:
                return self._failed("String too long")
            match = _PIECE.match(self.text, self._at)
            if match is None:
                c = self.text[self._at : self._at + 1]
                if state is _State.ARGUMENT or c in ("", "\\", "\n") or c == self._quote:
                    return self._edge(state, c, out)
                self._at += 1
                out.append(c)
                continue
            kind = match.lastgroup
            if kind in ("variable", "group") and out:
                return _string(out)
            self._at = match.end()
            if kind == "variable":
                self._stack.append(_State.NAME)
                return ("T_VAR_BEGIN", match[0])
            if kind == "group":
                return ("T_REGEX_BACKREF", match["group"])
            if kind == "digits" or (kind == "octal" and int(match["octal"], 8) > 0xFF):
                return self._failed(
                    "Bad escape sequence" if kind == "digits" else "Escape sequence out of bound"
                )
            if kind == "octal":
                out.append(chr(int(match["octal"], 8)))
            else:
                out.append(
                    _ESCAPES.get(match["escaped"], match["escaped"]) if kind == "escaped" else match[0]
                )

    def _edge(self, state: _State, c: str, out: list[str]) -> Token:
        """Return the token that ends a string or argument (*c*, "" at the end), after pending text."""
        if c == "" and state is _State.STRING and not self._quote:
            return _string(out) if out else (END, "")
        if c in ("", "\\", "\n"):
            return self._failed(UNTERMINATED)
        if c != ("}" if state is _State.ARGUMENT else self._quote):
            return self._failed(f"Parse error near '{c}'")
        if out:
            return _string(out)
        self._at += 1
        if c == "}":
            self._stack.pop()
            return ("T_VAR_END", c)
        self._stack[-1] = _State.PLAIN
        self._quote = ""
        return ("T_STR_END", c)


def _string(pieces: list[str]) -> Token:
    """Join the pieces to one token; a NUL ends it, as in C."""
    return ("T_STRING", "".join(pieces).partition("\0")[0])
