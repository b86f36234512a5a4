"""One request to PHP: its head, the end of its body, and its messages, as libphp gives them to httpd."""

from __future__ import annotations

import re
from typing import Any, Final, cast

from whimbrel.backends.fastcgi import FastcgiReader, RecordType
from whimbrel.base.numbers import lower
from whimbrel.modules.support.cgi.script_head import ScriptHead
from whimbrel.modules.support.fastcgi_request import FastcgiBody, FastcgiRequest

# What the buffer of a response in httpd holds (APR_BUCKET_BUFF_SIZE): more is on its way before the end.
MAX_BUFFERED: Final = 8000
FULL_RECORD: Final = 8184  # the longest content of a record that PHP sends only because its buffer is full
_STATUS_LINE: Final = re.compile(r"HTTP/([^ ]*) +(.*)\Z", re.DOTALL).match
_MESSAGE: Final = "PHP message: "
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

    def __init__(self, r: Any, module: str, hidden: str) -> None:
        super().__init__(r, module)
        self._hidden = hidden
        self._lines = 0

    def line(self, text: str) -> int | None:
        """See ScriptHead: also take a status line as the first one."""
        self._lines += 1
        match = _STATUS_LINE(text) if self._lines == 1 else None
        if match is None:
            return super().line(text)
        self._first = False
        self._set_status_line(match[1], match[2])
        return None

    def _set_status_line(self, version: str, rest: str) -> None:
        """Take a status line: of HTTP/1.x with a reason as it is, of any other only the code."""
        if len(version) == 3 and version.startswith("1.") and len(rest) > 3:
            self._set_status(rest)
            if version == "1.0":
                self.r.env["force-response-1.0"] = "true"
            self.r.proto = (1, 0 if version == "1.0" else 1)
        else:
            self._set_status(rest[:3])

    def _field(self, name: str, value: str) -> None:
        low = lower(name)
        if low == "content-type" or (low == "status" and self._lines == 1):
            super()._field(name, value)
        elif low == "x-powered-by" and value == self._hidden:
            self._hidden = ""
        else:
            self.r.headers_out.add(name, value)


class PhpReader(FastcgiReader):
    """Reads the answer of PHP.

    Attributes:
        is_flushed: the script has sent a part of its output before the end.
    """

    __slots__ = ("_last", "is_flushed")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.is_flushed = False
        self._last = 0  # bytes of the standard output in the record before this one

    def _begin_record(self, data: bytes, at: int) -> None:
        super()._begin_record(data, at)
        is_output = self._kind == RecordType.STDOUT
        if is_output and self._left and 0 < self._last < FULL_RECORD:
            self.is_flushed = True
        self._last = self._left if is_output else 0


class PhpRequest(FastcgiRequest):
    """One request to PHP.

    Attributes:
        hidden: see `PhpHead`.
    """

    hidden = ""

    def make_reader(self) -> PhpReader:
        """See FastcgiRequest."""
        return PhpReader(self.messages, keep=self.keep)

    def head_reader(self) -> ScriptHead:
        """See FastcgiRequest."""
        return PhpHead(self.r, self.messages.module, self.hidden)

    def respond(self) -> None:
        """Make the output the body: bytes if httpd would have all of it before it sends the head.

        Then the response has a Content-Length, and a Range is answered.
        """
        reader = cast("PhpReader", self.connection.reader)
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
        for message in text.split(_MESSAGE):
            line = message.rstrip("\n").removesuffix("; ").rstrip("\n")
            if line:
                self.r.log(level_of_message(line), line, module=self.messages.module)
