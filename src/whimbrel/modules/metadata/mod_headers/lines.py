"""Lines of Header and RequestHeader, and their parsing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.directives.command import Command
from whimbrel.directives.tokens import getword
from whimbrel.engine.expressions import read_condition, read_string
from whimbrel.expr.errors import EvalError
from whimbrel.modules.metadata.mod_setenvif import env_value
from whimbrel.modules.support.substitution import compiled
from whimbrel.registry.settings import appended, setting

if TYPE_CHECKING:
    from whimbrel.base.regex import Regex
    from whimbrel.engine.request import Request
    from whimbrel.expr.api import CompiledCondition

Item = str | Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Line:
    """One Header or RequestHeader line.

    Attributes:
        value: the constant pieces and items of the value (for edit of the replacement)
        regex: the expression of edit and echo
        condition: an environment variable, negated by ``!``; "" means always
        sets_type: a line about Content-Type is about the type of the response
        edits_type: so is one that edits it
        test: the condition of an ``expr=`` clause
    """

    action: str
    header: str
    value: tuple[Item, ...] = ()
    regex: Regex | None = None
    condition: str = ""
    early: bool = False
    timed: bool = False
    ampersand: bool = False
    sets_type: bool = True
    edits_type: bool = True
    test: CompiledCondition | None = None


@dataclass(slots=True)
class HeadersDirConfig:
    """Per-directory settings: lines for requests and responses; inner sections' lines are last."""

    request: list[Line] = setting(make=list, merge=appended)
    always: list[Line] = setting(make=list, merge=appended)
    success: list[Line] = setting(make=list, merge=appended)


# values -------------------------------------------------------------------------------------------
def _time(r: Request) -> str:
    return f"t={int(r.time * 1_000_000)}"


def _duration(r: Request) -> str:
    return f"D={max(0, int((r.engine.runtime.now() - r.time) * 1_000_000))}"


def _load(r: Request) -> str:
    return "l={:.2f}/{:.2f}/{:.2f}".format(*r.engine.runtime.load_average())


def _share(r: Request, states: str, letter: str) -> str:
    letters = "".join([worker.letters for worker in r.engine.runtime.scoreboard.workers()])
    idle = letters.count("_") + letters.count(".")
    part = idle if states == "idle" else len(letters) - idle
    percent = 100 if states == "idle" else 0
    if letters:
        percent = part * 100 // len(letters)
    return f"{letter}={percent}"


def _variable(name: str) -> Item:
    def value(r: Request) -> str:
        text = env_value(r, name)
        return "(null)" if text is None else text.replace("\n", " ").replace("\r", " ")

    return value


def _tls_variable(name: str) -> Item:
    def value(r: Request) -> str:
        lookup = r.engine.configuration.provider("ssl", "variable")
        text = lookup(r, name) if lookup is not None else ""
        return text.replace("\n", " ").replace("\r", " ") or "(null)"

    return value


_ITEMS_22: dict[str, Callable[[str], Item]] = {
    "t": lambda _a: _time,
    "D": lambda _a: _duration,
    "e": _variable,
    "s": _tls_variable,
}
_ITEMS_24: dict[str, Callable[[str], Item]] = {
    **_ITEMS_22,
    "l": lambda _a: _load,
    "i": lambda _a: lambda r: _share(r, "idle", "i"),
    "b": lambda _a: lambda r: _share(r, "busy", "b"),
}
_TIMED = "tDlib"
_PIECE = re.compile(r"%%|%(?:\{([^}]*)\}?)?(.?)|((?:\\[^%]|[^%\\]|\\)+)", re.S)
_ESCAPES = {"\\\\": "\\", "\\r": "\r", "\\n": "\n", "\\t": "\t"}


def parse_format(text: str, known: dict[str, Callable[[str], Item]]) -> tuple[tuple[Item, ...], bool]:
    """Return the pieces of a value; True if one of them varies by more than the request."""
    items: list[Item] = []
    timed = False
    for match in _PIECE.finditer(text):
        if match[3] is not None:
            items.append(re.sub(r"\\[\\rnt]", lambda m: _ESCAPES[m[0]], match[3]))
        elif match[0] in ("%%", "%"):  # a single percent sign at the end is literal
            items.append("%")
        else:
            make = known.get(match[2])
            if make is None:
                raise ConfigError(f"Unrecognized header format %{match[2]}")
            items.append(make(match[1] or ""))
            timed = timed or match[2] in _TIMED
    return tuple(items), timed


# setters ------------------------------------------------------------------------------------------
ACTIONS_22 = ("add", "set", "append", "merge", "unset", "echo", "edit", "edit*")
ACTIONS_24 = ("add", "set", "setifempty", "append", "merge", "unset", "echo", "note", "edit", "edit*")


