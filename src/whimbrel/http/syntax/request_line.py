"""The request line: its three words, and their faults (RFC 9112, 3).

A line is parsed to its end even after a fault, as the access log and the error page show its words.
"""

from __future__ import annotations

import re
from enum import Enum

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import upper
from whimbrel.http.syntax.line_reader import LogMessage, ParserOptions
from whimbrel.http.syntax.target import UriParts, split_target

_TOKEN = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]*")
_VISIBLE = re.compile(r"[!-~\x80-\xff]*")
_SPACE = re.compile(r"[\t\n\v\f\r ]")
_SPACES = re.compile(r"[\t\n\v\f\r ]*")
_PROTOCOL = re.compile(r"HTTP/([1-9])\.([0-9])")
LOG_NAME = 80  # bytes of a name that a message shows

HTTP_1_0 = (1, 0)
HTTP_0_9 = (0, 9)


class Fault(Enum):
    """A fault of a request line: the log code and the message; ``%s`` is the word concerned."""

    METHOD = "AH03445", "Invalid method token: '%s'"
    METHOD_09 = "AH03444", "Invalid method token: '%s' (only GET is allowed for HTTP/0.9 requests)"
    NO_URI = "AH03446", "Missing URI"
    URI = "AH03454", "URI incorrectly encoded: '%s'"
    WHITESPACE = "AH03447", "Invalid whitespace"
    EXCESS = "AH03448", "Excess whitespace (disallowed by HttpProtocolOptions Strict)"
    TRAILING = "AH03449", "Extraneous text found '%s' (perhaps whitespace was injected?)"
    REJECTED_09 = "AH02401", "Rejected HTTP/0.9 request"
    PROTOCOL = "AH02418", "Unrecognized protocol '%s' (perhaps whitespace was injected?)"
    UNKNOWN_METHOD = "AH02423", "Unrecognized HTTP method: '%s' (disallowed by RegisteredMethods)"
    TARGET = "AH03450", "Unable to parse URI: '%s'"
    FRAGMENT = "AH02421", "URI must not contain a fragment"
    USER = "AH02422", "URI must not contain a username/password"


@dataclass(slots=True)
class RequestLine:
    """A request line; *status* is the response if *reason* is set; *names_host*: the target's."""

    method: str
    target: str
    protocol: str
    version: tuple[int, int]
    line: str
    url: UriParts | None
    uri: str
    names_host: bool = False
    status: int = 200
    reason: LogMessage | None = None


class _Scan:
    """The words of a line and the decisive fault."""

    __slots__ = ("line", "strict", "fault", "method", "target", "protocol", "rest")

    def __init__(self, line: str, strict: bool) -> None:
        self.line = line
        self.strict = strict
        self.fault: Fault | None = None
        self.method = ""
        self.target = ""
        self.protocol = ""
        self.rest = ""

    def first(self, fault: Fault) -> None:
        """Note *fault* unless there is one."""
        self.fault = self.fault or fault

    def gap(self, at: int) -> int:
        """Return the end of the white space at *at*; anything but a single space is a fault."""
        end = _end(_SPACES, self.line, at)
        if self.strict and end - at > 1:
            self.first(Fault.EXCESS)
        if self.line[at:end].strip(" "):
            self.first(Fault.WHITESPACE)
        return end

    def run(self) -> None:
        at = _end(_SPACES, self.line, 0)
        if at:
            self.fault = Fault.WHITESPACE
        end = self._method(at)
        if end is None:
            return
        at = self.gap(end)
        if at == len(self.line):
            self.first(Fault.NO_URI)
        end = self._target(at)
        if end is not None:
            self._protocol(self.gap(end))

    def _method(self, at: int) -> int | None:
        """Return the end of the method; None if nothing can follow it."""
        end: int | None = _end(_TOKEN if self.strict else _VISIBLE, self.line, at)
        ends_well = end == len(self.line) or _SPACE.match(self.line, end or 0) is not None
        if end == at or not ends_well:
            if self.fault is not None:
                self.method, self.fault = self.line[at:end], Fault.URI
                return None
            self.fault = Fault.METHOD
            end = _next_space(self.line, end or 0)
        self.method = self.line[at:end]
        return end

    def _target(self, at: int) -> int | None:
        end: int | None = _end(_VISIBLE, self.line, at)
        if end == at or not (end == len(self.line) or _SPACE.match(self.line, end or 0)):
            self.fault = Fault.URI
            end = _next_space(self.line, end or 0)
        self.target = self.line[at:end]
        return end

    def _protocol(self, at: int) -> None:
        end = _end(_VISIBLE, self.line, at)
        self.protocol, tail = self.line[at:end], self.line[end:]
        if tail and _SPACE.match(tail) is None:
            self.fault = Fault.PROTOCOL
        elif tail and self.strict:
            self.fault = Fault.EXCESS
        elif tail:
            self.rest = tail.lstrip("\t\n\v\f\r ")
            if tail[: len(tail) - len(self.rest)].strip(" "):
                self.first(Fault.WHITESPACE)
            if self.rest:
                self.first(Fault.TRAILING)


