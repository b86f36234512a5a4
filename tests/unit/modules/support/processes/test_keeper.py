"""Programs of a keeper that start when a worker asks for them, and lines that processes send."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import create_autospec

import pytest

from whimbrel.modules.support.processes.keeper import MAX_REPORT, MAX_VARIANTS, ProcessKeeper
from whimbrel.modules.support.processes.messages import KeeperMessages
from whimbrel.modules.support.processes.program import (
    Identity,
    KeeperLimits,
    Launch,
    StaticProgram,
    packed_request,
)
from whimbrel.modules.support.processes.table import ProcessTable


class Sleeper(StaticProgram):
    """A program without processes, which has variants."""

    count = 0

    def __init__(self, socket_name: str, *, is_on_demand: bool = True) -> None:
        self.name = "sleeper"
        self.socket_name = socket_name
        self.is_on_demand = is_on_demand

    def variant(self, name: str) -> StaticProgram:
        return Sleeper(f"0.{name}")

    def launch(self, path: str, handle: int, reports: int) -> Launch:
        raise AssertionError(path, handle, reports)


class Kept:
    """A keeper that does not run, with the socket that workers write to."""

    def __init__(self, directory: Path) -> None:
        reading, self.requests = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        reading.setblocking(False)
        self.messages = create_autospec(KeeperMessages, instance=True)
        self.keeper = ProcessKeeper(
            ProcessTable(1), reading, -1, KeeperLimits(), [Sleeper("0")], self.messages
        )
        self.keeper.open(str(directory), "")
        self.directory = directory

    def names(self) -> list[str]:
        """Return the names of the sockets."""
        return sorted(os.listdir(self.directory))


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    yield Kept(tmp_path)


def test_a_program_on_demand_has_no_socket_at_first(kept: Kept) -> None:
    assert kept.names() == []
    kept.requests.send(packed_request(0, "a"))
    kept.requests.send(packed_request(0, "a"))
    kept.keeper._serve_requests()
    assert kept.names() == ["0.a"]


def test_variants_are_bounded(kept: Kept) -> None:
    for number in range(MAX_VARIANTS + 5):
        kept.requests.send(packed_request(0, str(number)))
        kept.keeper._serve_requests()
    # the program itself is on demand, so its place is free for one more
    assert len(kept.names()) == MAX_VARIANTS + 1
    assert kept.messages.skipped.call_count == 4


def test_lines_of_processes_are_logged(kept: Kept) -> None:
    reports = kept.keeper._reports_out
    reports.send(b"12 info a line with blanks")
    reports.send(b"12 alive")
    reports.send(b"12 emerg a level that processes do not have")
    reports.send(b"x")
    reports.send("12 error é".encode() + b"x" * MAX_REPORT)
    kept.keeper._serve_reports()
    levels = [call.args[0] for call in kept.messages.reported.call_args_list]
    assert levels == ["info", "error"]
    assert kept.messages.reported.call_args_list[0].args[1] == "a line with blanks"
    assert len(kept.messages.reported.call_args_list[1].args[1]) < MAX_REPORT


@pytest.mark.parametrize(
    ("identity", "expected"), [(None, (None, None, None)), (Identity(33, 34, (35, 36)), (33, 34, (35, 36)))]
)
@pytest.mark.parametrize("takes_stdin", [True, False])
def test_what_a_process_is_started_with(
    kept: Kept,
    monkeypatch: pytest.MonkeyPatch,
    identity: Identity | None,
    expected: tuple[object, ...],
    takes_stdin: bool,
) -> None:
    """Without an identity it has that of the keeper (subprocess: None changes nothing)."""
    started = create_autospec(subprocess.Popen)
    started.return_value.pid = 7
    monkeypatch.setattr("whimbrel.modules.support.processes.keeper.subprocess.Popen", started)
    launch = Launch(["/bin/x", "y"], {"A": "b"}, "", takes_stdin, identity=identity, umask=0o27)
    assert kept.keeper._spawn(launch, 3) == 7
    given = started.call_args.kwargs
    assert tuple(given[name] for name in ("user", "group", "extra_groups")) == expected
    assert (started.call_args.args, given["env"], given["cwd"]) == ((["/bin/x", "y"],), {"A": "b"}, "/")
    assert (given["umask"], given["process_group"]) == (0o27, 0)
    assert (given["stdin"], given["pass_fds"]) == ((3, ()) if takes_stdin else (subprocess.DEVNULL, (3,)))


def test_a_scan_is_due_after_its_interval(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [time.monotonic()]
    monkeypatch.setattr("whimbrel.modules.support.processes.keeper.time.monotonic", lambda: now[0])
    due = []
    for seconds in (5.0, 6.0, 1.0, 10.0):
        now[0] += seconds
        due.append((kept.keeper._is_due("idle", 10.0), kept.keeper._is_due("busy", 20.0)))
    assert due == [(False, False), (True, False), (False, False), (True, True)]
