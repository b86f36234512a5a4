"""mod_data (2.4): the filter DATA turns a response into a URL of the scheme ``data`` (RFC 2397)."""

from __future__ import annotations

from binascii import b2a_base64
from typing import TYPE_CHECKING, Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import decimal, is_digits
from whimbrel.directives.spec import Versions
from whimbrel.engine.output.filter import OutputFilter, Transform
from whimbrel.registry.module import Module, Provider

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_GROUP: Final = 3  # bytes that four characters stand for
_MAX_LENGTH: Final = 2**31 - 1  # from this length on the length of the URL is not computed


class DataUrl(Transform):
    """*prefix*, then the input in base64; httpd passes each piece on before it knows the end."""

    __slots__ = ("_prefix", "_rest", "early")

    def __init__(self, prefix: bytes) -> None:
        self._prefix = prefix
        self._rest = b""
        self.early = False

    def feed(self, data: bytes) -> bytes:
        """Return the prefix once, and the complete groups of *data*."""
        data = self._rest + data
        end = len(data) - len(data) % _GROUP
        self._rest = data[end:]
        out, self._prefix = self._prefix + b2a_base64(data[:end], newline=False), b""
        return out

    def flush(self) -> bytes:
        """Hold the bytes of an incomplete group, as httpd does."""
        return b""

    def end(self, data: bytes) -> bytes:
        self.early = bool(data)
        return self.feed(data) + b2a_base64(self._rest, newline=False)


class Data(OutputFilter):
    """Output filter DATA."""

    name = "DATA"

    def begin(self, r: Request) -> Transform | None:
        """Return the transform; None for sub-requests and redirects."""
        if not r.initial:
            return None
        kind, _, rest = (r.content_type or "").partition(" ")
        prefix = to_bytes(f"data:{kind}{rest.partition(' ')[0]};base64,")
        length = r.headers_out.get("Content-Length")
        if length is not None:
            if is_digits(length) and decimal(length) < _MAX_LENGTH:
                groups = (decimal(length) + _GROUP - 1) // _GROUP
                r.headers_out.set("Content-Length", str(len(prefix) + 4 * groups))
            else:
                r.headers_out.unset("Content-Length")
        r.content_type = "text/plain"
        return DataUrl(prefix)


MODULE = Module(
    name="data_module",
    source="mod_data.c",
    versions=Versions.V24,
    providers=(Provider("output_filter", "data", Data()),),
)
