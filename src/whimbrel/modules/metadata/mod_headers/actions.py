"""Actions of Header and RequestHeader on a table of fields."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from whimbrel.engine.expressions import evaluate
from whimbrel.expr.errors import EvalError
from whimbrel.modules.metadata.mod_headers.lines import Line
from whimbrel.modules.metadata.mod_setenvif import env_value
from whimbrel.modules.support.substitution import Substitution

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.http.semantics.headers import Headers


def _text(line: Line, r: Request) -> str:
    return "".join(item if isinstance(item, str) else item(r) for item in line.value)


def _is_type(line: Line) -> bool:
    """Return True if *line* is about the type of the response: no request field is, as the type may name a
    handler (CVE-2024-43204).
    """
    return line.sets_type and line.header.lower() == "content-type"


def _set(line: Line, headers: Headers, r: Request) -> None:
    value = _text(line, r)
    if _is_type(line):
        r.set_untrusted_type(value)
    headers.set(line.header, value)


def _set_if_empty(line: Line, headers: Headers, r: Request) -> None:
    if line.header not in headers:
        _set(line, headers, r)


def _unset(line: Line, headers: Headers, r: Request) -> None:
    if _is_type(line):
        r.content_type = None
    headers.unset(line.header)


def _echo(line: Line, _headers: Headers, r: Request) -> None:
    for name, value in r.headers_in.items():
        if line.regex is not None and line.regex.search(name) is not None:
            r.headers_out.add(name, value)


def _note(line: Line, headers: Headers, r: Request) -> None:
    value = headers.get(line.header)
    if value is None:
        r.notes.pop(_text(line, r), None)
    else:
        r.notes[_text(line, r)] = value
        if r.deps.clock_fields:
            r.set_uncacheable()  # the field may depend on the clock


_TOKEN = re.compile(r'\s*((?:"[^"]*"?|[^,"])*),?', re.S | re.ASCII)


def _merge(line: Line, headers: Headers, r: Request) -> None:
    """Append the value unless it is one of the comma-separated values already."""
    value = _text(line, r)
    known = headers.get(line.header)
    if known is None:
        headers.add(line.header, value)
        return
    at = 0
    while at < len(known):
        match = _TOKEN.match(known, at)
        if match is None or match[1] == value:
            return
        at = match.end()
    headers.merge(line.header, value)


def _edited(line: Line, value: str, r: Request) -> str:
    """Return *value* with the first match replaced, for ``edit*`` every one; items of the replacement are
    expanded before its groups.
    """
    out = []
    rest = value
    template = Substitution(_text(line, r), ampersand=line.ampersand)
    while line.regex is not None:
        match = line.regex.search(rest)
        if match is None:
            break
        out += [rest[: match.start()], template.apply(match)]
        end = match.end()
        if line.action == "edit" or end == 0:
            rest = rest[end:]
            break
        rest = rest[end:]
    return "".join(out) + rest


def _edit(line: Line, headers: Headers, r: Request) -> None:
    """Edit all values, which move to the end; the content type is apart, and 2.2 leaves it."""
    if line.edits_type and _is_type(line) and r.content_type:
        r.content_type = _edited(line, r.content_type, r)
    values = [_edited(line, value, r) for value in headers.get_all(line.header)]
    if values:
        headers.unset(line.header)
        for value in values:
            headers.add(line.header, value)


_DO: dict[str, Callable[[Line, Headers, Any], None]] = {
    "add": lambda line, headers, r: headers.add(line.header, _text(line, r)),
    "append": lambda line, headers, r: headers.merge(line.header, _text(line, r)),
    "merge": _merge,
    "set": _set,
    "setifempty": _set_if_empty,
    "unset": _unset,
    "echo": _echo,
    "note": _note,
    "edit": _edit,
    "edit*": _edit,
}


def _holds(line: Line, r: Request) -> bool:
    """Return True if the line's condition holds; False if it cannot be evaluated."""
    if line.test is not None:
        try:
            return evaluate(r, line.test, "headers")
        except EvalError as problem:
            r.log(
                "error",
                f"Failed to evaluate expression ({problem.reason}) - ignoring",
                code="AH01501",
                module="headers",
            )
            return True
    condition = line.condition
    if condition.startswith("!"):
        return env_value(r, condition[1:]) is None
    return env_value(r, condition) is not None


def compile_lines(lines: list[Line], early: bool) -> Callable[[Headers, Any], None] | None:
    """Return one function for all lines, early or late; None without lines."""
    steps = [
        (_DO[line.action], line, not line.condition and line.test is None)
        for line in lines
        if line.early == early
    ]
    if not steps:
        return None

    def run(headers: Headers, r: Request) -> None:
        for do, line, unconditional in steps:
            if unconditional or _holds(line, r):
                if line.timed:
                    r.set_uncacheable()
                do(line, headers, r)

    return run
