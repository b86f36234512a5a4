"""Requests to OCSP responders over HTTP/1.0, with a bound of time and bytes (modssl_dispatch_ocsp_request).

Everything here blocks: it runs in threads of a worker.  RFC 6960, appendix A.
"""

from __future__ import annotations

import encodings.idna  # noqa: F401  which getaddrinfo imports on first use
import socket
from time import monotonic
from typing import Final
from urllib.parse import SplitResult, urlsplit

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.engine.log.error_log_line import LogLine

MAX_HEAD_LINES: Final = 256
MAX_LINE: Final = 8192
MAX_CONTENT: Final = 2 * 1024 * 1024
_PIECE: Final = 64 * 1024
_MODULE: Final = "ssl"
_REQUEST: Final = (
    "POST {} HTTP/1.0\r\nHost: {}\r\nContent-Type: application/ocsp-request\r\nConnection: close\r\n"
    "Content-Length: {}\r\n\r\n"
)


@dataclass(frozen=True, slots=True)
class Responder:
    """An OCSP responder: *url* is http; *proxy* the URL of a proxy, "" without one; *timeout* in seconds."""

    url: str
    proxy: str
    timeout: float


class ResponderError(Exception):
    """No response; *line* is httpd's line for the error log."""

    def __init__(self, text: str, code: str, cause: str = "") -> None:
        super().__init__(text)
        self.line = LogLine("error", text, code, _MODULE, cause)


def split(url: str) -> SplitResult | None:
    """Return the parts of an absolute URL, None for one that has no host or a malformed port."""
    try:
        parts = urlsplit(url)
        return parts if parts.hostname and (parts.port or True) else None
    except ValueError:
        return None


def exchange(responder: Responder, request: bytes) -> bytes:
    """Return the body of the response to *request*.

    Raises:
        ResponderError: there is none within the time, or it is no response of 2xx.
    """
    parts = split(responder.url)
    through = split(responder.proxy or responder.url)
    if parts is None or through is None:
        raise ResponderError(f"could not resolve address of OCSP responder {responder.url}", "AH01972")
    port = through.port or 80
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    target = f"http://{parts.netloc}{path}" if responder.proxy else path
    host = f"{parts.hostname}:{parts.port or 80}"
    end = monotonic() + responder.timeout
    with _connect(
        through.hostname or "", port, end, "OCSP proxy" if responder.proxy else "OCSP responder"
    ) as wire:
        try:
            wire.sendall(to_bytes(_REQUEST.format(target, host, len(request))) + request)
        except OSError as problem:
            text = f"failed to send request to OCSP responder '{host}'"
            raise ResponderError(text, "AH01976", _cause(problem)) from None
        return _body(_Input(wire, end))


def _cause(problem: OSError) -> str:
    if isinstance(problem, TimeoutError) or problem.errno is None:
        return "(70007)The timeout specified has expired"
    return f"({problem.errno}){problem.strerror}"


def _connect(host: str, port: int, end: float, kind: str) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ResponderError(f"could not resolve address of {kind} {host}:{port}", "AH01972") from None
    cause = ""
    for family, kind_of_socket, protocol, _name, address in found:
        wire = socket.socket(family, kind_of_socket, protocol)
        try:
            wire.settimeout(max(end - monotonic(), 0.001))
            wire.connect(address)
            return wire
        except OSError as problem:
            wire.close()
            cause = _cause(problem)
    raise ResponderError(f"could not connect to {kind} '{host}:{port}'", "AH01974", cause)


class _Input:
    """Bytes of a responder until *end* (monotonic clock)."""

    def __init__(self, wire: socket.socket, end: float) -> None:
        self._wire = wire
        self._end = end
        self._data = b""
        self.ended = False

    def more(self) -> bytes:
        """Return the next bytes, b"" at the end; raises ResponderError."""
        if self._data:
            data, self._data = self._data, b""
            return data
        try:
            self._wire.settimeout(max(self._end - monotonic(), 0.001))
            return self._wire.recv(_PIECE)
        except OSError as problem:
            text = "error reading response from OCSP server"
            raise ResponderError(text, "AH01985", _cause(problem)) from None

    def line(self) -> str | None:
        """Return the next line without its end, None at the end of the input; raises ResponderError."""
        line = b""
        while b"\n" not in line:
            data = self.more()
            if not data:
                return None
            line += data
            if len(line.partition(b"\n")[0]) > MAX_LINE:
                raise ResponderError("response header line too long from OCSP server", "AH01979")
        first, _, self._data = line.partition(b"\n")
        return to_text(first.removesuffix(b"\r"))


def _body(source: _Input) -> bytes:
    line = source.line()
    words = (line or "").split(" ", 2)
    if line is None or not line.startswith("HTTP/") or len(words) < 2 or not words[1].startswith("2"):
        raise ResponderError(
            f"bad response from OCSP server: {'(none)' if line is None else line}", "AH01980"
        )
    for _ in range(MAX_HEAD_LINES):
        line = source.line()
        if line is None:
            raise ResponderError("could not read response header from OCSP server", "AH01983")
        if not line:
            break
    else:
        text = f"could not read response headers from OCSP server, exceeded maximum count ({MAX_HEAD_LINES})"
        raise ResponderError(text, "AH01982")
    body = bytearray()
    while data := source.more():
        body += data
        if len(body) > MAX_CONTENT:
            raise ResponderError(f"OCSP response size exceeds {MAX_CONTENT} byte limit", "AH01986")
    return bytes(body)
