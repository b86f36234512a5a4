"""mod_heartbeat and mod_heartmonitor: reports and their storage. Messages are those of httpd 2.4.71."""

from __future__ import annotations

import asyncio
import re
import socket
from mmap import mmap
from pathlib import Path
from typing import Any

import pytest
from tests.support.client import error_log, fetch
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError
from whimbrel.modules.cluster.monitor import MAX_SERVERS, Monitor
from whimbrel.modules.support import heartbeats
from whimbrel.modules.support.heartbeats import Heartbeat, HeartbeatRecord

MODULES = "heartbeat heartmonitor slotmem_shm"


def engine_of(root: Path, conf: str) -> Any:
    lines = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in MODULES.split())
    engine: Any = build_engine(root, lines + conf)
    engine.runtime.open_segments(engine.configuration)
    return engine


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("HeartbeatListen 239.0.0.1", "HeartbeatListen: No port provided in multicast address"),
        ("HeartbeatListen 80", "HeartbeatListen: No host provided in multicast address"),
        ("HeartbeatAddress 239.0.0.1", "HeartbeatAddress: No port provided in address"),
        (
            "HeartbeatMaxServers 9",
            "HeartbeatMaxServers: Should be 0 for file storage, or greater or equal than 10 for slotmem",
        ),
        (
            "HeartbeatAddress 239.0.0.1:1\nHeartbeatAddress 239.0.0.1:1",
            "HeartbeatAddress: May only be specified once.",
        ),
    ],
)
def test_errors(line: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as problem:
        engine_of(tmp_path, line)
    assert problem.value.reason == message


def test_files_have_httpds_form(tmp_path: Path) -> None:
    path = tmp_path / "hb.dat"
    heartbeats.write_file(str(path), [Heartbeat("10.0.0.1", 5, 2, 90.0)], 100.0)
    assert path.read_text() == "10.0.0.1 &ready=5&busy=2&lastseen=10&port=80\n"
    assert heartbeats.read_file(str(path)) == {"10.0.0.1": Heartbeat("10.0.0.1", 5, 2, 10, 80)}


def test_memory_has_room_for_some_servers() -> None:
    memory = mmap(-1, 2 * HeartbeatRecord.SIZE)
    for number in range(3):
        heartbeats.store(memory, Heartbeat(f"10.0.0.{number}", number, 0, 100.0 + number))
    assert list(heartbeats.read_memory(memory, 110.0)) == ["10.0.0.0", "10.0.0.1"]
    heartbeats.forget(memory, 101.0)
    heartbeats.store(memory, Heartbeat("10.0.0.2", 2, 0, 110.0))
    assert list(heartbeats.read_memory(memory, 110.0)) == ["10.0.0.2", "10.0.0.1"]


POSTED = "HeartbeatListen 239.0.0.1:9\n<Location /hb>\nSetHandler heartbeat\n</Location>"
MISSING = "AH10563: Missing required parameters: busy and/or ready"
# status and log of apache2 2.4.71, and the line of its file: ready, busy, port
POSTS = (
    ("", 400, MISSING, None),
    ("ready=5", 400, MISSING, None),
    ("v=1&busy=1", 400, MISSING, None),
    ("ready=5;busy=1", 400, MISSING, None),
    ("x=" + "y" * 1000 + "&ready=5&busy=1", 400, MISSING, None),
    ("v=0&ready=1&busy=1", 200, "", (1, 1, 80)),
    ("busy&ready", 200, "", (1, 1, 80)),
    ("busy=&ready=", 200, "", (0, 0, 80)),
    ("busy=%201&ready=+2&port=010", 200, "", (2, 1, 10)),
    ("busy=1x&ready=010", 200, "AH10565: Invalid busy value: 1x, using 0", (10, 0, 80)),
    ("busy=1&ready=0x10", 200, "AH10566: Invalid ready value: 0x10, using 0", (0, 1, 80)),
    ("busy=1&ready=2&port=", 200, "AH10564: Invalid port value: , using default 80", (2, 1, 80)),
    ("busy=1&ready=2&port=-1", 200, "AH10564: Invalid port value: -1, using default 80", (2, 1, 80)),
    ("busy=1&ready=2&port=65536", 200, "AH10564: Invalid port value: 65536, using default 80", (2, 1, 80)),
    ("busy=1&ready=2&port=65535", 200, "", (2, 1, 65535)),
    ("busy=-1&ready=-1", 200, "", (4294967295, 4294967295, 80)),
    ("busy=99999999999999999999&ready=2147483648", 200, "", (2147483648, 4294967295, 80)),
)


@pytest.mark.parametrize(("body", "status", "line", "stored"), POSTS)
def test_posted_reports_are_checked(
    tmp_path: Path, body: str, status: int, line: str, stored: tuple[int, int, int] | None
) -> None:
    engine = engine_of(tmp_path, f"HeartbeatMaxServers 0\nHeartbeatStorage hb.dat\n{POSTED}")
    assert fetch(engine, "/hb", method="POST", body=body).status == status
    assert error_log(engine).strip().rpartition("] ")[2] == line
    path = tmp_path / "hb.dat"
    text = path.read_text() if path.exists() else None
    assert text == (
        None if stored is None else "127.0.0.1 &ready={}&busy={}&lastseen=0&port={}\n".format(*stored)
    )


def test_posts_without_a_listener_are_refused(tmp_path: Path) -> None:
    engine = engine_of(tmp_path, "<Location /hb>\nSetHandler heartbeat\n</Location>")
    assert fetch(engine, "/hb", method="POST", body="ready=4&busy=2").status == 503
    assert "AH10561: Heartbeat monitoring not active" in error_log(engine)


def test_reports_by_post(tmp_path: Path) -> None:
    engine = engine_of(tmp_path, POSTED)
    reply = fetch(engine, "/hb", method="POST", body="v=1&ready=4&busy=2")
    assert (reply.status, reply.body) == (200, "OK")
    memory = engine.runtime.segment(heartbeats.NAME)
    assert heartbeats.read_memory(memory, engine.runtime.now())["127.0.0.1"][1:3] == (4, 2)
    assert fetch(engine, "/hb").status == 405


def test_reports_by_datagram(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    engine = engine_of(tmp_path, f"HeartbeatListen 127.0.0.1:{port}\nHeartbeatMaxServers 0\nLogLevel debug")

    async def run() -> Monitor:
        monitor = Monitor(engine)
        await monitor.run()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"v=1&ready=4&busy=2", ("127.0.0.1", port))
            sender.sendto(b"nonsense", ("127.0.0.1", port))
        for _ in range(200):
            if monitor.servers:
                break
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.02)
        await monitor.run()
        return monitor

    monitor = asyncio.run(run())
    log = "".join(line.decode() for lines in monitor.engine.runtime.logs.values() for line in lines)
    assert re.search(r"\[heartmonitor:debug\].* AH02086: 127\.0\.0\.1:\d+ busy=2 ready=4\n", log)
    assert re.search(r"\[heartmonitor:crit\].* AH02087: malformed message from 127\.0\.0\.1:\d+\n", log)
    assert (tmp_path / "logs" / "hb.dat").read_text().startswith("127.0.0.1 &ready=4&busy=2&lastseen=0")
    for number in range(MAX_SERVERS + 10):
        monitor.received(f"10.0.{number // 250}.{number % 250}", "v=1&ready=1&busy=1")
    assert len(monitor.servers) == MAX_SERVERS
