"""Heads of program output: ap_scan_script_header_err, shared by all handlers that run or contact programs.

`ScriptHead.line` takes one line at a time and puts fields where httpd puts them: Content-Type and Status into
the request, Location, ETag and similar ones into headers_out.  All others go to err_headers_out, so error
pages keep them.  RFC 3875, section 6.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from whimbrel.base.numbers import atoi, is_digits, lower, strip
from whimbrel.engine.log.error_log_line import enabled
from whimbrel.http.semantics.conditional import PreconditionResult, meets_conditions
from whimbrel.http.semantics.dates import parse_http
from whimbrel.http.semantics.status import known
from whimbrel.http.syntax.url import escape_html
from whimbrel.modules.core.filters_by_type import set_content_type
from whimbrel.modules.core.handler import set_last_modified
from whimbrel.registry.phases import OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.http.semantics.headers import Headers

SHOWN: Final = 30  # characters of a bad line shown in a message
MAX_HEAD: Final = 128 * 1024  # bytes of a head; each field counts `FIELD_COST` more
FIELD_COST: Final = 64
_STATUS_LINE: Final = re.compile(r"HTTP/[0-9]\.[0-9] ([1-9][0-9][0-9])(?: .*)?\Z", re.DOTALL).match
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]").search
_CONNECTION_FIELDS: Final = frozenset(
    {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)
_OUT_24: Final = frozenset({"location", "etag", "content-range"})
_OUT_22: Final = frozenset({"location", "content-range", "content-length"})


def named_values(headers: Headers, name: str) -> list[tuple[str, str]]:
    """Return the fields *name* that are set, with this name."""
    return [(name, value) for value in headers.get_all(name)]


def replace_values(headers: Headers, name: str, fields: list[tuple[str, str]]) -> None:
    """Put *fields*, whose names the program has written, in the place of those called *name*, if any."""
    if fields:
        headers.unset(name)
        for written, value in fields:
            headers.add(written, value)


class ScriptHead:
    """The head of one program's output for *r*; *module* is the short name for the log."""

    def __init__(self, r: Request, module: str) -> None:
        self.r = r
        self.module = module
        self.bad = ""  # the line that ended the reading
        self._old = r.plan.dialect.wire_22
        self._is_traced = not self._old and enabled(r.plan.levels, module, "trace4")
        self._first = True
        self._size = 0
        self._status = False
        self._merge: list[tuple[str, str]] = []
        self._cookies = named_values(r.err_headers_out, "Set-Cookie")
        self._out = _OUT_22 if self._old else _OUT_24  # names stay as the program writes them
        if "ap_trust_cgilike_cl" in r.env:
            self._out |= {"content-length"}

    @property
    def name(self) -> str:
        """The script's file name without its directory."""
        return str(self.r.filename or "").rpartition("/")[2]

    def line(self, text: str) -> HookStatus | None:
        """Take one line without its line end; return None to continue, OK at the empty line, or the error
        status.

        Carriage returns are left out wherever they stand, and a NUL ends the line (getsfunc_BRIGADE).
        """
        r = self.r
        text = text.partition("\0")[0].replace("\r", "")
        if not text:
            return self._done()
        if self._is_traced:
            if self._first:
                r.log("trace4", f"Headers from script '{self.name}':", module=self.module)
            r.log("trace4", f"  {text}", module=self.module)
        name, colon, value = text.partition(":")
        if not colon:
            self.bad = text
            return self.malformed(text[:SHOWN])
        self._first = False
        if self._is_oversized(text):
            return 500
        self._field(name, value.lstrip(" \t\n\v\f\r"))
        return None

    def _is_oversized(self, text: str) -> bool:
        """Count one more line; return True, and log it, if the head exceeds `MAX_HEAD`."""
        self._size += len(text) + FIELD_COST
        if self._size <= MAX_HEAD:
            return False
        self._log(f"the head of script '{self.name}' is longer than {MAX_HEAD} bytes")
        return True

    def malformed(self, shown: str) -> HookStatus:
        """Handle a line without a colon."""
        self._log(
            f"malformed header from script. Bad header={shown}: {self.name}"
            if self._old
            else f"malformed header from script '{self.name}': Bad header: {shown}"
        )
        return 500

    def ended(self, unfinished: str = "") -> HookStatus:
        """Handle the end of output before the empty line; *unfinished* is the line without an end."""
        self.bad = unfinished.partition("\0")[0].replace("\r", "")
        words = (
            "Premature end of script headers"
            if self._old or not self._first
            else "End of script output before headers"
        )
        self._log(f"{words}: {self.name}")
        return 500

    def timed_out(self) -> HookStatus:
        """Handle a timeout."""
        text = "Premature end of script headers" if self._old else "Script timed out before returning headers"
        self._log(f"{text}: {self.name}")
        return 500 if self._old else 504

    def _log(self, text: str, level: str = "error") -> None:
        self.r.log(level, text, module=self.module)
        self.r.notes.setdefault("error-notes", escape_html(text))

    def _field(self, name: str, value: str) -> None:
        r = self.r
        low = lower(name)
        if low == "content-type":
            media, semicolon, rest = value.rstrip(" \t\n\v\f\r").partition(";")
            set_content_type(r, lower(media) + semicolon + rest)
            if r.content_type is not None and _CONTROL(r.content_type):
                r.headers_out.set("Content-Type", r.content_type)  # which the check of fields refuses
        elif low == "status":
            self._set_status(value)
        elif low in self._out:
            r.headers_out.set(name, value)
        elif low == "content-length" or low == "transfer-encoding":
            return  # the connection decides the framing of the body
        elif low == "last-modified":
            self._set_modified(value)
        elif low == "set-cookie":
            self._cookies.append((name, value))
        else:
            self._merge.append((name, value))

    def _set_status(self, value: str) -> None:
        self._status = True
        status = atoi(value)
        self.r.status = status
        self.r.status_line = _line_of(value, status, self._old)
        if not self._old:
            self.r.log("trace1", f"Status line from script '{self.name}': {value}", module=self.module)
        if not 100 <= status < 600 and not self._old:
            self._log(f"Invalid status line from script '{self.name}': {value[:SHOWN]}")

    def _set_modified(self, value: str) -> None:
        seconds = parse_http(value)
        if seconds is None:
            if self._old:
                self.r.mtime = None
            else:
                text = f"Ignored invalid header value: Last-Modified: '{value}'"
                self.r.log("info", text, code="AH10247", module=self.module)
            return
        modified = seconds * 1_000_000
        if self.r.mtime is None or self.r.mtime < modified:
            self.r.mtime = modified
        set_last_modified(self.r)

    def _done(self) -> HookStatus:
        r = self.r
        for name, value in self._merge:
            r.err_headers_out.merge(name, value)
        replace_values(r.err_headers_out, "Set-Cookie", self._cookies)
        if self._status or r.method_number != 0 or r.no_local_copy:
            return OK
        modified = int(r.time) if r.mtime is None else r.mtime // 1_000_000
        met = meets_conditions(
            r.method,
            r.headers_in,
            r.headers_out.get("ETag"),
            modified,
            int(r.time),
            r.status,
            version22=self._old,
        )
        if met is PreconditionResult.OK:
            return OK
        if met is PreconditionResult.NOT_MODIFIED:
            return 304
        return 412


