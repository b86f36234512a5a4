"""Bodies that fail behind output filters: the client detects the truncation, and one line is logged."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest
from tests.server.conftest import ServerProcess, lines, open_files, programs, reset, within

CONF = """\
LoadModule ext_filter_module m/mod_ext_filter.so
LoadModule ratelimit_module m/mod_ratelimit.so
LoadModule env_module m/mod_env.so
LoadModule cgi_module m/mod_cgi.so
LogFormat "%r %>s" lines
CustomLog logs/lines lines
ScriptAlias /cgi/ {root}/cgi/
ExtFilterDefine cat cmd="/bin/cat"
ExtFilterDefine absent cmd="/no/such/file"
Alias /absent/ {root}/htdocs/
<Location /absent>
    SetOutputFilter absent
</Location>
ExtFilterDefine flood mode=input cmd="/usr/bin/yes"
<Location /cgi/count>
    SetInputFilter flood
</Location>
Alias /cat/ {root}/htdocs/
<Location /cat>
    SetOutputFilter cat
</Location>
Alias /fast/ {root}/htdocs/
<LocationMatch ^/(fast|cgi)/>
    SetEnv rate-limit 1000000
    SetEnv rate-initial-burst 1000000
    SetOutputFilter RATE_LIMIT
</LocationMatch>
"""
COUNT = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nexec wc -c\n"
SLOW = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\nbegin\\n'\nexec sleep 100\n"


@pytest.fixture
def site(server: ServerProcess) -> ServerProcess:
    root = server.root
    (root / "conf/extra.conf").write_text(CONF.format(root=root))
    with (root / "htdocs/huge.txt").open("wb") as file:
        file.truncate(1 << 28)
    (root / "htdocs/a.txt").write_text("small\n")
    (root / "cgi").mkdir()
    for name, text in (("slow", SLOW), ("count", COUNT)):
        (root / "cgi" / name).write_text(text)
        (root / "cgi" / name).chmod(0o755)
    server.start()
    server.get()
    return server


def request(site: ServerProcess, path: str) -> socket.socket:
    """Send a GET from a client that receives little ahead."""
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    wire.settimeout(20)
    wire.connect(("127.0.0.1", site.port))
    wire.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return wire


def test_a_source_that_fails_behind_a_program_is_logged(site: ServerProcess) -> None:
    before, out = open_files(site), b""
    with request(site, "/cat/huge.txt") as wire:
        out += wire.recv(4096)
        os.truncate(site.root / "htdocs/huge.txt", 1000)
        try:
            while data := wire.recv(1 << 20):
                out = out[-10:] + data
        except ConnectionResetError:
            pass
    assert not out.endswith(b"0\r\n\r\n")
    assert within(lambda: lines(site)[1:] == ["GET /cat/huge.txt HTTP/1.1 200"])
    assert within(lambda: open_files(site) == before)
    assert "Traceback" not in site.errors()


def memory(site: ServerProcess) -> int:
    """Return the resident memory of the largest worker in bytes."""
    return max(
        int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
        for pid in site.workers()
    )


def test_a_high_rate_is_not_held_in_memory(site: ServerProcess) -> None:
    with request(site, "/fast/a.txt") as wire:
        assert wire.recv(4096)
    before = memory(site)
    with request(site, "/fast/huge.txt") as wire:
        assert wire.recv(4096)
        time.sleep(0.3)
        assert memory(site) - before < 8 << 20


def test_a_slow_program_is_throttled_as_it_writes(site: ServerProcess) -> None:
    begun = time.monotonic()
    with request(site, "/cgi/slow") as wire:
        out = b""
        while b"begin" not in out:
            assert (data := wire.recv(4096))
            out += data
    assert time.monotonic() - begun < 20


def test_an_endless_program_ends_with_a_client_whose_body_is_not_read(site: ServerProcess) -> None:
    before, body = open_files(site), bytes(8 << 20)
    wire = site.connect()
    wire.settimeout(0.5)
    try:
        wire.sendall(b"POST /cgi/count HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8388608\r\n\r\n" + body)
    except TimeoutError:
        pass  # the program does not read it
    assert within(lambda: len(programs(site)) == 2)
    reset(wire)
    assert within(lambda: not programs(site))
    assert within(lambda: len(lines(site)) == 2)
    assert within(lambda: open_files(site) == before)
    assert "Traceback" not in site.errors()


def test_a_program_that_does_not_start_leaves_its_file_to_be_closed_once(site: ServerProcess) -> None:
    before = open_files(site)
    for _ in range(3):
        with request(site, "/absent/huge.txt") as wire:
            assert b" 500 " in wire.recv(4096)
    assert within(lambda: open_files(site) == before)
    assert "Traceback" not in site.errors()
