"""mod_headers: change the headers of requests and of answers.

Manual: mod/mod_headers.html.  RequestHeader works in the fix-up phase.  Header is an output filter: of an ordinary answer it changes the table
for all answers (``always``) and then the one for successful answers (``onsuccess``, the default), of an error page only the first.  ``early``
lines work on the server's own settings as soon as the request has been read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from whimbrel.directives.command import Command
from whimbrel.directives.spec import Args, Directive, Where
from whimbrel.directives.words import getword
from whimbrel.errors import ConfigError
from whimbrel.http.headers import Headers
from whimbrel.modules.mod_setenvif import env_value
from whimbrel.modules.patterns import Substitution, compiled
from whimbrel.regex import Regex
from whimbrel.registry.module import Hook, Made, Module, Order, Scope
from whimbrel.registry.phases import DECLINED, FIXUPS, INSERT_ERROR_FILTER, INSERT_FILTER, OK, POST_READ_REQUEST, Answer
from whimbrel.registry.settings import appended, setting

Item = str | Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Line:
    """One Header or RequestHeader line.

    *value* are the constant pieces and items of the value (for edit of the replacement), *regex* belongs to edit and echo.  *condition* is an
    environment variable, ``!`` before it turns it round; "" means always.
    """

    action: str
    header: str
    value: tuple[Item, ...] = ()
    regex: Regex | None = None
    condition: str = ""
    early: bool = False
    timed: bool = False
    ampersand: bool = False


@dataclass(slots=True)
class HeadersSettings:
    """Per-directory settings: the lines for requests, for all answers, for successful ones; inner sections' lines come last."""

    request: list[Line] = setting(make=list, merge=appended)
    always: list[Line] = setting(make=list, merge=appended)
    success: list[Line] = setting(make=list, merge=appended)


# Values ---------------------------------------------------------------------------------------------------------------------------------------------
def _time(r: Any) -> str:
    return f"t={int(r.time * 1_000_000)}"


def _duration(r: Any) -> str:
    return f"D={max(0, int((r.engine.runtime.now() - r.time) * 1_000_000))}"


def _load(_r: Any) -> str:
    return "l={:.2f}/{:.2f}/{:.2f}".format(*os.getloadavg())


def _share(r: Any, states: str, letter: str) -> str:
    rows = r.engine.runtime.scoreboard.rows()
    part = sum(1 for row in rows if (row.get("state", "_") in "_.") == (states == "idle"))
    return f"{letter}={part * 100 // len(rows) if rows else 100 if states == 'idle' else 0}"


def _variable(name: str) -> Item:
    def value(r: Any) -> str:
        found = env_value(r, name)
        return "(null)" if found is None else found.replace("\n", " ").replace("\r", " ")

    return value


_ITEMS_22: dict[str, Callable[[str], Item]] = {"t": lambda _a: _time, "D": lambda _a: _duration, "e": _variable, "s": lambda _a: "(null)"}
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
    """The pieces of a value, and whether one of them changes from request to request without the request saying so."""
    items: list[Item] = []
    timed = False
    for match in _PIECE.finditer(text):
        if match[3] is not None:
            items.append(re.sub(r"\\[\\rnt]", lambda m: _ESCAPES[m[0]], match[3]))
        elif match[0] in ("%%", "%"):  # a single one at the end stands for itself
            items.append("%")
        else:
            make = known.get(match[2])
            if make is None:
                raise ConfigError(f"Unrecognized header format %{match[2]}")
            items.append(make(match[1] or ""))
            timed = timed or match[2] in _TIMED
    return tuple(items), timed


# Setters --------------------------------------------------------------------------------------------------------------------------------------------
ACTIONS_22 = ("add", "set", "append", "merge", "unset", "echo", "edit", "edit*")
ACTIONS_24 = ("add", "set", "setifempty", "append", "merge", "unset", "echo", "note", "edit", "edit*")


def header(cmd: Command, conf: HeadersSettings, args: list[str]) -> None:
    """Header [always|onsuccess] action name [value [replacement]] [early|env=...]."""
    action, rest = getword(args[0])
    into = "success"
    if action.lower() in ("always", "onsuccess"):
        into = "always" if action.lower() == "always" else "success"
        action, rest = getword(rest)
    _store(conf, into, _line(cmd, action, rest, True))


def request_header(cmd: Command, conf: HeadersSettings, args: list[str]) -> None:
    """RequestHeader action name [value [replacement]] [early|env=...]."""
    action, rest = getword(args[0])
    _store(conf, "request", _line(cmd, action, rest, False))


