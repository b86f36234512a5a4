"""ErrorLogFormat: compile a format to a function from a message to a line.  Manual:
mod/core.html#errorlogformat.

Spaces divide a format into fields.  A field with an empty item is omitted with the space before it; the
message is always written.  An item with a level is written from that level number on (the manual has it the
other way round).
"""

from __future__ import annotations

import base64
import os
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol

from whimbrel.base.latin1 import to_bytes
from whimbrel.config.model import Server
from whimbrel.engine.connection import Connection
from whimbrel.engine.identity import server_name
from whimbrel.engine.log.error_log_line import LEVELS, LogLine
from whimbrel.engine.request import Request
from whimbrel.http.semantics.dates import DAYS, MONTHS
from whimbrel.http.syntax.url import escape_errorlog_item


class FormatItem(Protocol):
    """An item of a format: *text* if *letter* is "", else a letter; *starts*: a new field begins."""

    @property
    def letter(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def argument(self) -> str: ...

    @property
    def flags(self) -> str: ...

    @property
    def level(self) -> int: ...

    @property
    def starts(self) -> bool: ...


class LogRecord(NamedTuple):
    """A line with its subject, *connection* and *r* (or the view of a cached one), None without."""

    line: LogLine
    now: float
    pid: int
    server: Server
    connection: Connection | None = None
    r: Request | None = None


ItemFn = Callable[[LogRecord, str], str]


def log_id() -> str:
    """Return a number for a request or a connection: eight random bytes in base64."""
    return base64.b64encode(os.urandom(8)).decode("ascii").rstrip("=")


def _client(m: LogRecord, argument: str) -> str:
    if m.connection is None:
        return ""
    c = m.connection
    return (
        f"{c.client_ip}:{c.client_port}"
        if argument == "c" or m.r is None
        else f"{c.useragent_ip or c.client_ip}:{c.useragent_port}"
    )


def _local(m: LogRecord, _argument: str) -> str:
    return "" if m.connection is None else f"{m.connection.local_ip}:{m.connection.local_port}"


def _environment(m: LogRecord, argument: str) -> str:
    return escape_errorlog_item(m.r.env.get(argument, "")) if m.r is not None else ""


def _field(m: LogRecord, argument: str) -> str:
    return escape_errorlog_item(m.r.headers_in.get(argument) or "") if m.r is not None else ""


def _note(m: LogRecord, argument: str) -> str:
    return escape_errorlog_item(m.r.notes.get(argument, "")) if m.r is not None else ""


def _keep_alives(m: LogRecord, _argument: str) -> str:
    return "" if m.connection is None else str(m.connection.served)


def _id(m: LogRecord, argument: str) -> str:
    if argument == "c" or (argument == "C" and m.r is None):
        return m.connection.log_id if m.connection is not None else ""
    return m.r.log_id if m.r is not None and argument != "C" else ""


def _thread(_m: LogRecord, argument: str) -> str:
    return str(threading.get_native_id() if argument == "g" else threading.get_ident())


def error_time(now: float, options: str) -> str:
    """%t: of the *options* ``u`` and ``m`` add a fraction, ``c`` is the ISO form, ``z`` adds the zone; with a
    ``%`` they are strftime's.
    """
    moment = datetime.fromtimestamp(now).astimezone()
    if "%" in options:
        return time.strftime(options, time.localtime(now))
    if "u" in options:
        fraction = f".{moment.microsecond:06}"
    elif "m" in options:
        fraction = f".{moment.microsecond // 1000:03}"
    else:
        fraction = ""
    clock = f"{moment:%H:%M:%S}{fraction}"
    shown = (
        f"{moment:%Y-%m-%d} {clock}"
        if "c" in options
        else (f"{DAYS[moment.weekday()]} {MONTHS[moment.month - 1]} {moment.day:02} {clock} {moment.year}")
    )
    return f"{shown} {moment:%z}" if "z" in options else shown


ITEMS: Final[dict[str, ItemFn]] = {
    "a": _client,
    "A": _local,
    "e": _environment,
    "E": lambda m, _a: m.line.cause,
    "F": lambda m, _a: m.line.source,
    "i": _field,
    "k": _keep_alives,
    "l": lambda m, _a: m.line.level,
    "L": _id,
    "m": lambda m, _a: m.line.module,
    "n": _note,
    "P": lambda m, _a: str(m.pid),
    "T": _thread,
    "t": lambda m, a: error_time(m.now, a),
    "v": lambda m, _a: m.server.name or "",
    "V": lambda m, _a: server_name(m.r) if m.r is not None else "",
}


def render(pieces: Sequence[FormatItem], m: LogRecord) -> str | None:
    """Return the line; None if a required item is empty."""
    out = ""
    field = ""
    skipping = False
    level = LEVELS[m.line.level]
    for piece in pieces:
        if piece.starts:
            out, field, skipping = out + field, "", False
        if piece.letter == "M":
            code = f"{m.line.code}: " if m.line.code else ""
            out, field = f"{out}{field}{code}{escape_errorlog_item(m.line.text)}", ""
        elif not piece.letter:
            field += "" if skipping else piece.text
        elif not skipping:
            hidden = level < piece.level
            value = "" if hidden else ITEMS[piece.letter](m, piece.argument)
            if not value and not hidden and "+" in piece.flags:
                return None
            if not value and not hidden and "-" in piece.flags:
                value = "-"
            field, skipping = (field + value, False) if value else ("", True)
    return out + field


class ErrorFormats:
    """The formats of a server: *main* (None: default); *more*: once per connection or request."""

    def __init__(self, main: Sequence[FormatItem] | None, more: dict[str, list[Any]]) -> None:
        self.main = main
        self.connection: list[Sequence[FormatItem]] = more.get("connection", [])
        self.request: list[Sequence[FormatItem]] = more.get("request", [])

    def once(self, pieces: Sequence[Sequence[FormatItem]], m: LogRecord) -> bytes:
        """Return the lines that a connection's or a request's first message brings."""
        lines = (render(line_format, m) for line_format in pieces)
        return to_bytes("".join(f"{line}\n" for line in lines if line))

    def line(self, m: LogRecord) -> bytes:
        """Return the line of a message under *main*."""
        return to_bytes(f"{render(self.main or (), m)}\n")
