"""mod_setenvif: environment variables set by conditions on the request.

The server's own lines run in post_read_request, those of sections and .htaccess files in header_parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.directives.command import Command
from whimbrel.directives.tokens import getword
from whimbrel.engine.expressions import evaluate_match, read_condition, reads_of
from whimbrel.expr.errors import EvalError
from whimbrel.expr.evaluation import EMPTY_MATCH
from whimbrel.modules.support.reverse_dns import client_address
from whimbrel.modules.support.substitution import Substitution, compiled
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import DECLINED, HEADER_PARSER, POST_READ_REQUEST, HookStatus
from whimbrel.registry.settings import appended, setting

if TYPE_CHECKING:
    from whimbrel.base.regex import Match, Regex
    from whimbrel.directives.spec import Setter
    from whimbrel.engine.request import Request
    from whimbrel.expr.api import CompiledCondition as Test


@dataclass(slots=True)
class Condition:
    """One line: the part of the request, its pattern, the variables.

    Attributes:
        text: a pattern without special characters, compared by plain search; the values are then literal
        regex: any other pattern
        names: the pattern of field names, if *attribute* is none
        test: the condition of a SetEnvIfExpr line
        variables: (name, value), or (name, None) to remove it
    """

    attribute: str
    regex: Regex | None
    text: str
    ignore_case: bool
    names: Regex | None = None
    variables: list[tuple[str, str | None]] = field(default_factory=list)
    ampersand: bool = False
    test: Test | None = None


@dataclass(slots=True)
class SetEnvIfServerConfig:
    """Lines outside all sections."""

    conditions: list[Condition] = setting(make=list, merge=appended)


@dataclass(slots=True)
class SetEnvIfDirConfig:
    """Lines of sections and .htaccess files."""

    conditions: list[Condition] = setting(make=list, merge=appended)


# setters ------------------------------------------------------------------------------------------
_HEADER_NAME = re.compile(r"[-A-Za-z0-9_]*", re.ASCII)
_OID = re.compile(r"oid\(.*\)", re.IGNORECASE | re.DOTALL)
_LITERAL = re.compile(r"(?:[^\^.$|()\[\]*+?{}\\]|\\[\^.$|()\[\]*+?{}\\])*", re.S)


def set_env_if(ignore_case: bool) -> Setter:
    """Return the setter of SetEnvIf and SetEnvIfNoCase."""

    def apply(cmd: Command, _conf: object, args: list[str]) -> None:
        name, rest = getword(args[0])
        if not name:
            raise ConfigError(f"Missing header-field name for {cmd.name}")
        _add(cmd, name, rest, ignore_case)

    return apply


def browser_match(ignore_case: bool) -> Setter:
    """Return the setter of BrowserMatch and BrowserMatchNoCase."""

    def apply(cmd: Command, _conf: object, args: list[str]) -> None:
        _add(cmd, "User-Agent", args[0], ignore_case)

    return apply


def _record(cmd: Command) -> SetEnvIfDirConfig | SetEnvIfServerConfig:
    return cmd.dir_config(SetEnvIfDirConfig) if cmd.path else cmd.server_config(SetEnvIfServerConfig)


def set_env_if_expr(cmd: Command, _conf: object, args: list[str]) -> None:
    """SetEnvIfExpr condition variable..."""
    expression, rest = getword(args[0])
    if not expression:
        raise ConfigError(f"Missing expression for {cmd.name}")
    test = read_condition(cmd, expression, f'Could not parse expression "{expression}"')
    condition = Condition("", None, "", False, test=test)
    record = _record(cmd)
    record.conditions = [*(record.conditions if isinstance(record.conditions, list) else []), condition]
    _add_variables(cmd, condition, rest)


def _add(cmd: Command, name: str, text: str, ignore_case: bool) -> None:
    pattern, rest = getword(text)
    if not pattern:
        raise ConfigError(f"Missing regular expression for {cmd.name}")
    record = _record(cmd)
    known = record.conditions if isinstance(record.conditions, list) else []
    condition = _condition(cmd, name, pattern, ignore_case)
    same = known[-1] if known else None
    if same is None or (same.attribute.lower(), same.text, same.ignore_case, same.regex) != (
        name.lower(),
        condition.text,
        ignore_case,
        condition.regex,
    ):
        record.conditions = [*known, condition]
    else:
        condition = same
    _add_variables(cmd, condition, rest)


def _condition(cmd: Command, name: str, pattern: str, ignore_case: bool) -> Condition:
    literal = _LITERAL.fullmatch(pattern) is not None
    regex = (
        None
        if literal
        else compiled(cmd, pattern, f"{cmd.name} regex could not be compiled.", ignore_case=ignore_case)
    )
    text = re.sub(r"\\(.)", r"\1", pattern, flags=re.S) if literal else ""
    names = None
    if not _HEADER_NAME.fullmatch(name) and not _OID.fullmatch(name):
        names = compiled(
            cmd, name, f"{cmd.name}Header name regex could not be compiled.", ignore_case=ignore_case
        )
    return Condition(
        name,
        regex,
        text.lower() if ignore_case else text,
        ignore_case,
        names,
        ampersand=cmd.dialect.ampersand_is_match,
    )


def _add_variables(cmd: Command, condition: Condition, text: str) -> None:
    word, text = getword(text)
    if not word:
        raise ConfigError(f"Missing envariable expression for {cmd.name}")
    while word:
        name, equals, value = word.partition("=")
        if name.startswith("!"):
            condition.variables.append((name[1:], None))
        else:
            condition.variables.append((name, value if equals else "1"))
        word, text = getword(text)


# hooks --------------------------------------------------------------------------------------------
Source = Callable[[Any], str | None]

_SOURCES: dict[str, tuple[Source, Reads]] = {
    "remote_addr": (client_address, Reads.CLIENT),
    "remote_host": (client_address, Reads.CLIENT),
    "server_addr": (lambda r: str(r.connection.local_ip), Reads.FIELDS),
    "request_uri": (lambda r: str(r.uri), Reads.HEAD),
    "request_method": (lambda r: str(r.method), Reads.FIELDS),
    "request_protocol": (lambda r: str(r.protocol), Reads.FIELDS),
}


def env_value(r: Request, name: str) -> str | None:
    """Return a variable of the request; names are case-insensitive, as in httpd's tables."""
    value: str | None = r.env.get(name)
    if value is None and r.env and not getattr(r.env, "folded", False):
        low = name.lower()
        for key, text in r.env.items():
            if key.lower() == low:
                return str(text)
    return value