def _store(conf: HeadersSettings, into: str, line: Line) -> None:
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
        raise ConfigError("Header has too many arguments" if for_answer else f"{cmd.name} has too many arguments")
    action = action.lower()
    known = ACTIONS_24 if cmd.dialect.version >= (2, 4) else ACTIONS_22
    if action not in known:
        raise ConfigError("first argument must be " + ", ".join(f"'{a}'" for a in known[:-1]) + f", or '{known[-1]}'.")
    value, replacement, clause = _sorted_words(action, words, for_answer)
    regex = None
    if action in ("edit", "edit*"):
        regex = compiled(cmd, value or "", "Header edit regex could not be compiled")
    elif action == "echo":
        regex = compiled(cmd, name, "Header echo regex could not be compiled")
    condition, early = _clause(cmd, clause)
    source = replacement if regex is not None else value
    items, timed = _value(cmd, source or "")
    return Line(action, name.partition(":")[0], items, regex, condition, early, timed, cmd.dialect.version < (2, 4))


def _sorted_words(action: str, words: list[str | None], for_answer: bool) -> tuple[str | None, str | None, str | None]:
    """(value, replacement, clause) out of the words behind the name, which mean different things to different actions."""
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
            raise ConfigError("header unset takes two arguments" if action == "unset" else "Header echo takes two arguments")
        if value:
            value, clause = None, value
        if action == "echo" and not for_answer:
            raise ConfigError("Header echo only valid on Header directives")
    elif not value and value is None:
        raise ConfigError("Header requires three arguments")
    return value, replacement, clause


def _clause(cmd: Command, clause: str | None) -> tuple[str, bool]:
    """(condition, early) of the last word."""
    if clause is None:
        return "", False
    low = clause.lower()
    if low == "early":
        return "", True
    if low.startswith("env="):
        if clause[4:] in ("", "!"):
            raise ConfigError("error: missing environment variable name. envclause should be in the form env=envar ")
        return clause[4:], False
    if cmd.dialect.version < (2, 4):
        raise ConfigError("error: envclause should be in the form env=envar")
    if low.startswith("expr="):
        raise ConfigError("Can't parse envclause/expression: expressions are not supported here")
    raise ConfigError(f"Unknown parameter: {clause}")


def _value(cmd: Command, text: str) -> tuple[tuple[Item, ...], bool]:
    if cmd.dialect.version < (2, 4):
        return parse_format(text, _ITEMS_22)
    if text.startswith("expr="):
        raise ConfigError("Can't parse value expression : expressions are not supported here")
    return parse_format(text, _ITEMS_24)


# What the lines do ----------------------------------------------------------------------------------------------------------------------------------
def _text(line: Line, r: Any) -> str:
    return "".join(item if isinstance(item, str) else item(r) for item in line.value)


def _is_type(line: Line) -> bool:
    return line.header.lower() == "content-type"


def _set(line: Line, headers: Headers, r: Any) -> None:
    value = _text(line, r)
    if _is_type(line):
        r.content_type = value
    headers.set(line.header, value)


def _set_if_empty(line: Line, headers: Headers, r: Any) -> None:
    if line.header not in headers:
        _set(line, headers, r)


def _unset(line: Line, headers: Headers, r: Any) -> None:
    if _is_type(line):
        r.content_type = None
    headers.unset(line.header)


def _echo(line: Line, _headers: Headers, r: Any) -> None:
    for name, value in r.headers_in.items():
        if line.regex is not None and line.regex.search(name) is not None:
            r.headers_out.add(name, value)


def _note(line: Line, headers: Headers, r: Any) -> None:
    value = headers.get(line.header)
    if value is None:
        r.notes.pop(_text(line, r), None)
    else:
        r.notes[_text(line, r)] = value


_TOKEN = re.compile(r'\s*((?:"[^"]*"?|[^,"])*),?', re.S)


def _merge(line: Line, headers: Headers, r: Any) -> None:
    """Append the value unless it is one of the comma-separated values already."""
    value, known = _text(line, r), headers.get(line.header)
    if known is None:
        headers.add(line.header, value)
        return
    at = 0
    while at < len(known):
        found = _TOKEN.match(known, at)
        if found is None or found[1] == value:
            return
        at = found.end()
    headers.merge(line.header, value)


