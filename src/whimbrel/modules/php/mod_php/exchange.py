"""One request to PHP: its head, the end of its body, and its messages, as libphp gives them to httpd."""

from __future__ import annotations

import re
from typing import Any, Final, cast

from whimbrel.backends.fastcgi import FastcgiReader, RecordType
from whimbrel.backends.script_lines import MAX_HEAD
from whimbrel.base.numbers import lower, strtol
from whimbrel.engine.request import Request
from whimbrel.http.semantics.status import known
from whimbrel.modules.core.filters_by_type import set_content_type
from whimbrel.modules.support.cgi.script_head import ScriptHead
from whimbrel.modules.support.fastcgi_request import FastcgiBody, FastcgiRequest
from whimbrel.registry.phases import HookStatus

# What the buffer of a response in httpd holds (APR_BUCKET_BUFF_SIZE): more is on its way before the end.
MAX_BUFFERED: Final = 8000
FULL_RECORD: Final = 8184  # the longest content of a record that PHP sends only because its buffer is full
NO_RESPONSE: Final = "the process of PHP ended before its response"
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]").search
_STATUS_LINE: Final = re.compile(r"HTTP/([^ ]*) +(.*)\Z", re.DOTALL).match
_MESSAGE: Final = "PHP message: "
_UNOPENED: Final = "Unable to open primary script: "  # of php-fpm, which answers 403 or 404 then
_LEVELS: Final = (
    ("warn", ("PHP Warning:", "PHP Core Warning:", "PHP Compile Warning:", "PHP User Warning:")),
    ("error", ("PHP Fatal error:", "PHP Parse error:", "PHP Recoverable fatal error:", "PHP Catchable")),
    ("info", ("PHP Deprecated:", "PHP Strict Standards:")),
)


def level_of_message(line: str) -> str:
    """Return the level at which libphp logs a message of PHP."""
    return next((level for level, starts in _LEVELS if line.startswith(starts)), "notice")


class PhpHead(ScriptHead):
    """The fields of a script as libphp sets them: all in headers_out, in order, with Content-Length.

    The first line is PHP's own: the status line of ``header('HTTP/1.1 404 Text')``, or a field Status.  A
    later Status is a field of the script.  *hidden* is the value of an X-Powered-By that only this server's
    configuration of PHP has added, "" for none.
    """

    def __init__(self, r: Request, module: str, hidden: str) -> None:
        super().__init__(r, module)
        self._hidden = hidden
        self._lines = 0

    def line(self, text: str) -> int | None:
        """See ScriptHead: also take a status line as the first one."""
        self._lines += 1
        match = _STATUS_LINE(text) if self._lines == 1 else None
        if match is None:
            if text and ":" not in text:  # of header('X'), which libphp leaves out
                return None
            return super().line(text)
        self._first = False
        self._set_status_line(match[1], match[2])
        return None

    def fail(self) -> None:
        """Make the response that of a fatal error at the start of a script."""
        self._set_status_line("1.0", "500 Internal Server Error")

    def _set_status_line(self, version: str, rest: str) -> None:
        """Take a status line: of HTTP/1.x with a reason as it is, of any other only the code."""
        if len(version) == 3 and version.startswith("1.") and len(rest) > 3:
            self._set_status(rest)
            if version == "1.0":
                self.r.env["force-response-1.0"] = "true"
            self.r.proto = (1, 0 if version == "1.0" else 1)
        else:
            self._set_code(rest[:3])

    def _set_code(self, value: str) -> None:
        """Set a status without a reason: httpd has its own, and none for a code that it does not know."""
        self._set_status(value)
        self.r.status_line = None if known(self.r.status) else "500 Internal Server Error"

    def _field(self, name: str, value: str) -> None:
        low = lower(name)
        if low == "content-type":
            self._set_type(value)
        elif low == "content-length":
            self._set_length(value)
        elif low == "status" and self._lines == 1:
            self._set_code(value)
        elif low == "x-powered-by" and value == self._hidden:
            self._hidden = ""
        else:
            self.r.headers_out.add(name, value)

    def _set_type(self, value: str) -> None:
        """Set the type in the letters of the script; the check of fields refuses control characters."""
        set_content_type(self.r, value)
        if _CONTROL(value):
            self.r.headers_out.set("Content-Type", value)

    def _set_length(self, value: str) -> None:
        """Set the length that the script announces, read as libphp does: digits count, "x" is 0.

        A negative one is left out: libphp would send a message without a known end.
        """
        length = strtol(value)[0]
        if length < 0:
            self.r.headers_out.unset("Content-Length")
        else:
            self.r.headers_out.set("Content-Length", str(length))


