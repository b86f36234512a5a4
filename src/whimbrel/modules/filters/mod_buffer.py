"""mod_buffer (2.4): the filter BUFFER joins small pieces of a response or a request body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.directives.spec import Versions
from whimbrel.engine.body import is_complete
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.input.filter import FilteredBody, InputFilter
from whimbrel.engine.output.filter import FilterType, OutputFilter, Transform
from whimbrel.modules.support.setters import set_size
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

DEFAULT_SIZE: Final = 128 * 1024


@dataclass(slots=True)
class BufferDirConfig:
    """Per-directory settings; *size*: BufferSize in bytes."""

    size: int = setting(DEFAULT_SIZE)


class BufferedOutput(Transform):
    """Pieces that wait until they have more than *size* bytes, or for the end."""

    __slots__ = ("_held", "_length", "_size")

    def __init__(self, size: int) -> None:
        self._held: list[bytes] = []
        self._length = 0
        self._size = size

    def feed(self, data: bytes) -> bytes:
        """Return the buffer if *data* fills it."""
        self._held.append(data)
        self._length += len(data)
        return self._taken() if self._length > self._size else b""

    def flush(self) -> bytes:
        """Return the buffer: a flush takes precedence over buffering."""
        return self._taken()

    def end(self, data: bytes) -> bytes:
        """Return the buffer and *data*."""
        self._held.append(data)
        return self._taken()

    def _taken(self) -> bytes:
        out = b"".join(self._held)
        self._held.clear()
        self._length = 0
        return out


class BufferOut(OutputFilter):
    """Output filter BUFFER: a response that fits into the buffer has a Content-Length."""

    name = "BUFFER"
    type = FilterType.CONTENT_SET

    def begin(self, r: Request) -> Transform | None:
        """Return the buffer; None for a sub-request, and for a response that is one piece."""
        if r.main is not None or (is_complete(r.body) and not r.chunked):
            return None
        return BufferedOutput(r.dir_config(BufferDirConfig).size)


class BufferedBody(FilteredBody):
    """Request body that is read in pieces of *size* bytes."""

    __slots__ = ("_size",)
    preserves_length = True

    def __init__(self, source: RequestBody, size: int) -> None:
        super().__init__(source)
        self._size = size

    async def read(self) -> bytes:
        """Return at least *size* bytes, or the rest; raise BodyError."""
        pieces = []
        length = 0
        while length < self._size and (data := await self.read_source()):
            pieces.append(data)
            length += len(data)
        return b"".join(pieces)


class BufferIn(InputFilter):
    """Input filter BUFFER."""

    name = "BUFFER"
    type = FilterType.CONTENT_SET

    def wrap(self, r: Request, body: RequestBody) -> RequestBody:
        """Return the buffered body of the client's request."""
        return BufferedBody(body, r.dir_config(BufferDirConfig).size) if r.initial else body


MODULE = Module(
    name="buffer_module",
    source="mod_buffer.c",
    versions=Versions.V24,
    dir_config=BufferDirConfig,
    dir_setters={
        "BufferSize": set_size("size", 1, "BufferSize must be a size in bytes, and greater than zero"),
    },
    providers=(
        Provider("output_filter", "buffer", BufferOut()),
        Provider("input_filter", "buffer", BufferIn()),
    ),
)
