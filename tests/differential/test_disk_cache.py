"""Entries of a disk cache that one program stores and the other serves: apache2 and Whimbrel, both ways."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.differential.servers import APACHE, WHIMBREL, Program, ProgramProcess

pytestmark = pytest.mark.skipif(not APACHE.present, reason="apache2 is not installed")
MODULES = "mpm_event authz_core mime dir headers cache cache_disk"
CONF = """ServerName localhost
Listen 127.0.0.1:{port}
PidFile {run}/pid
ErrorLog {run}/error
DocumentRoot {root}/htdocs
TypesConfig /etc/mime.types
CacheRoot {root}/cache
CacheEnable disk /
CacheHeader On
Header set Cache-Control max-age=600
Header set X-Program {name}
<Files "v*">
Header set Vary X-V
</Files>
"""
REQUESTS = [
    ("/a.txt", {}),
    ("/a.txt?q=1&r", {}),
    ("/empty.txt", {}),
    ("/v.txt", {"X-V": "1"}),
    ("/v.txt", {"X-V": "2"}),
]


def lay_out(root: Path, program: Program, port: int) -> ProgramProcess:
    """Return *program* on the site; both use the same cache and port."""
    run = root / program.name
    run.mkdir(exist_ok=True)
    lines = [f"LoadModule {name}_module {program.module_dir}/mod_{name}.so" for name in MODULES.split()]
    if os.geteuid() == 0:
        lines.append("User www-data\nGroup www-data")
    text = CONF.format(port=port, run=run, root=root, name=program.name)
    (run / "conf").write_text("\n".join([*lines, text]))
    return ProgramProcess(program, root, run / "conf", run, port)


def answers(port: int) -> list[tuple[int, str, str, str]]:
    """Return status, X-Cache, the program that made it, and the body, of each request."""
    out = []
    for path, fields in REQUESTS:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        client.request("GET", path, headers={"Host": "localhost", **fields})
        reply = client.getresponse()
        body = reply.read().decode()
        out.append((reply.status, reply.getheader("X-Cache", ""), reply.getheader("X-Program", ""), body))
        client.close()
    return out


@pytest.fixture
def readable() -> Iterator[Path]:
    """A directory that the workers' user can read, as those above it."""
    with TemporaryDirectory(prefix="whimbrel-disk-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize(("maker", "server"), [(WHIMBREL, APACHE), (APACHE, WHIMBREL)])
def test_entries_are_served_by_the_other_program(maker: Program, server: Program, readable: Path) -> None:
    (readable / "htdocs").mkdir()
    (readable / "cache").mkdir()
    (readable / "cache").chmod(0o777)
    for name, text in (("a.txt", "first"), ("empty.txt", ""), ("v.txt", "variant")):
        (readable / "htdocs" / name).write_text(text)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with lay_out(readable, maker, port) as process:
        assert process.started, process.output
        stored = answers(port)
    assert all(state == "MISS from localhost" for _, state, _, _ in stored), stored
    for name in ("a.txt", "v.txt"):
        (readable / "htdocs" / name).write_text("changed!")
    with lay_out(readable, server, port) as process:
        assert process.started, process.output
        served = answers(port)
    expected = [(status, "HIT from localhost", maker.name, body) for status, _, _, body in stored]
    assert served == [
        *expected[:2],
        served[2],
        *expected[3:],
    ]  # httpd stores no empty body: CacheMinFileSize 1
    listed = subprocess.run(["htcacheclean", "-a", "-p", readable / "cache"], capture_output=True, check=True)
    assert listed.stdout.count(b"/v.txt?\n") == 2
