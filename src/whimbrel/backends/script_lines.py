"""The lines of a script head (RFC 3875, section 6.3), as programs, FastCGI and SCGI back ends write them.

`ScriptHead` of the modules gives them their meaning.
"""

from __future__ import annotations

from typing import Final

from whimbrel.base.latin1 import to_text
from whimbrel.http.client.answer import ResponseHead
from whimbrel.http.semantics.headers import Headers

MAX_LINE: Final = 8190  # bytes of a line; a longer one is an error
MAX_HEAD: Final = 128 * 1024  # bytes that are searched for the end of a head


def next_line(data: bytearray) -> str | None:
    """Remove the first line from *data* and return it without its line end; None where `MAX_LINE` bytes, or
    all of *data*, have no line end.
    """
    end = data.find(b"\n", 0, MAX_LINE)
    if end < 0:
        return None
    line = bytes(data[:end])
    del data[: end + 1]
    return to_text(line.removesuffix(b"\r"))


def take_head(data: bytearray) -> ResponseHead:
    """Remove the lines up to the first empty one from *data*; without an empty one, all that are complete."""
    lines: list[str] = []
    while (line := next_line(data)) is not None:
        lines.append(line)
        if not line.partition("\0")[0].replace("\r", ""):
            break
    return script_head(lines)


def script_head(lines: list[str]) -> ResponseHead:
    """Return the head with these lines."""
    return ResponseHead((1, 1), 200, None, Headers(), tuple(lines))