def _source(condition: Condition) -> tuple[Source, Reads]:
    """Return the reader of a line's part of the request, and what it reads."""
    special = _SOURCES.get(condition.attribute.lower())
    if special is not None:
        return special
    if condition.names is not None:
        return _by_pattern(condition.names), Reads.FIELDS
    name = condition.attribute

    def header_or_variable(r: Request) -> str | None:
        value: str | None = r.headers_in.get(name)
        return env_value(r, name) if value is None else value

    return header_or_variable, Reads.FIELDS


def _by_pattern(names: Regex) -> Source:
    def last_header(r: Request) -> str | None:
        """Return the last field whose name matches."""
        text: str | None = None
        for name, value in r.headers_in.items():
            if names.search(name) is not None:
                text = value
        return text

    return last_header


def _matcher(condition: Condition) -> Callable[[str], Any]:
    """Return a function that returns a match (for literal patterns True), or None or False."""
    if condition.regex is not None:
        return condition.regex.search
    text = condition.text
    if condition.ignore_case:
        return lambda value: text in value.lower()
    return lambda value: text in value


class _Matched:
    """The set of values that a line's pattern matches."""

    __slots__ = ("_matches",)

    def __init__(self, matches: Callable[[str], Any]) -> None:
        self._matches = matches

    def __contains__(self, value: object) -> bool:
        return isinstance(value, str) and bool(self._matches(value))


