"""Reader of request heads from a growing buffer.

Most heads have a common form: two regular expressions recognize it and a split reads it, unless the field
block is cached. All others (folded lines, bare line feeds, HTTP/0.9, too long or malformed heads) go to the
exact reader, which decides as httpd does, message by message.  The same check followed by httptools takes a
quarter to a half longer, with two fields as with eight, so no other parser is used.

Manual: core.html (HttpProtocolOptions, LimitRequestLine, LimitRequestFields, LimitRequestFieldSize); RFC
9112.
"""

from __future__ import annotations

import re
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import LONG_MAX, decimal
from whimbrel.http.semantics.headers import Headers, Pair
from whimbrel.http.syntax.fields import FieldReader, Fields
from whimbrel.http.syntax.host import check_host, construct_host
from whimbrel.http.syntax.line_reader import (
    HeadLimits,
    InputState,
    Line,
    LogMessage,
    ParserOptions,
    read_line,
)
from whimbrel.http.syntax.request_line import RequestLine, parse_request_line
from whimbrel.http.syntax.target import UriParts

HeaderBlockCache = dict[
    bytes, tuple[dict[str, Pair], str, int | None] | None
]  # by their bytes, with host name and port; None: they came once
# fields that are cached: at most MAX_CACHED_BLOCK bytes in MAX_CACHED_FIELDS lines each
MAX_CACHED_BLOCKS: Final = 128
MAX_CACHED_BLOCK: Final = 4096
MAX_CACHED_FIELDS: Final = 32
DECIDING: Final = frozenset(("content-length", "transfer-encoding", "expect"))  # about more than the host
MAX_BLANK_LINES = 10  # empty lines allowed before a request

READ_22: Final = 8000  # bytes that 2.2 reads at once


@dataclass(frozen=True, slots=True)
class HeadError:
    """The error of a head that is answered with an error page.  The connection ends after the response,
    whatever *status* is.

    Attributes:
        reasons: lines for the error log.
        notes: text for the page (``error-notes``).
        additional: set if 2.2 reports the error a second time in the page.
        hooks: False if httpd responds before it selects a virtual host and runs modules.
    """

    status: int
    reasons: tuple[LogMessage, ...] = ()
    notes: str = ""
    additional: int = 0
    hooks: bool = False


@dataclass(slots=True)
class Head:
    """A request head.

    Attributes:
        raw, end: its bytes, and the start of the body in the buffer.
        method: None if the line could not be read (``-`` in the access log); `line`: the request line for
            the access log, or None.
        protocol, version: the text (``HTTP/1.1``) and its numbers, (0, 9) for a line without it.
        uri, query: the path as sent; what follows ``?``, or None.
        url: all parts of a target that is not in origin form.
        hostname, port: from the target or Host, in lower case; None where there is none.
        chunked, length: the framing of the body (None: no Content-Length); `length_bad`: 2.2 refuses the
            Content-Length when the body is read.
        close: the connection ends after this request.
        notes: lines for the error log that are not errors.
    """

    raw: bytes
    end: int
    method: str | None
    target: str
    protocol: str
    version: tuple[int, int]
    headers: Headers
    line: str | None
    uri: str
    query: str | None = None
    url: UriParts | None = None
    hostname: str | None = None
    port: int | None = None
    chunked: bool = False
    length: int | None = None
    length_bad: bool = False
    expect_continue: bool = False
    close: bool = False
    error: HeadError | None = None
    notes: tuple[LogMessage, ...] = ()


_PLAIN_LINE = re.compile(
    r"([A-Z]+) ((/(?!/)[!\"$->@-~\x80-\xff]*+)(?:\?([!\"$-~\x80-\xff]*+))?) HTTP/1\.([01])"
).fullmatch
_PLAIN_FIELDS = re.compile(r"((?:[-!#$%&'*+.^_`|~0-9A-Za-z]++:[ \t]*+[\t -~\x80-\xff]*+\r\n)*)\r\n").fullmatch
_FIELDS = re.compile(r"([^:]++):[ \t]*+([^\r]*+)\r\n").findall  # of the lines that _PLAIN_FIELDS let through
# Names of fields as clients spell them; others take a call each.
_LOWER: Final = {
    name: name.lower()
    for known in (
        "Host",
        "User-Agent",
        "Accept",
        "Accept-Language",
        "Accept-Encoding",
        "Connection",
        "Cookie",
        "Referer",
        "Cache-Control",
        "Pragma",
        "If-None-Match",
        "If-Modified-Since",
        "Range",
        "Upgrade-Insecure-Requests",
        "Origin",
        "Sec-Fetch-Dest",
        "Sec-Fetch-Mode",
        "Sec-Fetch-Site",
        "Sec-Fetch-User",
        "Content-Type",
        "Content-Length",
        "Authorization",
        "X-Forwarded-For",
        "X-Requested-With",
        "DNT",
        "Via",
    )
    for name in (known, known.lower())
}
_COMPOSED = re.compile(r"([A-Z]+) ((/(?!/)[!\"$->@-~\x80-\xff]*+)(?:\?([!\"$-~\x80-\xff]*+))?) HTTP/2\.0")
_PLAIN_HOST = re.compile(
    r"(?:[a-z][a-z0-9\-]*+(?:\.[a-z][a-z0-9\-]*+)*|(?:(?:0|[1-9][0-9]{0,2})\.){3}(?:0|[1-9][0-9]{0,2}))(?::(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}))?"
)
_PROTOCOLS = {"1": ("HTTP/1.1", (1, 1)), "0": ("HTTP/1.0", (1, 0))}
HTTP_1_1 = (1, 1)