class PhpReader(FastcgiReader):
    """Reads the answer of PHP.

    Attributes:
        is_flushed: the script has sent a part of its output before the end.
    """

    __slots__ = ("_last", "is_flushed")
    max_line = MAX_HEAD  # libphp bounds no line

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.is_flushed = False
        self._last = 0  # bytes of the standard output in the record before this one

    @property
    def is_working(self) -> bool:
        """Return True if PHP has sent no more than a full buffer: httpd would wait for the rest."""
        is_full = self._last >= FULL_RECORD and not self.is_flushed
        return is_full and not self.done and self.buffered <= MAX_BUFFERED

    def _begin_record(self, data: bytes, at: int) -> None:
        super()._begin_record(data, at)
        is_output = self._kind == RecordType.STDOUT
        has_body = self.head is not None  # a long field is in records of any size
        if is_output and has_body and self._left and 0 < self._last < FULL_RECORD:
            self.is_flushed = True
        self._last = self._left if is_output else 0


class PhpRequest(FastcgiRequest):
    """One request to PHP.

    Attributes:
        hidden: see `PhpHead`.
    """

    hidden = ""
    _is_unopened = False  # PHP could not open the script

    def make_reader(self) -> PhpReader:
        return PhpReader(self.messages, keep=self.keep)

    async def _next_head(self) -> None:
        """See FastcgiRequest: also wait for the rest of a short body, which decides about its length."""
        await super()._next_head()
        reader = cast("PhpReader", self.connection.reader)
        while reader.is_working and self.connection.failure is None:
            await self.connection.changed()
        self.log_errors(reader)

    def _read_head(self) -> HookStatus:
        """See FastcgiRequest: PHP writes a head always, so output without one is a failure of PHP."""
        head = cast("PhpReader", self.connection.reader).head
        if head is None or head.script_lines is None:
            self.r.log("error", NO_RESPONSE, module=self.messages.module)
            return 500
        status = super()._read_head()
        if self._is_unopened and self.r.status in (403, 404):
            PhpHead(self.r, self.messages.module, "").fail()
        return status

    def head_reader(self) -> ScriptHead:
        return PhpHead(self.r, self.messages.module, self.hidden)

    def respond(self) -> None:
        """Make the output the body: bytes if httpd would have all of it before it sends the head.

        Then the response has a Content-Length, and a Range is answered.
        """
        reader = cast("PhpReader", self.connection.reader)
        if self._is_unopened and self.r.status == 500:
            self.abort()
            return
        if not reader.done or reader.is_flushed or reader.buffered > MAX_BUFFERED:
            self.r.body.append(FastcgiBody(self))
            return
        data = self.connection.take()
        self.finish()
        self.connection.finish()
        if data:
            self.r.body.append(data)

    def log_stderr(self, text: str) -> None:
        """Log messages of PHP at the levels of libphp."""
        text, unopened, reason = text.partition(f"{_UNOPENED}{self.r.filename} (")
        if unopened:
            self._is_unopened = True
            text += f"{_MESSAGE}PHP Fatal error:  Failed opening required '{self.r.filename}' ({reason}"
        for message in text.split(_MESSAGE):
            line = message.rstrip("\n").removesuffix("; ").rstrip("\n")
            if line:
                self.r.log(level_of_message(line), line, module=self.messages.module)