class _Step:
    """A compiled line.

    *same*: the previous line reads the same part of the request, so its value is reused.  *values* is set if
    only the result of the match matters: of the field *header*, or of the client's address if that is unset.
    """

    __slots__ = ("header", "matches", "same", "source", "test", "values", "variables")

    def __init__(self, condition: Condition, source: Source, same: bool) -> None:
        self.source = source
        self.same = same
        self.matches = _matcher(condition)
        self.test = condition.test
        plain = condition.regex is None and condition.test is None
        self.variables: list[tuple[str, str | Substitution | None]] = [
            (name, value if value is None or plain else Substitution(value, ampersand=condition.ampersand))
            for name, value in condition.variables
        ]
        quoting = any(
            isinstance(value, Substitution) and value.plain is None for _name, value in self.variables
        )
        self.header = (
            ""
            if condition.attribute.lower() in _SOURCES
            or condition.names is not None
            or condition.test is not None
            else condition.attribute
        )
        self.values = (
            _Matched(self.matches) if (source is client_address or self.header) and not quoting else None
        )

    def set(self, env: dict[str, str], match: Match | bool | None) -> None:
        for name, value in self.variables:
            if value is None:
                env.pop(name, None)
            elif name:
                if isinstance(value, str):
                    env[name] = value
                else:
                    env[name] = value.apply(match) if match and match is not True else value.text


def _nothing(_r: Request) -> str | None:
    return None


def _classified_or_variable(name: str, sets: tuple[_Matched, ...]) -> Source:
    """Return the reader of a field, or of the variable if there is none.

    The cache key then holds the field's membership in *sets* instead of its value.
    """

    def header_or_variable(r: Request) -> str | None:
        value: str | None = r.headers_in.get_classified(name, sets)
        return env_value(r, name) if value is None else value

    return header_or_variable


def _evaluated(r: Request, test: Test, last: Match | None) -> tuple[bool, Match | None]:
    """Return a condition's result and the match for ``$0`` to ``$9``: its own or an earlier (*last*)."""
    try:
        return evaluate_match(r, test, "setenvif", last)
    except EvalError:
        return False, last


def _make(conditions: list[Condition]) -> CompiledHook | None:
    if not conditions:
        return None
    steps: list[_Step] = []
    reads = Reads.NOTHING
    before = ""
    tested = any(
        condition.test is not None for condition in conditions
    )  # conditions may refer to groups of an earlier line's match
    for condition in conditions:
        source, depends = (
            (_nothing, reads_of(condition.test.reads)) if condition.test is not None else _source(condition)
        )
        step = _Step(condition, source, condition.attribute.lower() == before)
        before = condition.attribute.lower()
        if tested:
            step.values = None
        elif step.values is not None:
            depends = Reads.FIELDS
        steps.append(step)
        reads |= depends
    for step in steps:
        if step.header and step.values is not None:
            alike = [
                condition.values for condition in steps if condition.header.lower() == step.header.lower()
            ]
            step.source = _classified_or_variable(
                step.header, tuple([values for values in alike if values is not None])
            )

    def set_variables(r: Request) -> HookStatus:
        value = ""
        known = False
        env = r.env
        last: Match | None = EMPTY_MATCH
        for step in steps:
            if step.test is not None:
                true, last = _evaluated(r, step.test, last)
                if true:
                    step.set(env, last)
                continue
            if step.values is not None and not step.header:
                match = r.client_in(step.values)
                known = False
            else:
                if not (step.same and known):
                    value = step.source(r) or ""
                    known = True
                elif step.header and step.values is None:
                    # the value is used in a variable: it is part of the cache key
                    r.headers_in.get(step.header)
                match = step.matches(value)
            if match:
                last = last if match is True else match
                step.set(env, match)
        return DECLINED

    return CompiledHook(set_variables, reads)


def make_post_read(scope: Scope) -> CompiledHook | None:
    """Run the server's own lines."""
    return _make(scope.server_config(SetEnvIfServerConfig).conditions)


def make_header_parser(scope: Scope) -> CompiledHook | None:
    """Run the lines of sections and .htaccess files."""
    return _make(scope.dir_config(SetEnvIfDirConfig).conditions)


MODULE = Module(
    name="setenvif_module",
    source="mod_setenvif.c",
    dir_config=SetEnvIfDirConfig,
    server_config=SetEnvIfServerConfig,
    setters={
        "SetEnvIf": set_env_if(False),
        "SetEnvIfNoCase": set_env_if(True),
        "SetEnvIfExpr": set_env_if_expr,
        "BrowserMatch": browser_match(False),
        "BrowserMatchNoCase": browser_match(True),
    },
    hooks=(
        Hook(POST_READ_REQUEST, make_post_read, Order.MIDDLE),
        Hook(HEADER_PARSER, make_header_parser, Order.MIDDLE),
    ),
)
