"""Counts of server-status over restarts, as httpd 2.4.71 keeps them: a graceful restart goes on counting, another begins anew."""

from __future__ import annotations

import signal

from tests.server.conftest import Running

STATUS = "LoadModule status_module m/mod_status.so\n<Location /server-status>\nSetHandler server-status\n</Location>\n"


def told(server: Running) -> dict[str, str]:
    body = server.get("/server-status?auto").partition(b"\r\n\r\n")[2].decode()
    return {name: value for name, _, value in (line.partition(": ") for line in body.splitlines())}


def test_a_graceful_restart_goes_on_counting(server: Running) -> None:
    (server.root / "conf/extra.conf").write_text(STATUS)
    server.start()
    for _ in range(5):
        server.get()
    before = told(server)
    old = server.workers()
    server.signal(signal.SIGUSR1)
    server.wait_for(lambda: server.workers() and not set(old) & set(server.workers()))
    after = told(server)
    assert int(after["Total Accesses"]) >= 6
    assert (before["ParentServerConfigGeneration"], before["ParentServerMPMGeneration"]) == ("1", "0")
    assert (after["ParentServerConfigGeneration"], after["ParentServerMPMGeneration"]) == ("2", "1")
    assert after["RestartTime"] == before["RestartTime"]


def test_another_restart_begins_anew(server: Running) -> None:
    (server.root / "conf/extra.conf").write_text(STATUS)
    server.start()
    for _ in range(5):
        server.get()
    old = server.workers()
    server.signal(signal.SIGHUP)
    server.wait_for(lambda: server.workers() and not set(old) & set(server.workers()))
    after = told(server)
    assert after["Total Accesses"] == "0"
    assert (after["ParentServerConfigGeneration"], after["ParentServerMPMGeneration"]) == ("2", "1")
