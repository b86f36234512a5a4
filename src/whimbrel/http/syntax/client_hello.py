"""Reader of the first message of a TLS client: the names by which it chooses a host and a protocol.

RFC 8446, 4.1.2; RFC 6066, 3 (server_name); RFC 7301 (ALPN).
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

MAX_HELLO: Final = 64 * 1024  # bytes of a message that is read; OpenSSL accepts some more, no client sends it
RECORD_HANDSHAKE: Final = 22
CLIENT_HELLO: Final = 1
SERVER_NAME: Final = 0
ALPN: Final = 16
SUPPORTED_VERSIONS: Final = 43
TLS_1_2: Final = 0x0303
RECORD_HEAD: Final = 5
HEADS: Final = RECORD_HEAD + 4  # bytes in front of a message in one record
MAX_RECORD: Final = 16384 + 256
MAX_RECEIVED: Final = 128 * 1024  # bytes of records
_TLS_MAJOR: Final = 3
_KIND_AND_SIZE: Final = struct.Struct(">HH").unpack_from


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
        if not self.received:
            hello = _in_one_record(data)
            if hello is not None:
                return hello
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


def _in_one_record(data: bytes) -> ClientHello | None:
    """Return the message if *data* begin with one record that has all of it, as nearly every client sends."""
    if len(data) < HEADS or data[0] != RECORD_HANDSHAKE or data[1] != _TLS_MAJOR or data[5] != CLIENT_HELLO:
        return None
    size = data[3] << 8 | data[4]
    end = HEADS + (data[6] << 16 | data[7] << 8 | data[8])
    if end > RECORD_HEAD + size or not RECORD_HEAD + size <= min(len(data), MAX_RECORD):
        return None
    return _parse(data[HEADS:end])


def _parse(hello: bytes) -> ClientHello:
    try:
        return _parse_fields(hello)
    except (IndexError, struct.error):
        raise NotClientHello from None


def _parse_fields(hello: bytes) -> ClientHello:
    """Return what a message offers; only three of its extensions are read further.

    Raises:
        IndexError, struct.error, NotClientHello: a length points beyond the end.
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
    kind_and_size = _KIND_AND_SIZE
    while at < end:
        kind, size = kind_and_size(hello, at)
        begin = at + 4
        at = begin + size
        if at > end:
            raise NotClientHello
        if kind == SERVER_NAME:
            name = _server_name(hello[begin:at])
        elif kind == ALPN:
            protocols = _protocols(hello[begin:at])
        elif kind == SUPPORTED_VERSIONS:
            version = _version(hello[begin:at], version)
    return ClientHello(name, protocols, version)


def _server_name(data: bytes) -> str:
    """Return the first host name of the extension, "" without one."""
    at = 2
    end = at + (data[0] << 8 | data[1])
    if end > len(data):
        raise NotClientHello
    while at < end:
        kind = data[at]
        begin = at + 3
        at = begin + (data[at + 1] << 8 | data[at + 2])
        if at > end:
            raise NotClientHello
        if kind == 0:
            name = data[begin:at]
            if b"\0" in name:
                raise NotClientHello
            return name.decode("latin-1")
    return ""


def _protocols(data: bytes) -> tuple[bytes, ...]:
    at = 2
    end = at + (data[0] << 8 | data[1])
    if end > len(data):
        raise NotClientHello
    out = []
    while at < end:
        begin = at + 1
        at = begin + data[at]
        if at > end:
            raise NotClientHello
        out.append(data[begin:at])
    return tuple(out)


def _version(data: bytes, before: int) -> int:
    """Return the highest version of TLS that the extension offers; *before* if it has none."""
    end = 1 + data[0]
    if end > len(data):
        raise NotClientHello
    minors = [data[at + 1] for at in range(1, end - 1, 2) if data[at] == _TLS_MAJOR]
    return _TLS_MAJOR << 8 | max(minors) if minors else before
