"""SSLRequire: conditions of 2.4, and the language of 2.2.

In both, a shorter text is less than a longer one.  2.2 (ssl_expr_parse.y): ``true``, ``false``, ``!``, ``&&``
(and), ``||`` (or), comparisons of words, ``in {...}``, ``=~`` and ``!~`` with ``m/.../i``, ``file("...")``.
Every variable is known there, and an unknown one is empty.  Manual: mod/mod_ssl.html#sslrequire.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.file_reading import read_start
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.numbers import by_length, lower
from whimbrel.base.regex import Regex, RegexError
from whimbrel.directives.command import Command
from whimbrel.engine.expressions import evaluate
from whimbrel.engine.request import Request
from whimbrel.expr.api import compile_condition
from whimbrel.expr.errors import EvalError, ExprError

Test = Callable[["Request"], bool]
Word = Callable[["Request"], str]
_MAX_DEPTH: Final = 200  # of parentheses and negations, where httpd's parser has a limit too
_MAX_FILE: Final = 64 * 1024
_TOKEN: Final = re.compile(
    r"""[ \t\n\r]*(?:
    (?P<string>"(?:[^"\\\n]|\\.)*")
    |m(?P<delimiter>[^A-Za-z0-9_ \t\n\r\v\f])(?P<regex>(?:(?!(?P=delimiter))[^\\]|\\.)*)
     (?P=delimiter)(?P<flag>i?)
    |/(?P<plain>(?:[^/\\]|\\.)*)/(?P<plain_flag>i?)
    |%\{(?P<variable>[a-zA-Z][a-zA-Z0-9_:-]*)\}
    |(?P<digits>[0-9]+)
    |(?P<operator>==|!=|<=|>=|=~|!~|&&|\|\||[<>!(){},])
    |(?P<name>[a-zA-Z][a-zA-Z0-9_]*)
    |(?P<end>$)
    )""",
    re.VERBOSE | re.DOTALL,
)
_KINDS: Final = ("string", "variable", "digits", "operator", "name", "end")
_OPERATORS: Final = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "&&",
    "or": "||",
    "not": "!",
}
_COMPARE: Final[dict[str, Callable[[int], bool]]] = {
    "==": lambda order: order == 0,
    "!=": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


def compiled(cmd: Command, text: str) -> Test:
    """Return the function of one SSLRequire line; raises ConfigError."""
    if cmd.dialect.requirements_22:
        return _Parser(cmd, text).parse()
    try:
        condition = compile_condition(
            text,
            restricted=cmd.in_htaccess,
            by_length=True,
            lookup=cmd.provider,
            place=f"{cmd.place.path}:{cmd.place.line}",
        )
    except ExprError as problem:
        raise ConfigError(f"SSLRequire: {problem.reason}") from None
    return lambda r: evaluate(r, condition, "ssl")


class _Parser:
    """Parser of one condition of 2.2: *kind* and *value* are the present token."""

    def __init__(self, cmd: Command, text: str) -> None:
        self._cmd = cmd
        self._text = text
        self._at = 0
        self._depth = 0
        self._kind = ""
        self._value = ""
        self._next()

    def parse(self) -> Test:
        test = self._either()
        if self._kind != "end":
            self._refuse()
        return test

    def _refuse(self) -> None:
        raise ConfigError("SSLRequire: syntax error")

    def _next(self) -> None:
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            raise ConfigError("SSLRequire: syntax error")
        self._at = match.end()
        kind = next(
            (
                name
                for name in ("string", "variable", "digits", "operator", "name", "end")
                if match[name] is not None
            ),
            "regex",
        )
        self._value = match[kind] if kind != "regex" else ""
        self._kind = kind
        if kind == "regex":
            is_plain = match["plain"] is not None
            self._value = match["plain"] if is_plain else match["regex"]
            self._flag = bool(match["plain_flag"] if is_plain else match["flag"])
        elif kind == "name" and lower(self._value) in _OPERATORS:
            self._kind, self._value = "operator", _OPERATORS[lower(self._value)]

    def _take(self, operator: str) -> bool:
        if self._kind == "operator" and self._value == operator:
            self._next()
            return True
        return False

    def _expect(self, operator: str) -> None:
        if not self._take(operator):
            self._refuse()

    # conditions ---------------------------------------------------------------------------------
    def _either(self) -> Test:
        tests = [self._both()]
        while self._take("||"):
            tests.append(self._both())
        return tests[0] if len(tests) == 1 else lambda r: any(test(r) for test in tests)

    def _both(self) -> Test:
        tests = [self._negated()]
        while self._take("&&"):
            tests.append(self._negated())
        return tests[0] if len(tests) == 1 else lambda r: all(test(r) for test in tests)

    def _negated(self) -> Test:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self._refuse()
        if self._take("!"):
            inner = self._negated()
            self._depth -= 1
            return lambda r: not inner(r)
        if self._take("("):
            test = self._either()
            self._expect(")")
        elif self._kind == "name" and lower(self._value) in ("true", "false"):
            value = lower(self._value) == "true"
            self._next()
            test = lambda r: value  # noqa: E731
        else:
            test = self._comparison()
        self._depth -= 1
        return test

    def _comparison(self) -> Test:
        left = self._word()
        kind = self._kind
        operator = self._value
        if kind == "operator" and operator in _COMPARE:
            self._next()
            right = self._word()
            compare = _COMPARE[operator]
            return lambda r: compare(by_length(left(r), right(r)))
        if kind == "operator" and operator in ("=~", "!~"):
            self._next()
            search = self._regex().search
            negated = operator == "!~"
            return lambda r: (search(left(r)) is not None) is not negated
        if kind == "name" and lower(operator) == "in":
            self._next()
            self._expect("{")
            words = [self._word()]
            while self._take(","):
                words.append(self._word())
            self._expect("}")
            return lambda r: (value := left(r)) is not None and any(word(r) == value for word in words)
        self._refuse()
        raise AssertionError  # _refuse raises

    def _regex(self) -> Regex:
        if self._kind != "regex":
            self._refuse()
        try:
            regex = self._cmd.regex(self._value, ignore_case=self._flag)
        except RegexError:
            raise ConfigError("SSLRequire: Failed to compile regular expression") from None
        self._next()
        return regex

    # words --------------------------------------------------------------------------------------
    def _word(self) -> Word:
        kind = self._kind
        value = self._value
        if kind in ("digits", "string"):
            text = value if kind == "digits" else re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL)
            self._next()
            return lambda r: text
        if kind == "variable":
            self._next()
            return _variable(value)
        if kind == "name" and lower(value) == "file":
            self._next()
            self._expect("(")
            path = self._cmd.server_path(self._value[1:-1]) if self._kind == "string" else ""
            if not path:
                self._refuse()
            self._next()
            self._expect(")")
            return lambda r: _content(r, path)
        self._refuse()
        raise AssertionError  # _refuse raises


def _variable(name: str) -> Word:
    def value(r: Request) -> str:
        from whimbrel.modules.ssl.mod_ssl.variables import lookup

        return lookup(r, name)

    return value


def _content(r: Request, path: str) -> str:
    r.deps.stat(path)
    try:
        return to_text(read_start(to_bytes(path), _MAX_FILE))
    except OSError:
        raise EvalError(f"Cannot open file {path}") from None