def read_head(
    data: bytes,
    limits: HeadLimits,
    rules: ParserOptions,
    *,
    ending: InputState = InputState.OPEN,
    known: HeaderBlockCache | None = None,
) -> Head | None:
    """Return the head at the front of *data*, or None if more bytes are needed.

    *ending* is set if no more bytes will come; None then means that there was no request, and the connection
    is closed without a response. *known*: see `read_complete`.
    """
    head = read_complete(data, limits, rules, known)
    return HeadReader(data, limits, rules).read(ending) if head is None else head


def read_complete(
    data: bytes,
    limits: HeadLimits,
    rules: ParserOptions,
    known: HeaderBlockCache | None = None,
) -> Head | None:
    """Return the head at the front of *data* if it is complete and of the common form, else None.

    *known* are fields that were read before, under the same limits and rules: clients send the same ones
    again and again.
    """
    stop = data.find(b"\r\n\r\n")
    if stop < 0 or stop + 4 > limits.plain:
        return None
    return _read_plain(data[: stop + 4], stop + 4, limits, rules, known)


class HeadReader:
    """Reads a head of any form as it arrives, each line once: `data` is the input so far, extended by the
    owner between calls of `read`.
    """

    __slots__ = ("_fields", "_head", "_limits", "_rules", "data")

    def __init__(self, data: bytes | bytearray, limits: HeadLimits, rules: ParserOptions) -> None:
        self.data = bytearray(data)
        self._limits = limits
        self._rules = rules
        self._head: Head | None = None  # with the values of its first line, once that is read
        self._fields: FieldReader | None = None

    def read(self, ending: InputState = InputState.OPEN) -> Head | None:
        """See `read_head`."""
        head = self._head
        fields = self._fields
        if head is None or fields is None:
            line = _first_line(self.data, self._limits, self._rules, ending)
            if line.kind in ("more", "end"):
                return None
            if line.kind != "ok":
                return _unreadable(self.data, line, self._limits, self._rules)
            head = _begun(self.data, line, self._rules)
            if head.error is not None or head.version == (0, 9):
                return head
            self._head = head
            fields = FieldReader(line.next, self._limits, self._rules)
            self._fields = fields
        found = fields.read(self.data, ending)
        return None if found is None else _with_fields(head, found, self.data, self._rules)


def head_from_parts(raw: bytes, line: str, headers: Headers, rules: ParserOptions) -> Head:
    """Return the head of a request that came in parts (HTTP/2), judged like any other: *line* as HTTP/1 would
    have it, *headers* with every name once.
    """
    match = _COMPOSED.fullmatch(line)
    entries = {name.lower(): (name, value) for name, value in headers.items()}
    if match is not None and not rules.registered_methods and match[1] != "CONNECT":
        method, target, uri, query = match.groups()
        return _finish(
            Head(raw, 0, method, target, "HTTP/2.0", (2, 0), headers, line, uri, query), entries, rules
        )
    parsed = parse_request_line(line, rules)
    head = _from_line(parsed, raw, 0, len(raw))
    head.headers = headers
    if parsed.reason is not None:
        head.error = _refused(parsed.status, rules, parsed.reason)
        return head
    return _finish(head, entries, rules)