def header(cmd: Command, conf: HeadersDirConfig, args: list[str]) -> None:
    """Header [always|onsuccess] action name [value [replacement]] [early|env=...]."""
    action, rest = getword(args[0])
    into = "success"
    if action.lower() in ("always", "onsuccess"):
        into = "always" if action.lower() == "always" else "success"
        action, rest = getword(rest)
    _store(conf, into, _line(cmd, action, rest, True))


def request_header(cmd: Command, conf: HeadersDirConfig, args: list[str]) -> None:
    """RequestHeader action name [value [replacement]] [early|env=...]."""
    action, rest = getword(args[0])
    _store(conf, "request", _line(cmd, action, rest, False))


def _store(conf: HeadersDirConfig, into: str, line: Line) -> None:
    known = getattr(conf, into)
    setattr(conf, into, [*(known if isinstance(known, list) else []), line])


def _line(cmd: Command, action: str, text: str, for_answer: bool) -> Line:
    name, text = getword(text)
    words: list[str | None] = []
    for _ in range(3):
        word = None
        if text:
            word, text = getword(text)
        words.append(word)
    if text:
        raise ConfigError(
            "Header has too many arguments" if for_answer else f"{cmd.name} has too many arguments"
        )
    action = action.lower()
    known = ACTIONS_24 if cmd.dialect.keywords_24 else ACTIONS_22
    if action not in known:
        raise ConfigError(
            "first argument must be " + ", ".join(f"'{a}'" for a in known[:-1]) + f", or '{known[-1]}'."
        )
    if action == "note" and not for_answer:
        raise ConfigError(f"{cmd.name} does not support the 'note' action")
    value, replacement, clause = _sorted_words(action, words, for_answer)
    regex = None
    if action in ("edit", "edit*"):
        regex = compiled(cmd, value or "", "Header edit regex could not be compiled")
    elif action == "echo":
        regex = compiled(cmd, name, "Header echo regex could not be compiled")
    test = _test(cmd, clause)
    condition, early = ("", False) if test is not None else _clause(cmd, clause)
    source = replacement if regex is not None else value
    items, timed = _value(cmd, source or "")
    dialect = cmd.dialect
    return Line(
        action,
        name.partition(":")[0],
        items,
        regex,
        condition,
        early,
        timed,
        dialect.ampersand_is_match,
        for_answer or dialect.request_fields_set_type,
        dialect.header_edits_type,
        test,
    )


def _sorted_words(
    action: str, words: list[str | None], for_answer: bool
) -> tuple[str | None, str | None, str | None]:
    """Return (value, replacement, clause) after the name; the action gives their meaning."""
    value, replacement, clause = words
    if action in ("edit", "edit*"):
        if replacement is None:
            raise ConfigError("Header edit requires a match and a substitution")
        return value, replacement, clause
    if clause is not None:
        raise ConfigError("Too many arguments to directive")
    clause, replacement = replacement, None
    if action in ("unset", "echo"):
        if value and clause:
            raise ConfigError(
                "header unset takes two arguments" if action == "unset" else "Header echo takes two arguments"
            )
        if value:
            value, clause = None, value
        if action == "echo" and not for_answer:
            raise ConfigError("Header echo only valid on Header directives")
    elif not value and value is None:
        raise ConfigError("Header requires three arguments")
    return value, replacement, clause


def _test(cmd: Command, clause: str | None) -> CompiledCondition | None:
    if clause is None or not clause.lower().startswith("expr=") or not cmd.dialect.expressions:
        return None
    return read_condition(cmd, clause[5:], "Can't parse envclause/expression")


def _clause(cmd: Command, clause: str | None) -> tuple[str, bool]:
    """Return (condition, early) of the last argument."""
    if clause is None:
        return "", False
    low = clause.lower()
    if low == "early":
        return "", True
    if low.startswith("env="):
        if clause[4:] in ("", "!"):
            raise ConfigError(
                "error: missing environment variable name. envclause should be in the form env=envar "
            )
        return clause[4:], False
    if not cmd.dialect.expressions:
        raise ConfigError("error: envclause should be in the form env=envar")
    raise ConfigError(f"Unknown parameter: {clause}")


def _value(cmd: Command, text: str) -> tuple[tuple[Item, ...], bool]:
    if not cmd.dialect.expressions:
        return parse_format(text, _ITEMS_22)
    if text.startswith("expr="):
        return (_expression(cmd, text[5:]),), False
    return parse_format(text, _ITEMS_24)


def _expression(cmd: Command, text: str) -> Item:
    """Return the item of an ``expr=`` value; empty if it cannot be evaluated."""
    template = read_string(cmd, text, "Can't parse value expression ")
    if template.fixed is not None:
        return template.fixed

    def value(r: Request) -> str:
        try:
            return template.text(r, "headers")
        except EvalError as problem:
            r.log(
                "error",
                f"Can't evaluate value expression: {problem.reason}",
                code="AH02557",
                module="headers",
            )
            return ""

    return value
