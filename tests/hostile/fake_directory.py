"""A directory server (LDAP, RFC 4511) that fails: the port that a client takes names its answer."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

LARGE: Final = 900_000  # bytes of the largest answer
_BIND, _SEARCH = 0x60, 0x63
_BIND_RESPONSE, _ENTRY, _SEARCH_DONE = 0x61, 0x64, 0x65
_INVALID_CREDENTIALS: Final = 49
_OPERATIONS_ERROR: Final = 1


def element(tag: int, content: bytes) -> bytes:
    """Return an element in BER (X.690) with a length of four bytes."""
    return bytes((tag, 0x84)) + len(content).to_bytes(4) + content


def result(tag: int, code: int, text: bytes = b"") -> bytes:
    """Return an operation with an LDAPResult."""
    return element(tag, element(0x0A, bytes((code,))) + element(4, b"") + element(4, text))


def entry(value: bytes) -> bytes:
    """Return a search entry whose attribute ``cn`` is *value*."""
    values = element(0x31, element(4, value))
    attributes = element(0x30, element(0x30, element(4, b"cn") + values))
    return element(_ENTRY, element(4, b"uid=x,dc=example,dc=org") + attributes)


def message(number: int, operation: bytes) -> bytes:
    """Return an LDAPMessage."""
    return element(0x30, element(2, number.to_bytes(4)) + operation)


def _read_length(data: bytes, at: int) -> tuple[int, int]:
    """Return a length in BER and the place behind it."""
    first = data[at]
    size = first & 0x7F if first & 0x80 else 0
    return (int.from_bytes(data[at + 1 : at + 1 + size]) if size else first), at + 1 + size


def request_of(data: bytes) -> tuple[int, int]:
    """Return number and tag of the operation of an LDAPMessage."""
    _, at = _read_length(data, 1)
    size, at = _read_length(data, at + 1)
    return int.from_bytes(data[at : at + size]), data[at + size]


def _garbage(_number: int, _tag: int) -> bytes:
    return random.Random(1).randbytes(LARGE)


def _cut(number: int, _tag: int) -> bytes:
    whole = message(number, result(_BIND_RESPONSE, 0, b"t" * LARGE))
    return whole[:-10]


def _length(_number: int, _tag: int) -> bytes:
    return b"\x30\x84\x7f\xff\xff\xff" + b"l" * LARGE


def _error(number: int, tag: int) -> bytes:
    answer = _BIND_RESPONSE if tag == _BIND else _SEARCH_DONE
    return message(number, result(answer, _OPERATIONS_ERROR, b"e" * LARGE))


def _entries(number: int, tag: int) -> bytes:
    if tag == _BIND:
        return message(number, result(_BIND_RESPONSE, 0))
    large = message(number, entry(b"v" * (LARGE // 4)))
    return large * 4 + message(number, result(_SEARCH_DONE, 0))


def _denial(number: int, tag: int) -> bytes:
    """Find the user, and refuse its password with a long text: the second bind of a connection."""
    if tag == _SEARCH:
        return message(number, entry(b"v" * LARGE)) + message(number, result(_SEARCH_DONE, 0))
    code = 0 if number <= 1 else _INVALID_CREDENTIALS
    return message(number, result(_BIND_RESPONSE, code, b"d" * LARGE))


ANSWERS: Final[dict[str, Callable[[int, int], bytes]]] = {
    "garbage": _garbage,
    "cut": _cut,
    "length": _length,
    "error": _error,
    "entries": _entries,
    "denial": _denial,
    "closed": lambda _number, _tag: b"",
    "never": lambda _number, _tag: b"",
}


class FakeDirectory:
    """Listens on a free port for each of `ANSWERS`; a context manager. `ports` has them by name.

    A connection ends after an answer that is no whole message, and that of ``never`` with the client.
    """

    def __init__(self) -> None:
        self._listeners = {name: socket.create_server(("127.0.0.1", 0)) for name in ANSWERS}
        self.ports = {name: wire.getsockname()[1] for name, wire in self._listeners.items()}
        for wire in self._listeners.values():
            wire.listen(64)

    def __enter__(self) -> Self:
        for name, wire in self._listeners.items():
            threading.Thread(target=self._accept, args=(name, wire), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        for wire in self._listeners.values():
            wire.shutdown(socket.SHUT_RDWR)
            wire.close()

    def _accept(self, name: str, listener: socket.socket) -> None:
        while True:
            try:
                wire = listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(name, wire), daemon=True).start()

    def _serve(self, name: str, wire: socket.socket) -> None:
        ends = name in ("garbage", "cut", "length", "closed")
        try:
            with wire:
                wire.settimeout(30)
                while data := wire.recv(65536):
                    if name == "never" or data[0] != 0x30 or request_of(data)[1] == 0x42:  # unbind
                        continue
                    wire.sendall(ANSWERS[name](*request_of(data)))
                    if ends:
                        return
        except OSError:
            return  # the client has gone
