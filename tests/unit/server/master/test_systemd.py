"""Notifications to NOTIFY_SOCKET (sd_notify(3)) and sockets from LISTEN_FDS (sd_listen_fds(3))."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from whimbrel.server.master.systemd import Notifier, listen_fds
from whimbrel.server.worker.scoreboard import ServerInfo, SharedScoreboard


def listening(path: str) -> socket.socket:
    one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.bind(path)
    one.settimeout(5)
    return one


def fields(wire: socket.socket) -> dict[str, str]:
    lines = wire.recv(4096).decode().split("\n")
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def test_ready_names_the_main_process(tmp_path: Path) -> None:
    with listening(str(tmp_path / "n")) as wire:
        notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "n")})
        notifier.enable(True)
        notifier.ready()
        got = fields(wire)
    assert (got["READY"], got["MAINPID"]) == ("1", str(os.getpid()))


def test_an_abstract_address() -> None:
    name = f"whimbrel-test-{os.getpid()}"
    with listening(f"\0{name}") as wire:
        notifier = Notifier({"NOTIFY_SOCKET": f"@{name}"})
        notifier.enable(True)
        notifier.reloading()
        got = fields(wire)
    assert got["RELOADING"] == "1" and got["MONOTONIC_USEC"].isdigit()


def test_nothing_is_sent_without_the_module(tmp_path: Path) -> None:
    with listening(str(tmp_path / "n")) as wire:
        notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "n")})
        notifier.ready()
        notifier.enable(True)
        notifier.stopping()
        got = fields(wire)
    assert got["STOPPING"] == "1"


def test_a_manager_that_is_gone_is_no_error(tmp_path: Path) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "none")})
    notifier.enable(True)
    notifier.ready()
    assert notifier.due() is not None


def test_the_watchdog_is_fed_at_half_its_time(tmp_path: Path) -> None:
    with listening(str(tmp_path / "n")) as wire:
        notifier = Notifier(
            {
                "NOTIFY_SOCKET": str(tmp_path / "n"),
                "WATCHDOG_USEC": "4000000",
                "WATCHDOG_PID": str(os.getpid()),
            }
        )
        notifier.enable(True)
        notifier.ready()
        assert "READY" in fields(wire)
        before = notifier.due()
        notifier.tick(SharedScoreboard(1), ServerInfo(0.0, 0.0), extended=True)
        assert fields(wire) == {"WATCHDOG": "1"}
        after = notifier.due()
    assert before is not None and after is not None and 1.9 < after - before < 2.5


def test_a_watchdog_of_another_process_is_not_ours() -> None:
    notifier = Notifier({"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "20000", "WATCHDOG_PID": "1"})
    notifier.enable(True)
    notifier.ready()
    due = notifier.due()
    other = Notifier({"NOTIFY_SOCKET": "/x"})
    other.enable(True)
    other.ready()
    plain = other.due()
    assert due is not None and plain is not None and abs(plain - due) < 1


def test_sockets_of_another_process_are_not_ours() -> None:
    assert listen_fds({"LISTEN_FDS": "2", "LISTEN_PID": "1"}) == {}
    assert listen_fds({}) == {}
