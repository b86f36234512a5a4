"""Strings with ``%{NAME}`` in them, where 2.4 takes a string for an expression: ErrorDocument, SetHandler.

Backslash sequences and back references are undone as httpd's expression reader undoes them.  Of the expressions themselves only the
variables and functions below are known; a string with anything else is refused.
Manual: expr.html#vars.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from whimbrel.request.record import Request

UNTERMINATED = "syntax error, unexpected T_ERROR, expecting {}: Unterminated string or variable"
_TOKEN = re.compile(
    r"\\(?P<octal>[0-7]{1,3})|\\(?P<escaped>.)|%\{(?P<name>\w+)(?::(?P<argument>[^}]*))?\}|"
    r"(?P<open>%\{)|\$(?P<group>\d)|(?P<text>[^\\%$]+|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}

Part = str | Callable[[Request], str]

_VARIABLES: dict[str, Callable[[Request], str | None]] = {
    "REQUEST_URI": lambda r: r.uri,
    "REQUEST_METHOD": lambda r: r.method,
    "REQUEST_STATUS": lambda r: str(r.status),
    "REQUEST_FILENAME": lambda r: r.filename,
    "SCRIPT_FILENAME": lambda r: r.filename,
    "PATH_INFO": lambda r: r.path_info,
    "QUERY_STRING": lambda r: r.args,
    "THE_REQUEST": lambda r: r.the_request,
    "SERVER_PROTOCOL": lambda r: r.protocol,
    "SERVER_NAME": lambda r: r.server.name,
    "SERVER_PORT": lambda r: str(r.server.port or r.connection.local_port),
    "SERVER_ADMIN": lambda r: r.server.admin,
    "SERVER_ADDR": lambda r: r.connection.local_ip,
    "REMOTE_ADDR": lambda r: r.connection.user_ip or r.connection.client_ip,
    "REMOTE_PORT": lambda r: str(r.connection.client_port),
    "REMOTE_USER": lambda r: r.user,
    "AUTH_TYPE": lambda r: r.auth_type,
    "HANDLER": lambda r: r.handler,
    "CONTENT_TYPE": lambda r: r.content_type,
    "HTTP_HOST": lambda r: r.headers_in.get("Host"),
    "HTTP_ACCEPT": lambda r: r.headers_in.get("Accept"),
    "HTTP_COOKIE": lambda r: r.headers_in.get("Cookie"),
    "HTTP_REFERER": lambda r: r.headers_in.get("Referer"),
    "HTTP_USER_AGENT": lambda r: r.headers_in.get("User-Agent"),
}
_OF_REQUEST: dict[str, Callable[[Request, str], str | None]] = {
    "req": lambda r, name: r.headers_in.get(name),
    "http": lambda r, name: r.headers_in.get(name),
    "resp": lambda r, name: r.headers_out.get(name),
    "reqenv": lambda r, name: r.env.get(name),
    "env": lambda r, name: r.env.get(name, r.notes.get(name)),
    "note": lambda r, name: r.notes.get(name),
    "tolower": lambda _r, text: text.lower(),
    "toupper": lambda _r, text: text.upper(),
}


class NotAString(Exception):
    """The text can't be read; the message is httpd's."""


@dataclass(frozen=True, slots=True)
class Template:
    """A string whose *parts* are texts and functions of the request; a failed one gives nothing."""

    parts: tuple[Part, ...]

    @property
    def fixed(self) -> str | None:
        """The text, where nothing in it depends on the request."""
        return "".join(p for p in self.parts if isinstance(p, str)) if all(isinstance(p, str) for p in self.parts) else None

    def text(self, r: Request) -> str:
        """The string for this request."""
        return "".join(p if isinstance(p, str) else p(r) for p in self.parts)


def parse(text: str) -> Template:
    """Read *text*; raises NotAString."""
    return Template(tuple(_part(found) for found in _TOKEN.finditer(text)))


def check_expression(text: str) -> str:
    """What is wrong with *text*, "" when it can be read."""
    try:
        parse(text)
    except NotAString as problem:
        return str(problem)
    return ""


def _part(found: re.Match[str]) -> Part:
    if found["open"]:
        named = re.match(r"\w+", found.string[found.end():])
        raise NotAString(UNTERMINATED.format("T_VAR_END or ':'" if named else "T_ID"))
    if found["octal"]:
        return chr(int(found["octal"], 8) & 0xFF)
    if found["escaped"]:
        return _ESCAPES.get(found["escaped"], found["escaped"])
    if found["group"]:
        return ""
    return _variable(found["name"], found["argument"]) if found["name"] else found["text"]


def _variable(name: str, argument: str | None) -> Part:
    if argument is not None:
        function = _OF_REQUEST.get(name.lower())
        if function is None:
            raise NotAString(f"Function '{name}' does not exist or is not available here")
        known = function
        return lambda r: known(r, argument) or ""
    variable = _VARIABLES.get(name.upper())
    if variable is None:
        raise NotAString(f"Variable '{name}' does not exist")
    wanted = variable
    return lambda r: wanted(r) or ""