def _read_plain(
    raw: bytes, end: int, limits: HeadLimits, rules: ParserOptions, known: HeaderBlockCache | None
) -> Head | None:
    """Return a head of the common form, None for any other."""
    cut = raw.find(b"\r\n")
    line = raw[:cut].decode("latin-1")
    match = _PLAIN_LINE(line)
    if match is None:
        return None
    method, target, uri, query, minor = match.groups()
    if method == "CONNECT" or (rules.registered_methods and method not in rules.methods):
        return None
    protocol, version = _PROTOCOLS[minor]
    lines = raw[cut + 2 :]
    found = known.get(lines) if known is not None else None
    if found is not None:
        entries, name, port = found
        return Head(
            raw,
            end,
            method,
            target,
            protocol,
            version,
            Headers.from_unique(entries.copy()),
            line,
            uri,
            query,
            None,
            name,
            port,
        )
    fields = _plain_fields(lines, limits)
    if fields is None:
        return None
    head = _finish(
        Head(raw, end, method, target, protocol, version, Headers.from_unique(fields), line, uri, query),
        fields,
        rules,
    )
    if (
        known is not None
        and head.error is None
        and head.hostname
        and DECIDING.isdisjoint(fields)
        and len(lines) <= MAX_CACHED_BLOCK
        and len(fields) <= MAX_CACHED_FIELDS
    ):
        if lines in known:
            known[lines] = (fields.copy(), head.hostname, head.port)
        else:
            if len(known) >= MAX_CACHED_BLOCKS:
                known.clear()
            known[lines] = None
    return head


def _plain_fields(lines: bytes, limits: HeadLimits) -> dict[str, Pair] | None:
    """Fields of the common form, by their lower-case names; None for others."""
    match = _PLAIN_FIELDS(lines.decode("latin-1"))
    if match is None:
        return None
    text = match[1]
    fields = _FIELDS(text)
    entries = {_LOWER[name] if name in _LOWER else name.lower(): (name, value) for name, value in fields}
    count = len(fields)
    if len(entries) != count or 0 < limits.fields < count:
        return None
    if " \r\n" in text or "\t\r\n" in text:
        entries = {low: (name, value.rstrip(" \t")) for low, (name, value) in entries.items()}
    return entries


def _finish(head: Head, entries: dict[str, tuple[str, str]], rules: ParserOptions) -> Head:
    """Evaluate body, host and expectation; *entries* by lower-case name."""
    if "content-length" in entries or "transfer-encoding" in entries:
        head.error = _frame(head, rules)
        if head.error is not None:
            return head
    host = entries.get("host")
    if head.url is not None or host is None:
        head.error = _host_error(head, rules)
    else:
        match = _PLAIN_HOST.fullmatch(host[1].lower())
        if match is None:
            head.error = _host_error(head, rules)
        else:
            name, _, port = match[0].partition(":")
            head.port = int(port) if port else None
            head.hostname = name
    if "expect" in entries and (head.error is None or rules.version22):
        head.error = _expectation(head, rules) or head.error
    return head


def _frame(head: Head, rules: ParserOptions) -> HeadError | None:
    """Evaluate Content-Length and Transfer-Encoding (RFC 9112, 6): set framing, or refuse."""
    text = head.headers.get("Content-Length")
    coding = head.headers.get_list("Transfer-Encoding")
    if text is not None:
        head.length = content_length(text, signed=rules.version22)
        if head.length is None and not rules.version22:
            return _refused(
                400,
                rules,
                LogMessage("debug", "AH10242", f"client sent invalid Content-Length ({text}): {head.uri}"),
            )
        head.length_bad = head.length is None
    if coding is None:
        return None
    if not is_chunked(coding):
        return _refused(
            400,
            rules,
            LogMessage("debug", "AH02539", f"client sent unknown Transfer-Encoding ({coding}): {head.uri}"),
        )
    head.chunked = True
    if text is not None:
        head.headers.unset("Content-Length")
        head.length = None
        head.length_bad = False
        head.close = not rules.version22
    return None


def content_length(text: str, *, signed: bool = False) -> int | None:
    """Return a length of at most 63 bits in digits (*signed*: as C's strtoll, ``+5``), else None."""
    pattern = r"\+?[0-9]+|-0+" if signed else r"[0-9]+"
    if re.fullmatch(pattern, text, re.ASCII) is None:
        return None
    value = decimal(text.lstrip("+-"))
    return value if value <= LONG_MAX else None


def is_chunked(coding: str) -> bool:
    """Return True if the last transfer coding, behind a comma or alone, is ``chunked``."""
    return re.search(r"(?:\A|, *)chunked\Z", coding, re.IGNORECASE | re.ASCII) is not None


def _refused(
    status: int,
    rules: ParserOptions,
    *reasons: LogMessage,
    notes: str = "",
    additional: int = 0,
    hooks: bool = False,
) -> HeadError:
    lines = tuple(LogMessage(r.level, "", r.text, r.cause) for r in reasons) if rules.version22 else reasons
    return HeadError(status, lines, notes, additional, hooks)