def _end(pattern: re.Pattern[str], line: str, at: int) -> int:
    match = pattern.match(line, at)
    return match.end() if match else at


def _next_space(line: str, at: int) -> int | None:
    match = _SPACE.search(line, at)
    return match.start() if match else None


def parse_request_line(line: str, rules: ParserOptions) -> RequestLine:
    """Read *line*; the result names the method and target even where it carries a reason to refuse them."""
    scan = _Scan(line, rules.strict)
    scan.run()
    shown = " ".join(word for word in (scan.method, scan.target, scan.protocol) if word)
    if scan.target == "" and scan.protocol:
        shown = f"{scan.method} {scan.protocol}"
    protocol, version = _version(scan)
    url = split_target(scan.target, scan.method)
    request_line = RequestLine(scan.method, scan.target, protocol, version, shown, url, _uri(scan, url))
    if url is not None and url.hostname is not None:
        request_line.names_host = scan.method == "CONNECT" or (url.scheme or "").lower() == rules.scheme
    _judge(request_line, scan, rules)
    if request_line.reason is not None and request_line.version == HTTP_0_9:
        request_line.protocol = "HTTP/1.0"
        request_line.version = HTTP_1_0
    return request_line


def _version(scan: _Scan) -> tuple[str, tuple[int, int]]:
    """Return the protocol as text and number; a wrong name is a fault, and HTTP/0.9 from then on."""
    match = _PROTOCOL.fullmatch(scan.protocol)
    if match is not None:
        return scan.protocol, (int(match[1]), int(match[2]))
    loose = _PROTOCOL.fullmatch(upper(scan.protocol))
    if loose is not None:
        if scan.strict and scan.fault is None:
            scan.fault = Fault.PROTOCOL
            return scan.protocol, (int(loose[1]), int(loose[2]))
        return loose[0], (int(loose[1]), int(loose[2]))
    if scan.protocol:
        scan.first(Fault.PROTOCOL)
    return "HTTP/0.9", HTTP_0_9


def _uri(scan: _Scan, url: UriParts | None) -> str:
    if url is None:
        return scan.target
    return url.path or ("*" if scan.method == "OPTIONS" and url.hostname is not None else "/")


def _judge(request_line: RequestLine, scan: _Scan, rules: ParserOptions) -> None:
    """Return the decisive fault, in httpd's order: form before meaning."""
    fault = scan.fault
    if fault is None and request_line.version == HTTP_0_9:
        if not rules.allow09:
            fault = Fault.REJECTED_09
        elif rules.strict and request_line.method != "GET":
            fault = Fault.METHOD_09
    if fault is None and rules.registered_methods and request_line.method not in rules.methods:
        fault = Fault.UNKNOWN_METHOD
    if fault is None and _bad_target(request_line, rules):
        fault = Fault.TARGET
    if fault is None and rules.strict:
        fault = _strict_fault(request_line)
    if fault is None:
        return
    code, words = fault.value
    request_line.status = 501 if fault is Fault.UNKNOWN_METHOD else 400
    request_line.reason = LogMessage(
        "debug", code, "HTTP Request Line; " + words.replace("%s", _named(fault, request_line, scan))
    )


def _bad_target(request_line: RequestLine, rules: ParserOptions) -> bool:
    if request_line.url is None:
        return True
    if rules.version22 or request_line.url.path is None or request_line.url.path[:1] == "/":
        return False
    return not (request_line.method == "OPTIONS" and request_line.url.path == "*")


def _strict_fault(request_line: RequestLine) -> Fault | None:
    if request_line.url is not None and request_line.url.fragment is not None:
        return Fault.FRAGMENT
    if request_line.url is not None and (
        request_line.url.user is not None or request_line.url.password is not None
    ):
        return Fault.USER
    return None


def _named(fault: Fault, request_line: RequestLine, scan: _Scan) -> str:
    """Return the word that a message quotes, up to a colon."""
    if fault in (Fault.METHOD, Fault.METHOD_09, Fault.UNKNOWN_METHOD):
        word = request_line.method
    elif fault is Fault.PROTOCOL:
        word = scan.protocol
    else:
        if fault is Fault.TRAILING:
            word = scan.rest
        elif fault is Fault.URI:
            word = request_line.target
        else:
            word = request_line.uri
    return word.partition(":")[0][:LOG_NAME]
