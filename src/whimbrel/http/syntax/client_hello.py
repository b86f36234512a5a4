"""Reader of the first message of a TLS client: the names by which it chooses a host and a protocol.

RFC 8446, 4.1.2; RFC 6066, 3 (server_name); RFC 7301 (ALPN).
"""

from __future__ import annotations

from typing import Final, NamedTuple

MAX_HELLO: Final = 64 * 1024  # bytes of a message that is read; OpenSSL accepts some more, no client sends it
RECORD_HANDSHAKE: Final = 22
CLIENT_HELLO: Final = 1
SERVER_NAME: Final = 0
ALPN: Final = 16
SUPPORTED_VERSIONS: Final = 43
TLS_1_2: Final = 0x0303
RECORD_HEAD: Final = 5
MAX_RECORD: Final = 16384 + 256
MAX_RECEIVED: Final = 128 * 1024  # bytes of records


class ClientHello(NamedTuple):
    """What a client offers.

    Attributes:
        server_name: the host name as the client writes it, "" without one.
        protocols: names of application protocols in the client's order.
        version: the highest version, such as 0x0304 for TLS 1.3.
    """

    server_name: str
    protocols: tuple[bytes, ...]
    version: int


class NotClientHello(Exception):
    """The bytes begin no TLS connection."""


class ClientHelloReader:
    """Reader of the message as it arrives, in any number of records.

    Attributes:
        received: number of bytes so far.
    """

    __slots__ = ("_input", "_message", "received")

    def __init__(self) -> None:
        self._input = bytearray()
        self._message = bytearray()
        self.received = 0

    def feed(self, data: bytes) -> ClientHello | None:
        """Return the message once it is complete.

        Raises:
            NotClientHello: the bytes are something else, malformed, or too many.
        """
        self.received += len(data)
        records = self._input
        at = 0
        records += data
        while at < len(records):
            if records[at] != RECORD_HANDSHAKE or bytes(records[at + 1 : at + 2]) not in (b"\x03", b""):
                raise NotClientHello
            if len(records) < at + RECORD_HEAD:
                break
            end = at + RECORD_HEAD + int.from_bytes(records[at + 3 : at + RECORD_HEAD], "big")
            if not at + RECORD_HEAD < end <= at + MAX_RECORD:
                raise NotClientHello
            if len(records) < end:
                break
            self._message += records[at + RECORD_HEAD : end]
            at = end
            hello = self._complete()
            if hello is not None:
                return hello  # records of another type may follow, as with early data (RFC 8446, 2.3)
        del records[:at]
        if self.received > MAX_RECEIVED:
            raise NotClientHello
        return None

    def _complete(self) -> ClientHello | None:
        """Return the message if all of it is there."""
        message = self._message
        if message[0] != CLIENT_HELLO:
            raise NotClientHello
        if len(message) < 4:
            return None
        wanted = 4 + int.from_bytes(message[1:4], "big")
        if wanted > MAX_HELLO:
            raise NotClientHello
        return _parse(bytes(message[4:wanted])) if len(message) >= wanted else None


class _Bytes:
    """Bytes with a position, read as TLS vectors."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.data):
            raise NotClientHello
        piece, self.at = self.data[self.at : end], end
        return piece

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def vector(self, size: int) -> _Bytes:
        """Return the contents of a vector whose length takes *size* bytes."""
        return _Bytes(self.take(self.number(size)))

    @property
    def ended(self) -> bool:
        return self.at >= len(self.data)


def _parse(hello: bytes) -> ClientHello:
    try:
        return _parse_fields(hello)
    except IndexError:
        raise NotClientHello from None


def _parse_fields(hello: bytes) -> ClientHello:
    """Return what a message offers; only three of its extensions are read further.

    Raises:
        IndexError, NotClientHello: a length points beyond the end.
    """
    version = hello[0] << 8 | hello[1]
    name = ""
    protocols: tuple[bytes, ...] = ()
    at = 2 + 32  # random
    at += 1 + hello[at]  # session
    at += 2 + (hello[at] << 8 | hello[at + 1])  # cipher suites
    at += 1 + hello[at]  # compression
    if at == len(hello):
        return ClientHello(name, protocols, version)
    end = at + 2 + (hello[at] << 8 | hello[at + 1])
    at += 2
    if end > len(hello):
        raise NotClientHello
    while at < end:
        kind = hello[at] << 8 | hello[at + 1]
        begin = at + 4
        at = begin + (hello[at + 2] << 8 | hello[at + 3])
        if at > end:
            raise NotClientHello
        if kind == SERVER_NAME:
            name = _server_name(_Bytes(hello[begin:at]))
        elif kind == ALPN:
            protocols = _protocols(_Bytes(hello[begin:at]))
        elif kind == SUPPORTED_VERSIONS:
            offered = _Bytes(hello[begin:at]).vector(1).data
            pairs = [int.from_bytes(offered[i : i + 2], "big") for i in range(0, len(offered) - 1, 2)]
            version = max([v for v in pairs if v & 0x0F0F != 0x0A0A and v >> 8 == 3], default=version)
    return ClientHello(name, protocols, version)


def _server_name(body: _Bytes) -> str:
    names = body.vector(2)
    while not names.ended:
        kind = names.number(1)
        name = names.vector(2).data
        if kind == 0:
            if b"\0" in name:
                raise NotClientHello
            return name.decode("latin-1")
    return ""


def _protocols(body: _Bytes) -> tuple[bytes, ...]:
    names = body.vector(2)
    out = []
    while not names.ended:
        out.append(names.vector(1).data)
    return tuple(out)
