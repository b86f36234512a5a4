"""Writer of requests to origin servers (RFC 9112, 3 and 5).

Bytes that could end a line early never pass: a head with CR, LF or NUL in a part, or with white space in the
method or the target, is refused.  Chunks of a streamed body are those of `http1.response.chunk`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.http.semantics.headers import Pair

_LINE: Final = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]++ [^\x00-\x20\x7f]++ HTTP/1\.[01]\r\n").fullmatch
_FIELDS: Final = re.compile(r"(?:[-!#$%&'*+.^_`|~0-9A-Za-z]++: [^\x00\r\n]*+\r\n)*").fullmatch


class UnsafeRequest(ValueError):
    """A request whose parts do not make a well-formed head."""


def request_bytes(method: str, target: str, fields: Iterable[Pair], *, version: str = "1.1") -> bytes:
    """Return a request head: request line, *fields* in order, an empty line. Raises UnsafeRequest."""
    line = f"{method} {target} HTTP/{version}\r\n"
    if _LINE(line) is None:
        raise UnsafeRequest("malformed request line")
    pairs = list(fields)
    lines = "".join([f"{name}: {value}\r\n" for name, value in pairs])
    if _FIELDS(lines) is None or lines.count("\n") != len(pairs):
        raise UnsafeRequest("malformed field")
    return to_bytes(f"{line}{lines}\r\n")