def _host_error(head: Head, rules: ParserOptions) -> HeadError | None:
    """Set the host name from target or Host field, which the target replaces; or return the refusal."""
    field_value = head.headers.get("Host")
    named = head.url is not None and head.hostname is not None
    given = head.hostname if named else field_value
    if given:
        checked = check_host(given, rules, from_target=named)
        if checked.reasons:
            return _refused(
                400, rules, *checked.reasons, additional=400 if rules.version22 else 0, hooks=True
            )
        head.hostname = checked.name
        head.port = head.port if named else checked.port
    if named and field_value is not None and rules.strict and head.url is not None:
        fresh = construct_host(head.hostname or "", head.url.port_text, ":" in (given or ""))
        head.headers.set("Host", fresh)
        head.notes += (
            LogMessage(
                "debug",
                "AH02417",
                f"Replacing host header '{field_value}' with host '{fresh}' given in the request uri",
            ),
        )
    if (head.hostname is None and head.version >= HTTP_1_1) or (
        head.version == HTTP_1_1 and field_value is None
    ):
        text = f"client sent HTTP/1.1 request without hostname (see RFC2616 section 14.23): {head.uri}"
        return _refused(400, rules, LogMessage("debug", "AH00569", text), hooks=True)
    return None


def _expectation(head: Head, rules: ParserOptions) -> HeadError | None:
    value = head.headers.get_list("Expect") or ""
    if value.lower() == "100-continue":
        head.expect_continue = True
    elif value:
        reason = LogMessage(
            "info", "AH00570", f"client sent an unrecognized expectation value of Expect: {value}"
        )
        return _refused(
            417,
            rules,
            reason,
            additional=417 if head.error is not None and head.error.additional else 0,
            hooks=True,
        )
    return None


def _begun(data: bytes | bytearray, line: Line, rules: ParserOptions) -> Head:
    """Return a head with the first line's values alone: for a refused one, and for HTTP/0.9."""
    parsed = parse_request_line(line.text, rules)
    head = _from_line(parsed, bytes(data[: line.next]), 0, line.next)
    if parsed.reason is not None:
        head.error = _refused(parsed.status, rules, parsed.reason)
    elif parsed.version == (0, 9):
        head.error = _host_error(head, rules)
    return head


def _with_fields(head: Head, fields: Fields, data: bytes | bytearray, rules: ParserOptions) -> Head:
    head.headers = fields.headers
    head.end = fields.next
    head.raw = bytes(data[: fields.next])
    if fields.status:
        failed = LogMessage("debug", "AH00567", "request failed: error reading the headers")
        head.error = _refused(fields.status, rules, *fields.reasons, failed, notes=fields.notes)
        return head
    return _finish(head, {name.lower(): (name, value) for name, value in fields.headers.items()}, rules)


def _first_line(
    data: bytes | bytearray, limits: HeadLimits, rules: ParserOptions, ending: InputState
) -> Line:
    """Return the request line; empty lines before it are skipped, the eleventh one counts as the line."""
    at = 0
    for _ in range(MAX_BLANK_LINES + 1):
        line = read_line(data, at, limits.line, rules, ending)
        if line.kind != "ok" or line.text:
            break
        at = line.next
    return line


def _unreadable(data: bytes | bytearray, line: Line, limits: HeadLimits, rules: ParserOptions) -> Head:
    """Return the response to a line that is too long, or that ends wrongly."""
    shown: str | None = line.text
    if (
        rules.version22 and line.kind == "long"
    ):  # 2.2 has stored the reads before the one that was too much, less a byte for the NUL
        full_blocks = limits.line // READ_22 * READ_22
        shown = data[: full_blocks - 1].decode("latin-1") if full_blocks else None
    head = Head(bytes(data[: line.next]), line.next, None, "", "HTTP/1.0", (1, 0), Headers(), shown, "-")
    if line.kind == "long":
        text = f"request failed: client's request-line exceeds LimitRequestLine (longer than {limits.line})"
        head.error = _refused(414, rules, LogMessage("info", "AH00565", text))
    else:
        head.error = _refused(
            400, rules, LogMessage("debug", "AH00566", "request failed: malformed request line")
        )
    return head


def _from_line(parsed: RequestLine, data: bytes, start: int, end: int) -> Head:
    url = parsed.url
    plain = url is None or (url.scheme is None and url.hostname is None)
    hostname: str | None = None
    port: int | None = None
    if url is not None and url.hostname is not None and parsed.names_host:
        hostname = url.hostname
        port = url.port if url.port_text is not None else None
    return Head(
        data[start:end],
        end,
        parsed.method,
        parsed.target,
        parsed.protocol,
        parsed.version,
        Headers(),
        parsed.line,
        parsed.uri,
        url.query if url is not None else None,
        None if plain else url,
        hostname,
        port,
    )
