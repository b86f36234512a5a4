"""RewriteCond, compiled to a function that evaluates the condition.

Manual: mod/mod_rewrite.html#rewritecond.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import TYPE_CHECKING, Any, Final, cast

from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import atoi, by_length, lower
from whimbrel.base.regex import Match
from whimbrel.engine.lookahead import may_probe, probe_target
from whimbrel.modules.mappers.mod_rewrite.context import Context
from whimbrel.modules.mappers.mod_rewrite.expressions import holds, reads
from whimbrel.modules.mappers.mod_rewrite.settings import Cond, Test
from whimbrel.modules.mappers.mod_rewrite.template import Compiler, Template
from whimbrel.modules.mappers.mod_rewrite.trace import ConditionTrace
from whimbrel.registry.module import Reads

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

Evaluate = Callable[[Context, str], bool]


class Condition:
    """One condition; with *waits* only `holds_later` may be used."""

    __slots__ = ("_evaluate", "_cond", "_field", "_sets", "_subject", "_values", "or_next", "reads", "waits")

    def __init__(self, cond: Cond, compiler: Compiler) -> None:
        self._cond = cond
        self.or_next = cond.or_next
        self._subject: Template = compiler.template("" if cond.test is Test.EXPRESSION else cond.subject)
        self._evaluate = _asker(cond)
        by_request = cond.test in (Test.URL, Test.ACCESSIBLE)
        self.waits = by_request or self._subject.waits
        self.reads = self._subject.reads | _READS.get(cond.test, Reads.NOTHING) | reads(cond)
        self._values: _Values | None = None
        self._field = _field_of(cond.subject)
        if (self._field or cond.subject == "%{REMOTE_ADDR}") and (
            cond.test is Test.REGEX or cond.test in _STRINGS
        ):
            self._values, self.reads = _Values(self._evaluate), Reads.HEAD
            self._sets = (self._values,)

    def holds(self, c: Context) -> bool:
        """Return True if the condition holds."""
        if self._values is not None:
            return self._holds_for_value(c, self._values)
        return self._judge(c, self._subject.text(c))

    def _holds_for_value(self, c: Context, values: _Values) -> bool:
        """Evaluate a condition on the client's address or on a field, recording its result as the only
        dependency.

        A condition that is traced or quoted depends on the value itself.
        """
        r = c.r
        if not self._field:
            is_member = r.client_in(values)
            text = r.connection.useragent_ip or r.connection.client_ip
        else:
            value = r.headers_in.get_classified(self._field, self._sets)
            text = value or ""
            is_member = text in values
            if value is not None:
                c.condition_traces.append(self._field)
        if c.log is not None or c.step is not None:
            self._trace(r)
        if is_member:
            self._evaluate(c, text)
            if c.cond is not None:
                c.cond = _Quoted(c.cond, lambda: self._trace(r))
        return self._done(c, text, is_member)

    def _trace(self, r: Request) -> None:
        """Trace the condition, which makes its subject a dependency."""
        if self._field:
            r.headers_in.get(self._field)
        else:
            r.deps.on_client = True

    async def holds_later(self, c: Context) -> bool:
        """Evaluate a condition that has to wait."""
        text = await self._subject.text_later(c)
        if self._cond.test is Test.URL:
            return self._done(c, text, await _by_url(c, text))
        if self._cond.test is Test.ACCESSIBLE:
            return self._done(c, text, await _by_file(c, text))
        return self._judge(c, text)

    def _judge(self, c: Context, text: str) -> bool:
        return self._done(c, text, self._evaluate(c, text))

    def _done(self, c: Context, text: str, found: bool) -> bool:
        cond = self._cond
        if cond.no_vary:
            c.condition_traces.clear()
        result = found is not cond.negated
        if c.step is not None:
            c.step.conditions.append(ConditionTrace(text, cond.written, result, cond.subject, cond.place))
        if c.log is not None:
            case = " [NC]" if cond.ignore_case else ""
            text = "(null)" if cond.test is Test.EXPRESSION else text
            c.log_step(
                4,
                f"RewriteCond: input='{text}' pattern='{cond.written}'{case} => "
                f"{'matched' if result else 'not-matched'}",
            )
        return result


_FIELD: Final = compile(
    r"%\{(?:HTTP:([^{}:]+)|HTTP_(USER_AGENT|REFERER|COOKIE|FORWARDED|PROXY_CONNECTION|ACCEPT))\}"
)


def _field_of(subject: str) -> str:
    """Return the request field of *subject*, "" for any other, and for Host, always a dependency."""
    match = _FIELD.fullmatch(subject)
    name = (match[1] or match[2].replace("_", "-").title()) if match is not None else ""
    return "" if lower(name) == "host" else name


class _Values:
    """The values for which a condition holds, before its negation."""

    __slots__ = ("_evaluate",)

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate

    def __contains__(self, value: object) -> bool:
        return isinstance(value, str) and self._evaluate(Context(cast("Request", None)), value)


class _Quoted:
    """A match that records its use by back references."""

    __slots__ = ("_found", "_on_quote")

    def __init__(self, match: Match, on_quote: Callable[[], None]) -> None:
        self._found = match
        self._on_quote = on_quote

    def _quoted(self) -> Match:
        self._on_quote()
        return self._found

    def group(self, number: int = 0, /) -> Any:
        """Implement `Match`."""
        return self._quoted().group(number)

    def groups(self) -> Any:
        """Implement `Match`."""
        return self._quoted().groups()

    def start(self, number: int = 0, /) -> int:
        """Implement `Match`."""
        return self._quoted().start(number)

    def end(self, number: int = 0, /) -> int:
        """Implement `Match`."""
        return self._quoted().end(number)


_READS: Final = {
    Test.FILE: Reads.FILES,
    Test.DIRECTORY: Reads.FILES,
    Test.SIZE: Reads.FILES,
    Test.LINK: Reads.FILES,
    Test.EXECUTABLE: Reads.FILES,
    Test.URL: Reads.FILES,
    Test.ACCESSIBLE: Reads.FILES,
}

_MODES: Final[dict[Test, Callable[[Any], bool]]] = {
    Test.FILE: lambda info: S_ISREG(info.st_mode),
    Test.DIRECTORY: lambda info: S_ISDIR(info.st_mode),
    Test.SIZE: lambda info: S_ISREG(info.st_mode) and info.st_size > 0,
    Test.EXECUTABLE: lambda info: bool(info.st_mode & 0o111),
}
_STRINGS: Final[dict[Test, Callable[[int], bool]]] = {
    Test.STRING_LT: lambda order: order < 0,
    Test.STRING_LE: lambda order: order <= 0,
    Test.STRING_GE: lambda order: order >= 0,
    Test.STRING_GT: lambda order: order > 0,
    Test.STRING_EQ: lambda order: order == 0,
}
_INTEGERS: Final[dict[Test, Callable[[int, int], bool]]] = {
    Test.INT_LT: operator.lt,
    Test.INT_LE: operator.le,
    Test.INT_EQ: operator.eq,
    Test.INT_GE: operator.ge,
    Test.INT_GT: operator.gt,
}


def _asker(cond: Cond) -> Evaluate:
    test = cond.test
    if test is Test.EXPRESSION:
        return lambda c, _text: holds(cond, c)
    if test in _MODES:
        mode = _MODES[test]
        return lambda c, text: (info := c.r.deps.stat(text)) is not None and mode(info)
    if test is Test.LINK:
        return lambda c, text: (info := c.r.deps.lstat(text)) is not None and S_ISLNK(info.st_mode)
    if test in _STRINGS:
        return _by_order(_STRINGS[test], cond)
    if test in _INTEGERS:
        compare = _INTEGERS[test]
        number = atoi(cond.operand)
        return lambda _c, text: compare(atoi(text), number)
    return _by_regex(cond)


def _by_regex(cond: Cond) -> Evaluate:
    search: Any = cond.regex.search if cond.regex is not None else lambda _text: None
    negated = cond.negated

    def evaluate(c: Context, text: str) -> bool:
        match = search(text)
        if match is None:
            return False
        if not negated:
            c.cond = match
        return True

    return evaluate


def _by_order(wanted: Callable[[int], bool], cond: Cond) -> Evaluate:
    operand = cond.operand
    if cond.ignore_case:
        low = lower(operand)
        return lambda _c, text: wanted((lower(text) > low) - (lower(text) < low))
    if cond.test is Test.STRING_EQ:
        return lambda _c, text: text == operand
    return lambda _c, text: wanted(by_length(text, operand))


async def _by_url(c: Context, path: str) -> bool:
    if not path or not may_probe(c.r):
        return False
    sub = await probe_target(c.r, path, by_file=False)
    c.log_step(5, f"RewriteCond URI (-U check: path={path} -> status={sub.status}", in_directory=False)
    return bool(sub.status < 400)


async def _by_file(c: Context, path: str) -> bool:
    if not path or not may_probe(c.r):
        return False
    sub = await probe_target(c.r, path, by_file=True)
    c.log_step(
        5,
        f"RewriteCond file (-F check: path={path} -> file={sub.filename} status={sub.status}",
        in_directory=False,
    )
    return sub.status < 300 and c.r.deps.stat(sub.filename or "") is not None
