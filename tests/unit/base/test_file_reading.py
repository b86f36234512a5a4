"""Reading of files that another person prepared: regular ones, up to a limit, without waiting."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from whimbrel.base.file_reading import NotRegular, open_regular, read_regular, read_start


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """End a read that waits."""
    signal.alarm(10)
    yield
    signal.alarm(0)


def test_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert read_regular(bytes(tmp_path / "a")) == b"abc"
    assert read_start(bytes(tmp_path / "a"), 2) == b"ab"
    assert read_regular("/dev/null") == b""


def test_a_fifo_without_a_writer_does_not_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(NotRegular) as caught:
        read_regular(bytes(tmp_path / "fifo"))
    assert caught.value.errno == errno.EBADF


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/tty", "/dev/stdin"])
def test_devices_are_refused(path: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(OSError):
        read_start(bytes(tmp_path / "link"), 10)


def test_a_directory_is_named_as_one(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_regular(bytes(tmp_path))


def test_a_sparse_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError) as caught:
        read_regular(bytes(tmp_path / "sparse"))
    assert caught.value.errno == errno.EFBIG


def test_the_limit_holds_for_a_file_that_reports_no_size(tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught:
        read_regular("/proc/self/status", limit=100)
    assert caught.value.errno == errno.EFBIG


def test_a_link_is_refused_on_request(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("a")
    with pytest.raises(OSError) as caught:
        open_regular(bytes(tmp_path / "link"), follow=False)
    assert caught.value.errno == errno.ELOOP


def test_no_descriptor_is_left(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(OSError):
            read_regular(bytes(tmp_path))
    assert len(os.listdir("/proc/self/fd")) == before
