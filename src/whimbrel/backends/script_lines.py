"""The lines of a script head (RFC 3875, section 6.3), as programs, FastCGI and SCGI back ends write them.

`ScriptHead` of the modules gives them their meaning.
"""

from __future__ import annotations

from typing import Final

from whimbrel.base.latin1 import to_text
from whimbrel.http.client.answer import ResponseHead
from whimbrel.http.semantics.headers import Headers

MAX_LINE: Final = 8190  # bytes of a line with its line feed; a longer one is an error
_CR: Final = 0x0D
MAX_HEAD: Final = 128 * 1024  # bytes that are searched for the end of a head


def next_line(data: bytearray, max_line: int = MAX_LINE) -> str | None:
    """Remove the first line from *data* and return it without its line end; None where *max_line* bytes, or
    all of *data*, have no line end.
    """
    end = data.find(b"\n", 0, max_line + 1)
    if end < 0 or (end == max_line and data[end - 1] != _CR):  # httpd does not count a carriage return
        return None
    line = bytes(data[:end])
    del data[: end + 1]
    return to_text(line.removesuffix(b"\r"))


def take_head(data: bytearray, *, is_complete: bool = True, max_line: int = MAX_LINE) -> ResponseHead:
    """Remove the lines up to the first empty one from *data*; without an empty one, all that are complete.

    A line of more than *max_line* bytes ends the head, which has no empty line then. *is_complete*: *data*
    has the end of the head; without it, and without a line, all of *data* is a body.
    """
    lines: list[str] = []
    while (line := next_line(data, max_line)) is not None:
        lines.append(line)
        if not line.partition("\0")[0].replace("\r", ""):
            break
    return script_head(lines) if lines or is_complete else no_head()


def script_head(lines: list[str]) -> ResponseHead:
    """Return the head with these lines."""
    return ResponseHead((1, 1), 200, None, Headers(), tuple(lines))


def no_head() -> ResponseHead:
    """Return what stands for the head of an output that is a body alone."""
    return ResponseHead((1, 1), 200, None, Headers())
