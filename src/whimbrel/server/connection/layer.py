"""Layers of a connection: bytes in, bytes out.

A layer is the protocol of the transport below it, and the transport of the protocol above it.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, cast


class ConnectionLayer(asyncio.Protocol, asyncio.Transport):
    """Layer that passes all bytes unchanged.

    It hides the socket from the protocol above, which therefore sends files as bytes through the layer.

    Attributes:
        inner: the protocol above
        outer: the transport below
    """

    __slots__ = ("inner", "outer")
    inner: asyncio.Protocol
    outer: asyncio.Transport

    @abstractmethod
    def make_inner(self) -> asyncio.Protocol:
        """Return the protocol above, which is not connected yet."""

    def set_proxied(self, address: str, port: int) -> None:
        """Set the client that a PROXY header names."""
        cast(Any, self.inner).set_proxied(address, port)

    # protocol of the transport below --------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.outer = cast(asyncio.Transport, transport)
        self.inner = self.make_inner()
        self.inner.connection_made(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self.inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self.inner.eof_received()

    def pause_writing(self) -> None:
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        self.inner.resume_writing()

    # transport of the protocol above --------------------------------------------------------------
    def get_extra_info(self, name: str, default: object = None) -> object:
        return default if name == "socket" else self.outer.get_extra_info(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.inner = cast(asyncio.Protocol, protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.inner

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.outer.write(data)

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        for data in list_of_data:
            self.write(data)

    def can_write_eof(self) -> bool:
        return self.outer.can_write_eof()

    def write_eof(self) -> None:
        self.outer.write_eof()

    def get_write_buffer_size(self) -> int:
        return self.outer.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.outer.set_write_buffer_limits(high=high, low=low)

    def is_reading(self) -> bool:
        return self.outer.is_reading()

    def pause_reading(self) -> None:
        self.outer.pause_reading()

    def resume_reading(self) -> None:
        self.outer.resume_reading()

    def is_closing(self) -> bool:
        return self.outer.is_closing()

    def close(self) -> None:
        self.outer.close()

    def abort(self) -> None:
        self.outer.abort()
