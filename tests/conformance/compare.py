"""Compare a reply with the recorded response, at rising levels, and log files with the recorded lines.

Date, Server and the name of the program are not compared; a placeholder of the recording matches any text.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tests.conformance.case import Record, Version
from tests.conformance.client import Fields, Reply
from tests.conformance.masks import Mask, has_product, mask_access_line, matches
from tests.conformance.multistatus import sort_multistatus

IGNORED_FIELDS = frozenset({"date", "server", "x-pad"})
FRAMING_FIELDS = frozenset({"content-length", "transfer-encoding"})
LIFECYCLE_CODES = frozenset(
    "AH00094 AH00170 AH00292 AH00295 AH00489 AH00491 AH00492 AH00493 AH01757 AH01758 AH02282".split()
)
"""Codes of the start and the end of a server, which are not recorded with a site."""
LIFECYCLE_LINE = re.compile(
    r"resuming normal operations|Command line:|caught SIGTERM|configured -- "
    r"|Digest: (?:generating|done)|removed PID file"
)
_CODE = re.compile(r"\bAH\d{5}\b")
_INODE = re.compile(r'^((?:W/)?")[0-9a-f]+-([0-9a-f]+-[0-9a-f]+)')
_SHORT_PLACEHOLDER = re.compile(r"@[A-Z0-9]+@")
_ANY_COMPRESSION = 47  # zlib: detect gzip and zlib headers, largest window


class Levels(NamedTuple):
    """How far one answer agrees; each level includes the one before.

    Attributes:
        status: status code, or exit code.
        headers: and all compared header fields, or the text.
        full: and the body, and whether the connection was closed.
    """

    status: bool
    headers: bool
    full: bool


def equal(value: bool) -> Levels:
    """The levels of an answer that agrees as a whole or not at all."""
    return Levels(value, value, value)


def compare_reply(expected: Record, reply: Reply, mask: Mask) -> Levels:
    """Compare a reply with a recorded response."""
    if "raw" in expected:
        return _compare_raw(expected["raw"], mask(reply.raw.decode("latin-1")))
    status = expected["status"] == reply.status
    body = body_matches(expected, reply, mask)
    if expected.get("error") or expected["status"] == 0:
        return Levels(status, status, status and body)
    ignored = FRAMING_FIELDS if expected.get("framing") == "varies" else frozenset()
    actual = [(name, mask(value)) for name, value in reply.headers if name.lower() not in ignored]
    may_vary = body and _length_varies(expected)
    headers = status and headers_match(expected["headers"], actual, {"content-length"} if may_vary else set())
    closed = expected.get("closed") is None or bool(expected["closed"]) == bool(reply.closed)
    return Levels(status, headers, headers and body and closed)


def _compare_raw(expected: str, actual: str) -> Levels:
    """Compare everything that arrived on a connection; the status level is its first line."""
    full = matches(expected, actual)
    return Levels(full or matches(_first_line(expected), _first_line(actual)), full, full)


def _first_line(text: str) -> str:
    return text.split("\r\n", 1)[0]


def _length_varies(expected: Record) -> bool:
    """Return True if the body names the program or holds a placeholder, so its length is not comparable."""
    body = expected.get("body")
    return isinstance(body, str) and (has_product(body) or _SHORT_PLACEHOLDER.search(body) is not None)


def headers_match(
    expected: Iterable[Sequence[str]], actual: Iterable[Sequence[str]], ignored: Iterable[str] = ()
) -> bool:
    """Return True if both have the same fields; only the values of one name have an order."""
    skipped = IGNORED_FIELDS | set(ignored)
    wanted, found = comparable_fields(expected, skipped), comparable_fields(actual, skipped)
    return [name for name, _ in wanted] == [name for name, _ in found] and all(
        matches(value, other) for (_, value), (_, other) in zip(wanted, found, strict=True)
    )


def comparable_fields(pairs: Iterable[Sequence[str]], ignored: Iterable[str]) -> Fields:
    """Fields sorted by lower-case name; members of Allow sorted, the inode of an ETag masked."""
    fields: Fields = []
    for name, value in ((pair[0].lower(), pair[1]) for pair in pairs):
        if name == "allow":
            value = ",".join(sorted(member.strip() for member in value.split(",")))
        elif name == "etag":
            value = _INODE.sub(r"\1@INODE@-\2", value)
        if name not in ignored:
            fields.append((name, value))
    return sorted(fields, key=lambda field: field[0])


def body_matches(expected: Record, reply: Reply, mask: Mask) -> bool:
    """Return True if the body agrees: plain, decompressed (`decoded`), or by the digest of a long one."""
    if "body_omitted" in expected or expected.get("body_normalised"):
        return True
    key = "decoded" if "decoded" in expected or "decoded_sha256" in expected else "body"
    data = decompress(reply.body) if key == "decoded" else reply.body
    if data is None:
        return False
    text = mask(readable_body(data, reply.header("Content-Type") or ""))
    if f"{key}_sha256" in expected:
        plain = data if key == "body" else text.encode()
        return expected[f"{key}_sha256"] in (_sha256(plain), _sha256(text.encode()))
    recorded = expected.get(key, "")
    if isinstance(recorded, str):
        return matches(recorded, text)
    if "latin1" in recorded:
        return matches(recorded["latin1"], text)
    return base64.b64decode(recorded["base64"]) == reply.body


def decompress(body: bytes) -> bytes | None:
    """The decompressed body; None if it is neither gzip nor zlib."""
    try:
        return zlib.decompressobj(_ANY_COMPRESSION).decompress(body)
    except zlib.error:
        return None


def readable_body(body: bytes, content_type: str) -> str:
    """A body as text: UTF-8 or else latin-1, multistatus sorted, the boundary of byte ranges masked."""
    if "xml" in content_type:
        body = sort_multistatus(body)
    boundary = re.search(r'boundary="?([^";]+)', content_type)
    if boundary and "byteranges" in content_type:
        body = body.replace(boundary[1].encode(), b"@BOUNDARY@")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode("latin-1")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def describe(reply: Reply, mask: Mask) -> dict[str, Any]:
    """A reply in the form of the recordings, for a report of differences."""
    if reply.raw:
        return {"raw": mask(reply.raw.decode("latin-1"))}
    return {
        "status": reply.status,
        "reason": reply.reason,
        "headers": [[name, mask(value)] for name, value in reply.headers],
        "body": mask(reply.body[:4096].decode("utf-8", "backslashreplace")),
        "closed": reply.closed,
        "error": reply.error,
    }


def count_matching(expected: Sequence[str], actual: Sequence[str]) -> int:
    """The number of expected lines that are present, in any order: several processes write one log."""
    remaining, count = list(actual), 0
    for line in expected:
        at = next((at for at, other in enumerate(remaining) if matches(line, other)), None)
        if at is not None:
            count += 1
            del remaining[at]
    return count


def same_lines(expected: Sequence[str], actual: Sequence[str]) -> bool:
    """Return True if both have the same lines, in any order."""
    return len(expected) == len(actual) == count_matching(expected, actual)


def lines_match(expected: Sequence[str], actual: Sequence[str]) -> bool:
    """Return True if both have the same lines in the same order."""
    return len(expected) == len(actual) and all(map(matches, expected, actual))


def error_log_entries(lines: Iterable[str], version: Version) -> list[str]:
    """The comparable part of an error log: codes for 2.4, lines for 2.2, which has no codes."""
    if version == "2.2":
        return [line for line in lines if line.strip() and not LIFECYCLE_LINE.search(line)]
    return sorted(code for line in lines for code in _CODE.findall(line) if code not in LIFECYCLE_CODES)


def error_log_matches(expected: Sequence[str], log: str, version: Version) -> bool:
    """Return True if the error log has the recorded codes (2.4), or the recorded lines (2.2)."""
    actual = error_log_entries(log.splitlines(), version)
    if version == "2.2":
        return same_lines(expected, actual)
    return Counter(error_log_entries(expected, version)) == Counter(actual)


def access_log_lines(log: str) -> list[str]:
    """The lines of an access log, without their times."""
    return [mask_access_line(line) for line in log.splitlines()]
