"""From a line of an access log or an error log to the fields of the request form."""

from __future__ import annotations

from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.explain.error_lines import TLS_PORT, is_error_line, read_error_line, url_of_file
from whimbrel.explain.request_description import BadRequest, origin_of
from whimbrel.replay.configured_formats import formats_of
from whimbrel.replay.log_format import best_format
from whimbrel.studio.documents import Refused
from whimbrel.verify.probe import WRONG_PASSWORD, ProbeUser
from whimbrel.verify.side import Side

MAX_LOG_LINE: Final = 64 << 10
"""Bytes of a log line that is read."""


def form_of_log_line(line: str, side: Side) -> dict[str, object]:
    """Return the fields of the form for a line of either log; raises Refused."""
    text = line.strip("\r\n\t ")
    if not text:
        raise Refused("paste a line of an access log or an error log")
    if "\n" in text:
        raise Refused("paste one line: a request has one line in a log")
    if len(text) > MAX_LOG_LINE:
        raise Refused(
            f"the line has {len(text):,} bytes; lines of at most {MAX_LOG_LINE:,} bytes are read", 413
        )
    if is_error_line(text):
        return _of_error_line(text, side)
    data = to_bytes(text)
    form = best_format(formats_of(side), [data])
    logged = form.parse(data) if form is not None else None
    if logged is None:
        raise Refused("the line has none of the log formats of this configuration, nor that of an error log")
    is_tls = logged.port == TLS_PORT
    is_named = bool(logged.host) and logged.target.startswith("/")
    origin = origin_of(side.configuration, logged.host, logged.port, is_tls) if is_named else ""
    return {
        "url": logged.target,
        "host": logged.host_field or origin.partition("://")[2],
        "client": logged.client,
        "user": logged.user,
        "method": logged.method,
        "fields": [f"{name}: {value}" for name, value in logged.fields],
        "tls": is_tls or origin.startswith("https:"),
    }


def _of_error_line(text: str, side: Side) -> dict[str, object]:
    try:
        logged = read_error_line(text)
        found = url_of_file(side.configuration, logged.path, "")
    except BadRequest as problem:
        raise Refused(str(problem)) from None
    origin = origin_of(side.configuration, found.host, 0, found.is_tls) if found.host else ""
    return {
        "url": found.path,
        "host": origin.partition("://")[2],
        "client": logged.client,
        "user": "" if logged.user is None else _credentials(logged.user),
        "method": "GET",
        "fields": [],
        "tls": found.is_tls or origin.startswith("https:"),
    }


def _credentials(user: ProbeUser) -> str:
    """Return a user as the form has it: the name alone counts as one with the right password."""
    is_admitted = user.is_password_valid and user.is_assumed
    return user.name if is_admitted else f"{user.name}:{WRONG_PASSWORD}"
