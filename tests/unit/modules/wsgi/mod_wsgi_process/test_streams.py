"""wsgi.input, read from records."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator

import pytest

from whimbrel.modules.wsgi.mod_wsgi_process.records import STDIN, Channel, record
from whimbrel.modules.wsgi.mod_wsgi_process.streams import FileWrapper, WsgiInput

BODY = b"ab\ncdef\n\nhijk"


@pytest.fixture
def wire() -> Iterator[tuple[socket.socket, WsgiInput]]:
    """Yield the server's end of a connection, and the input of the application."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, WsgiInput(Channel(theirs))


def send(ours: socket.socket, *pieces: bytes) -> None:
    """Send a body in records."""
    for piece in (*pieces, b""):
        ours.sendall(record(STDIN, piece))


@pytest.mark.parametrize("size", [1, 2, 5, len(BODY)])
def test_sizes_and_lines_do_not_depend_on_records(wire: tuple[socket.socket, WsgiInput], size: int) -> None:
    ours, body = wire
    send(ours, *(BODY[at : at + size] for at in range(0, len(BODY), size)))
    assert body.read(0) == b""
    assert body.readline(1) == b"a"
    assert body.readline() == b"b\n"
    assert body.read(3) == b"cde"
    assert list(body) == [b"f\n", b"\n", b"hijk"]
    assert body.read() == body.readline() == b""


@pytest.mark.parametrize("hint", [None, -1, 0, 1, 3, 4, 7, 8, len(BODY), 100])
def test_lines_are_read_up_to_a_hint(wire: tuple[socket.socket, WsgiInput], hint: int | None) -> None:
    """PEP 3333: as the method of files."""
    ours, body = wire
    send(ours, BODY)
    file = io.BytesIO(BODY)
    assert body.readlines(hint) == file.readlines(hint)
    assert body.read() == file.read()


def test_a_body_that_ends_early_is_an_error(wire: tuple[socket.socket, WsgiInput]) -> None:
    ours, body = wire
    ours.sendall(record(STDIN, b"abc"))
    ours.shutdown(socket.SHUT_WR)
    assert body.read(2) == b"ab"
    with pytest.raises(OSError, match="request data read error"):
        body.read()
    with pytest.raises(OSError, match="already in error state"):
        body.read()


def test_an_expired_input_cannot_be_read(wire: tuple[socket.socket, WsgiInput]) -> None:
    ours, body = wire
    send(ours, b"left")
    body.expire()
    for read in (body.read, body.readline, body.readlines, body.close):
        with pytest.raises(RuntimeError, match="request object has expired"):
            read()


def test_a_file_is_read_in_blocks() -> None:
    file = io.BytesIO(b"abcdefg")
    wrapper = FileWrapper(file, 3)
    assert list(wrapper) == [b"abc", b"def", b"g"]
    wrapper.close()
    assert file.closed


class CountedRecord(bytes):
    """The content of a record, and what is made of it: the bytes that are copied are counted."""

    copied = 0

    @classmethod
    def counted(cls, data: bytes) -> CountedRecord:
        """Return *data*, which was copied."""
        cls.copied += len(data)
        return cls(data)

    def __getitem__(self, key: object) -> CountedRecord:  # type: ignore[override]
        return self.counted(bytes(self)[key])  # type: ignore[index]

    def __add__(self, more: bytes) -> CountedRecord:  # type: ignore[override]
        return self.counted(bytes(self) + more)


@pytest.mark.parametrize("method", ["read", "readline"])
@pytest.mark.parametrize("size", [None, 1000, 100_000])
def test_each_byte_of_a_body_is_copied_once(
    wire: tuple[socket.socket, WsgiInput], monkeypatch: pytest.MonkeyPatch, method: str, size: int | None
) -> None:
    """Reads that join what comes with what is there, or move what is left, take the square of the time."""
    _ours, body = wire
    content = (b"x" * 99 + b"\n") * 100
    left = [content] * 20

    def next_record(_channel: Channel) -> tuple[int, bytes]:
        return STDIN, CountedRecord(left.pop() if left else b"")

    monkeypatch.setattr(Channel, "next_record", next_record)
    CountedRecord.copied = 0
    pieces = []
    while piece := getattr(body, method)(size):
        pieces.append(piece)
    assert b"".join(pieces) == content * 20
    assert CountedRecord.copied <= len(content) * 20