def _edited(line: Line, value: str, r: Any) -> str:
    """*value* with the first match replaced, for ``edit*`` every one; items of the replacement come before its groups."""
    out, rest = [], value
    template = Substitution(_text(line, r), ampersand=line.ampersand)
    while line.regex is not None:
        found = line.regex.search(rest)
        if found is None:
            break
        out += [rest[:found.start()], template.apply(found)]
        end = found.end()
        if line.action == "edit" or end == 0:
            rest = rest[end:]
            break
        rest = rest[end:]
    return "".join(out) + rest


def _edit(line: Line, headers: Headers, r: Any) -> None:
    """Every value of the header, which then stands at the end; the content type has a place of its own."""
    if _is_type(line) and r.content_type:
        r.content_type = _edited(line, r.content_type, r)
    values = [_edited(line, value, r) for value in headers.get_all(line.header)]
    if values:
        headers.unset(line.header)
        for value in values:
            headers.add(line.header, value)


_DO: dict[str, Callable[[Line, Headers, Any], None]] = {
    "add": lambda line, headers, r: headers.add(line.header, _text(line, r)),
    "append": lambda line, headers, r: headers.merge(line.header, _text(line, r)),
    "merge": _merge, "set": _set, "setifempty": _set_if_empty, "unset": _unset, "echo": _echo, "note": _note, "edit": _edit, "edit*": _edit,
}


def _holds(condition: str, r: Any) -> bool:
    if condition.startswith("!"):
        return env_value(r, condition[1:]) is None
    return env_value(r, condition) is not None


def _compiled(lines: list[Line], early: bool) -> Callable[[Headers, Any], None] | None:
    """One function for all lines of one time; None when there are none."""
    steps = [(_DO[line.action], line) for line in lines if line.early == early]
    if not steps:
        return None

    def run(headers: Headers, r: Any) -> None:
        for do, line in steps:
            if not line.condition or _holds(line.condition, r):
                if line.timed:
                    r.outside()
                do(line, headers, r)

    return run


# Hooks ----------------------------------------------------------------------------------------------------------------------------------------------
def make_early(scope: Scope) -> Made | None:
    """The ``early`` lines of the server."""
    conf = scope.folder(HeadersSettings)
    request, always, success = (_compiled(lines, True) for lines in (conf.request, conf.always, conf.success))
    if request is None and always is None and success is None:
        return None

    def early(r: Any) -> Answer:
        if request is not None:
            request(r.headers_in, r)
        if always is not None:
            always(r.err_headers_out, r)
        if success is not None:
            success(r.headers_out, r)
        return DECLINED

    return Made(early)


def make_fixup(scope: Scope) -> Made | None:
    """RequestHeader."""
    request = _compiled(scope.folder(HeadersSettings).request, False)
    if request is None:
        return None

    def fixup(r: Any) -> Answer:
        request(r.headers_in, r)
        return DECLINED

    return Made(fixup)


def make_insert(scope: Scope) -> Made | None:
    """The filter of an ordinary answer."""
    conf = scope.folder(HeadersSettings)
    always, success = _compiled(conf.always, False), _compiled(conf.success, False)
    if always is None and success is None:
        return None

    def change(r: Any) -> None:
        if always is not None:
            always(r.err_headers_out, r)
        if success is not None:
            success(r.headers_out, r)

    return Made(_inserting(change))


def make_insert_error(scope: Scope) -> Made | None:
    """The filter of an error page."""
    always = _compiled(scope.folder(HeadersSettings).always, False)
    if always is None:
        return None

    def change(r: Any) -> None:
        always(r.err_headers_out, r)

    return Made(_inserting(change))


def _inserting(change: Callable[[Any], None]) -> Callable[[Any], Answer]:
    def insert(r: Any) -> Answer:
        r.output_filters.append(change)
        return OK

    return insert



MODULE = Module(
    name="headers_module",
    source="mod_headers.c",
    folder_settings=HeadersSettings,
    directives=(
        Directive(name="Header", args=Args.RAW_ARGS, where=Where.OR_FILEINFO, apply=header,
                  help="an optional condition, an action, header and value followed by optional env clause"),
        Directive(name="RequestHeader", args=Args.RAW_ARGS, where=Where.OR_FILEINFO, apply=request_header,
                  help="an action, header and value followed by optional env clause"),
    ),
    hooks=(
        Hook(POST_READ_REQUEST, make_early, Order.FIRST),
        Hook(FIXUPS, make_fixup, Order.LAST),
        Hook(INSERT_FILTER, make_insert, Order.LAST),
        Hook(INSERT_ERROR_FILTER, make_insert_error, Order.LAST),
    ),
)
