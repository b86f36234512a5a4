"""Files sent to a client."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest

from whimbrel.engine.body import FileSegment
from whimbrel.server.http1.send_file import FileSender, try_send_file


# files -------------------------------------------------------------------------------------------
def test_files_are_sent_completely_to_a_slow_reader(tmp_path: Path) -> None:
    content = os.urandom(9_000_001)
    (tmp_path / "f").write_bytes(content)

    async def main() -> tuple[bytes, int]:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        handle = os.open(tmp_path / "f", os.O_RDONLY)
        parts: list[bytes | FileSegment] = [b"head", FileSegment(handle, 1, len(content) - 1), b"tail"]
        FileSender(
            asyncio.get_running_loop(),
            ours,
            parts,
            lambda count, problem: done.set_result(count),
            lambda: None,
        ).start()
        got = b""
        while len(got) < len(content) + 7:
            got += await asyncio.get_running_loop().sock_recv(theirs, 50_000)
        count = await done
        with pytest.raises(OSError):
            os.fstat(handle)
        ours.close()
        theirs.close()
        return got, count

    got, count = asyncio.run(main())
    assert got == b"head" + content[1:] + b"tail"
    assert count == len(got)


def test_a_file_that_became_shorter_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")

    async def main() -> OSError | None:
        ours, _theirs = socket.socketpair()
        found: list[OSError | None] = []
        part = FileSegment(os.open(tmp_path / "f", os.O_RDONLY), 0, 10)
        FileSender(
            asyncio.get_running_loop(),
            ours,
            [part],
            lambda count, problem: found.append(problem),
            lambda: None,
        ).start()
        while not found:
            await asyncio.sleep(0)
        return found[0]

    assert isinstance(asyncio.run(main()), OSError)


@pytest.mark.parametrize("already", [0, 1, 3, 4, 5, 8, 12, 13])
def test_what_is_out_already_is_not_sent_again(tmp_path: Path, already: int) -> None:
    (tmp_path / "f").write_bytes(b"ABCDEFGH")

    async def main() -> tuple[bytes, int]:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        done: list[int] = []
        parts: list[bytes | FileSegment] = [
            b"head",
            FileSegment(os.open(tmp_path / "f", os.O_RDONLY), 0, 8),
            b"tail",
        ]
        FileSender(
            asyncio.get_running_loop(),
            ours,
            parts,
            lambda count, problem: done.append(count),
            lambda: None,
            already,
        ).start()
        while not done:
            await asyncio.sleep(0)
        ours.close()
        return theirs.recv(100), done[0]

    assert asyncio.run(main()) == (b"headABCDEFGHtail"[already:], 16)


def test_at_once_sends_what_there_is_room_for_and_moves_no_position(tmp_path: Path) -> None:
    content = os.urandom(3_000_000)
    (tmp_path / "f").write_bytes(content)
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    handle = os.open(tmp_path / "f", os.O_RDONLY)
    sent = try_send_file(ours, b"head", handle, len(content))
    assert 4 < sent < len(content)
    assert try_send_file(ours, b"more", handle, len(content)) == 0
    assert os.lseek(handle, 0, os.SEEK_CUR) == 0
    ours.close()
    got = b""
    while data := theirs.recv(100_000):
        got += data
    assert got == (b"head" + content)[:sent]
    theirs.close()
    assert try_send_file(ours, b"head", handle, 5) == 0  # the connection is closed
    os.close(handle)


def test_a_full_window_is_not_tried_again_before_it_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = os.urandom(3_000_000)
    (tmp_path / "f").write_bytes(content)
    counts: list[int] = []
    send = os.sendfile

    def counted(*arguments: int) -> int:
        counts.append(0)  # remains if the call raises EAGAIN
        counts[-1] = send(*arguments)
        return counts[-1]

    monkeypatch.setattr(os, "sendfile", counted)

    async def main() -> bytes:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        done: list[int] = []
        handle = os.open(tmp_path / "f", os.O_RDONLY)
        already = try_send_file(ours, b"head", handle, len(content))
        sender = FileSender(
            asyncio.get_running_loop(),
            ours,
            [b"head", FileSegment(handle, 0, len(content))],
            lambda count, problem: done.append(count),
            lambda: None,
            already,
        )
        sender.start()
        assert len(counts) == 1
        got = b""
        while len(got) < len(content) + 4:
            got += await asyncio.get_running_loop().sock_recv(theirs, 1 << 20)
        assert done == [len(got)]
        ours.close()
        theirs.close()
        return got

    assert asyncio.run(main()) == b"head" + content
    assert sum(counts) == len(content)
    assert 0 not in counts


def test_a_client_that_reads_nothing_does_not_hold_up_others(tmp_path: Path) -> None:
    content = os.urandom(9_000_000)
    (tmp_path / "f").write_bytes(content)

    async def main() -> tuple[list[int], bytes]:
        loop, done = asyncio.get_running_loop(), []
        pairs = [socket.socketpair() for _ in range(3)]
        senders = []
        for ours, theirs in pairs:
            ours.setblocking(False)
            theirs.setblocking(False)
            part = FileSegment(os.open(tmp_path / "f", os.O_RDONLY), 0, len(content))
            number = len(senders)
            senders.append(
                FileSender(
                    loop,
                    ours,
                    [part],
                    lambda _count, _problem, number=number: done.append(number),
                    lambda: None,
                )
            )
            senders[-1].start()
        got = b""
        while len(got) < len(content):
            got += await loop.sock_recv(pairs[2][1], 1 << 20)
        for sender in senders[:2]:
            sender.stop()
        for one in (one for pair in pairs for one in pair):
            one.close()
        return done, got

    done, got = asyncio.run(main())
    assert (done, got) == ([2, 0, 1], content)
