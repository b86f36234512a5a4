"""Requests of `whimbrel serve --dialect both` that are sent to the other server too, and what differs.

A finished GET or HEAD is known by its log line: what the client sent of the fields that choose an answer, and
what it got. The same request with a mark goes to the other server, which does not send it back.
"""

from __future__ import annotations

import codecs
import http.client
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from whimbrel.base.numbers import is_digits
from whimbrel.cli.sent_status import sent_status

MARK: Final = "X-Whimbrel-Compare"
FIELDS: Final = (
    *("Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Cookie", "If-Match"),
    *("If-Modified-Since", "If-None-Match", "If-Range", "Range", "Referer", "User-Agent"),
)
"""Request fields that are sent again; of other fields the log line has nothing."""
ANSWER_FIELDS: Final = ("Location", "Content-Type", "WWW-Authenticate")
FORMAT: Final = "\t".join(
    [
        "%{local}p\t%B",
        *(f"%{{{name}}}o" for name in ANSWER_FIELDS),
        f"%{{{MARK}}}i",
        *(f"%{{{name}}}i" for name in FIELDS),
    ]
)
"""What follows in a log line after status, time, host and request line."""
_ANSWERED: Final = 6  # items before the fields of the answer: status, time, host, request line, port, size
_MARK: Final = _ANSWERED + len(ANSWER_FIELDS)
_SENT_AS_IS: Final = re.compile(r"[!-~]+\Z").match
"""Targets that the client of the comparison sends as they came."""
MAX_BODY: Final = 16 << 20
"""Bytes of a body that are read to know its length."""
TIMEOUT: Final = 10.0
"""Seconds for the answer of the other server."""


class LoggedAnswer(NamedTuple):
    """What is compared of an answer.

    Attributes:
        size: bytes of the body; -1 where it may differ: pages of errors and redirects name the server.
    """

    status: int
    size: int
    fields: tuple[str, ...]


class ComparedRequest(NamedTuple):
    """One request of a log line, with the answer that its client got."""

    method: str
    target: str
    host: str
    port: int
    headers: Mapping[str, str]
    answer: LoggedAnswer


def is_marked(line: str) -> bool:
    """Return True for the log line of a request that the other server's comparison has sent."""
    return line.split("\t")[_MARK : _MARK + 1] == ["1"]


def logged(line: str) -> ComparedRequest | None:
    """Return the request of a log line; None for one that is not compared."""
    parts = [_unescaped(part) for part in line.rstrip("\n").split("\t")]
    if len(parts) != _MARK + 1 + len(FIELDS):
        return None
    statuses, _time, host, request, port, size = parts[:_ANSWERED]
    status = sent_status(statuses)
    answered = parts[_ANSWERED:_MARK]
    sent = parts[_MARK + 1 :]
    words = request.split(" ")
    if parts[_MARK] or len(words) != 3 or words[0] not in ("GET", "HEAD") or not words[1].startswith("/"):
        return None
    if _SENT_AS_IS(words[1]) is None:
        return None
    if not (is_digits(status) and is_digits(size) and is_digits(port)):
        return None
    headers = {name: value for name, value in zip(FIELDS, sent, strict=True) if value}
    answer = _answer(int(status), int(size), answered, int(port))
    return ComparedRequest(words[0], words[1], host, int(port), headers, answer)


def other_answer(request: ComparedRequest, port: int) -> LoggedAnswer:
    """Return the answer of the server at *port* of this machine; raises OSError."""
    client = http.client.HTTPConnection("localhost", port, timeout=TIMEOUT)
    try:
        client.putrequest(request.method, request.target, skip_host=True, skip_accept_encoding=True)
        host = request.host.replace(f":{request.port}", f":{port}")
        for name, value in {"Host": host, **request.headers, MARK: "1", "Connection": "close"}.items():
            client.putheader(name, value.encode("latin-1"))
        client.endheaders()
        reply = client.getresponse()
        size = len(reply.read(MAX_BODY))
        fields = [reply.getheader(name) or "" for name in ANSWER_FIELDS]
        return _answer(reply.status, size, fields, port)
    except http.client.HTTPException as problem:
        raise OSError(f"{type(problem).__name__} {problem}".strip()) from None
    finally:
        client.close()


def difference(one: LoggedAnswer, other: LoggedAnswer) -> tuple[str, str] | None:
    """Return the texts of what differs, None for equal answers."""
    if one.status != other.status:
        return str(one.status), str(other.status)
    for name, first, second in zip(ANSWER_FIELDS, one.fields, other.fields, strict=True):
        if first != second:
            return f"{name}: {first or '(none)'}", f"{name}: {second or '(none)'}"
    if one.size != other.size:
        return f"{one.size} bytes", f"{other.size} bytes"
    return None


def _answer(status: int, size: int, fields: list[str], port: int) -> LoggedAnswer:
    has_own_body = status < 300
    return LoggedAnswer(
        status,
        min(size, MAX_BODY) if has_own_body else -1,
        tuple(value.replace(f":{port}", ":PORT") for value in fields),
    )


def _unescaped(text: str) -> str:
    """Return the value of a log item: ``-`` is none, and backslashes begin escapes."""
    if text == "-":
        return ""
    return codecs.decode(text.encode("latin-1"), "unicode_escape") if "\\" in text else text
