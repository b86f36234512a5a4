"""The expressions of 2.4 and those of SSI up to 2.2: ExprError, EvalError and SsiError alone.

The first byte selects where the expression stands.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from tests.fuzz import seeds as recorded
from tests.unit.expr.stand_in import StandIn, record
from whimbrel.base.regex import Match, Regex
from whimbrel.engine.coroutines import run_until_suspended
from whimbrel.expr.api import compile_condition, compile_string
from whimbrel.expr.errors import EvalError, ExprError
from whimbrel.expr.ssi import SsiCondition, SsiError

COVERED = (
    "expr/api.py",
    "expr/compiler.py",
    "expr/evaluation.py",
    "expr/functions.py",
    "expr/lalr.py",
    "expr/lexer.py",
    "expr/library.py",
    "expr/operators.py",
    "expr/parser.py",
    "expr/ssi.py",
    "expr/tree.py",
    "expr/variables.py",
)
TOKENS = (
    b"%{HTTP_HOST}",
    b"%{REQUEST_URI}",
    b"%{req:X}",
    b"-eq",
    b"-in {",
    b"=~ m#",
    b"!~ /",
    b"&&",
    b"||",
    b"!",
    b"(",
    b")",
    b"-strmatch",
    b"-fnmatch",
    b"-ipmatch",
    b"-n",
    b"-z",
    b"-T",
    b"-R",
    b"true",
    b"base64(",
    b"sha1(",
    b"$1",
    b"'",
    b'"',
    b"\\",
    b"%{TIME}",
    b"unescape(",
    b"tolower(",
    b"md5(",
    b"<=",
    b"-A",
    b"{'a', 'b'}",
    b"reqenv('A')",
    b"%{:",
    b"}",
)
_WRITTEN = re.compile(r'(?:expr="?|<(?:If|ElseIf) |--#(?:el)?if expr=)(.*)', re.I)


def seeds() -> Sequence[bytes]:
    texts = [
        match[1].rstrip('">').encode("latin-1", "replace")
        for case in recorded.cases("core-expr", "core-ssi")
        for match in _WRITTEN.finditer(case.conf)
    ]
    pages = [
        match[1].partition('"')[0].encode("latin-1", "replace")
        for page in recorded.files("core-ssi", suffix=".shtml")
        for match in _WRITTEN.finditer(page.decode("latin-1"))
    ]
    written = [
        b"%{REQUEST_URI} =~ m#^/(.*)$#i && $1 -in {'a', \"b%{env:X}c\"}",
        b"/a/ = $DATE && !(b || c) = 'd'",
        b"a = /b/ || -A /x",
    ]
    return [
        bytes([switches]) + text
        for text in [*recorded.few([*texts, *pages], 80), *written]
        for switches in (0, 3)
    ]


class Page:
    """A page with one variable."""

    def substituted(self, text: str) -> str:
        return text.replace("$A", "one")

    def matched(self, found: Match | None, regex: Regex) -> None:
        pass

    def complain(self, text: str, code: str) -> None:
        pass

    async def admitted(self, url: str) -> bool:
        return url == "/a"


def run(data: bytes) -> None:
    switches = data[0] if data else 0
    text = data[1:].decode("latin-1")
    if "file" in text.lower():
        return  # file() reads files of this machine
    if switches & 1:
        _check_page(text)
        return
    view = StandIn(record({"Host": "a.test", "X": "y"}, env={"A": "1"}))
    view.statuses = defaultdict(lambda: (404, False))
    restricted = bool(switches & 2)
    try:
        condition = compile_condition(
            text, restricted=restricted, in_document=bool(switches & 4), by_length=bool(switches & 8)
        )
    except ExprError:
        pass
    else:
        _evaluated(condition, view)
    try:
        string = compile_string(text, restricted=restricted)
    except ExprError:
        return
    value = _evaluated(string, view)
    assert string.fixed is None or value == string.fixed


def _evaluated(compiled, view):  # type: ignore[no-untyped-def]
    """Return the value twice: it depends on the request alone."""
    try:
        first = compiled(view)
        assert compiled(view) == first
    except EvalError:
        return None
    return first


def _check_page(text: str) -> None:
    try:
        run_until_suspended(SsiCondition(text).evaluate(Page()))
    except SsiError:
        return
