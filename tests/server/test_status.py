"""Counts of server-status over restarts, as in httpd 2.4.71: a graceful restart continues, another resets
them.
"""

from __future__ import annotations

import json
import os
import signal
import time

from tests.server.conftest import ServerProcess

STATUS = (
    "LoadModule status_module m/mod_status.so\n<Location /server-status>\nSetHandler "
    "server-status\n</Location>\n"
)


def counts_of(server: ServerProcess) -> dict[str, str]:
    body = server.get("/server-status?auto").partition(b"\r\n\r\n")[2].decode()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in body.splitlines())}


def test_a_graceful_restart_goes_on_counting(server: ServerProcess) -> None:
    (server.root / "conf/extra.conf").write_text(STATUS)
    server.start()
    for _ in range(5):
        server.get()
    before = counts_of(server)
    old = server.workers()
    server.signal(signal.SIGUSR1)
    server.wait_for(lambda: server.workers() and not set(old) & set(server.workers()))
    after = counts_of(server)
    assert int(after["Total Accesses"]) >= 6
    assert (before["ParentServerConfigGeneration"], before["ParentServerMPMGeneration"]) == ("1", "0")
    assert (after["ParentServerConfigGeneration"], after["ParentServerMPMGeneration"]) == ("2", "1")
    assert after["RestartTime"] == before["RestartTime"]


def test_another_restart_begins_anew(server: ServerProcess) -> None:
    (server.root / "conf/extra.conf").write_text(STATUS)
    server.start()
    for _ in range(5):
        server.get()
    old = server.workers()
    server.signal(signal.SIGHUP)
    server.wait_for(lambda: server.workers() and not set(old) & set(server.workers()))
    after = counts_of(server)
    assert after["Total Accesses"] == "0"
    assert (after["ParentServerConfigGeneration"], after["ParentServerMPMGeneration"]) == ("2", "1")


def test_the_line_of_the_scoreboard_has_a_letter_for_each_worker_that_there_may_be(
    server: ServerProcess,
) -> None:
    """httpd 2.4.71 (event) prints ServerLimit times ThreadsPerChild letters."""
    (server.root / "conf/extra.conf").write_text(
        STATUS + "ServerLimit 4\nThreadsPerChild 30\nMaxRequestWorkers 120\n"
    )
    server.start()
    assert len(counts_of(server)["Scoreboard"]) == 120


def test_json_has_the_values_of_auto(server: ServerProcess) -> None:
    (server.root / "conf/extra.conf").write_text(STATUS)
    server.start()
    head, _, body = server.get("/server-status?json").partition(b"\r\n\r\n")
    assert b"\r\nContent-Type: application/json" in head
    found, names = json.loads(body), counts_of(server)
    depends_on_time = {"CPULoad", "ReqPerSec", "BytesPerSec", "BytesPerReq", "DurationPerReq"}
    assert set(found) >= set(names) - {"127.0.0.1", "localhost"} - depends_on_time
    assert found["ServerMPM"] == "event" and isinstance(found["Total Accesses"], int)
    assert [worker["state"] for worker in found["Workers"]].count("W") == 1
    assert {child["pid"] for child in found["Children"]} <= set(server.workers())


def test_a_killed_worker_leaves_the_counts_of_all_its_responses(server: ServerProcess) -> None:
    (server.root / "conf/extra.conf").write_text(STATUS + "StartServers 1\nServerLimit 1\n")
    server.start()
    before = counts_of(server)
    server.wait_for(server.workers)
    (worker,) = server.workers()
    count, got = 40, b""
    with server.connect() as wire:
        wire.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * count)  # most are answered from the cache
        while got.count(b"hello\n") < count:
            got += wire.recv(65536)
        os.kill(worker, signal.SIGKILL)
    server.wait_for(lambda: server.workers() and worker not in server.workers())
    after = counts_of(server)
    assert int(after["Total Accesses"]) == int(before["Total Accesses"]) + 1 + count


def test_a_worker_that_falls_idle_shows_no_connection(server: ServerProcess) -> None:
    """httpd's scoreboard has no connection that has ended."""
    (server.root / "conf/extra.conf").write_text(STATUS + "StartServers 2\nServerLimit 2\n")
    server.start()
    server.wait_for(lambda: len(server.workers()) == 2)
    end = time.monotonic() + 3
    while time.monotonic() < end:  # slots are written meanwhile, once a second
        clients = [server.connect() for _ in range(20)]
        for client in clients:
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for client in clients:
            assert client.recv(15) == b"HTTP/1.1 200 OK"
            client.close()
    time.sleep(2.5)  # longer than a worker waits with its slot
    assert counts_of(server)["ConnsTotal"] == "1"