def _line_of(value: str, status: int, old: bool) -> str | None:
    """Return the status line of a Status field: three digits and a reason; without one only if httpd has none
    for the code (validate_status_line).  2.4 ignores a reason with control characters.
    """
    if not is_digits(value[:3]) or (not old and _CONTROL(value)):
        return None
    if len(value) == 3:
        return None if known(status, version22=old) else value + " "
    return value if value[3:4] == " " and strip(value[4:]) else None


class NphHead(ScriptHead):
    """The head of a non-parsed-header script's answer to a request over HTTP/2: a status line, then fields.

    HTTP/1 sends what the script writes.  HTTP/2 has no such form: httpd reads the head and sends its fields
    (h2_c2_filter_parse_h1 of mod_http2), without those of the connection.  A line without a colon is skipped,
    and so is an interim response (1xx) before the final one.
    """

    def line(self, text: str) -> HookStatus | None:
        if self._first:
            self._first = False
            match = _STATUS_LINE(text)
            if match is None:
                self.bad = text
                return self.malformed(text[:SHOWN])
            self.r.status = int(match[1])
            return None
        if self._is_oversized(text):
            return 500
        is_interim = self.r.status < 200
        if not text:
            self._first = is_interim
            return None if is_interim else OK
        name, colon, value = text.partition(":")
        if is_interim:
            return None
        if colon and lower(name) == "content-type":
            set_content_type(self.r, strip(value))
        elif colon and lower(name) not in _CONNECTION_FIELDS:
            self.r.headers_out.add(name, strip(value))
        return None


def has_bare_status(lines: Iterable[str]) -> bool:
    """Return True if a field Status of *lines* has no reason; an error page then calls it unknown."""
    for line in lines:
        name, _, value = line.partition(":")
        if lower(name) == "status" and is_digits(strip(value)):
            return True
    return False
