"""mod_bucketeer: the filter BUCKETEER cuts responses of type text/* at control characters.

httpd's own tests use it: ^B begins a new bucket, ^P passes on what there is, ^F adds a flush bucket. The
characters are removed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from whimbrel.engine.output.filter import FilterType, OutputFilter, Transform
from whimbrel.registry.module import Module, Provider

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

BUCKET = b"\x02"
FLUSH = b"\x06"
PASS = b"\x10"
MAX_HELD: Final = 256 * 1024  # bytes that are held until a ^P or the end of the input
_CONTROLS: Final = BUCKET + FLUSH + PASS
# A response is chunked if a brigade goes on before the end, or if data follows a flush bucket.
_EARLY: Final = re.compile(b"%b|%b[^%b]" % (PASS, FLUSH, _CONTROLS)).search


class Bucketeer(Transform):
    """The input without the control characters; held until a ^P."""

    __slots__ = ("_held", "early")

    def __init__(self) -> None:
        self._held = bytearray()
        self.early = False

    def feed(self, data: bytes) -> bytes:
        """Return what the last ^P passes on."""
        self._held += data
        end = len(self._held) if len(self._held) > MAX_HELD else self._held.rfind(PASS) + 1
        out = bytes(self._held[:end])
        del self._held[:end]
        return out.translate(None, _CONTROLS)

    def flush(self) -> None:
        """Keep the flush: only control characters of the input decide."""

    def end(self, data: bytes) -> bytes:
        rest = bytes(self._held) + data
        self._held.clear()
        self.early = _EARLY(rest) is not None
        return rest.translate(None, _CONTROLS)


class BucketeerFilter(OutputFilter):
    """Output filter BUCKETEER."""

    name = "BUCKETEER"
    type = FilterType.RESOURCE - 1

    def begin(self, r: Request) -> Transform | None:
        """Return the transform; None for other types than text."""
        if not (r.content_type or "").startswith("text/"):
            return None
        r.headers_out.unset("Content-Length")
        return Bucketeer()


MODULE = Module(
    name="bucketeer_module",
    source="mod_bucketeer.c",
    providers=(Provider("output_filter", "bucketeer", BucketeerFilter()),),
)
