"""Range and HEAD before and after a response is stored: apache2 and Whimbrel."""

from __future__ import annotations

import http.client
import os
from pathlib import Path

import pytest

from tests.differential.servers import APACHE, WHIMBREL, Program, ProgramProcess
from whimbrel.testing.ports import free_port

pytestmark = pytest.mark.skipif(not APACHE.present, reason="apache2 is not installed")
MODULES = "mpm_event authz_core mime dir headers cache cache_disk cache_socache socache_shmcb"
CONF = """ServerName localhost
Listen 127.0.0.1:{port}
PidFile {run}/pid
DefaultRuntimeDir {run}
ErrorLog {run}/error
DocumentRoot {root}/htdocs
TypesConfig /etc/mime.types
CacheRoot {run}/cache
CacheSocache shmcb
CacheHeader On
Header set Cache-Control max-age=600
{conf}
"""
FIRST = {"Range": "bytes=0-1"}
REQUESTS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("GET", "/a.txt", FIRST),
    ("GET", "/a.txt", FIRST),
    ("GET", "/a.txt", {"Range": "bytes=90-"}),
    ("HEAD", "/b.txt", {}),
    ("HEAD", "/b.txt", {}),
    ("HEAD", "/b.txt", {"If-None-Match": "*"}),
    ("GET", "/b.txt", {"Range": "bytes=90-"}),
    ("HEAD", "/b.txt", FIRST),
    ("GET", "/b.txt", {"If-None-Match": "*"}),
)
Answer = tuple[int, str | None, str | None, str | None, bytes]


def answers(program: Program, root: Path, conf: str) -> list[Answer]:
    """Return status, X-Cache, Content-Range, Content-Length and body of each request."""
    port, run = free_port(), root / program.name
    (run / "cache").mkdir(parents=True)
    (run / "cache").chmod(0o777)
    lines = [f"LoadModule {name}_module {program.module_dir}/mod_{name}.so" for name in MODULES.split()]
    if os.geteuid() == 0:
        lines.append("User www-data\nGroup www-data")
    text = CONF.format(port=port, run=run, root=root, conf=conf)
    (run / "conf").write_text("\n".join([*lines, text]))
    found: list[Answer] = []
    with ProgramProcess(program, root, run / "conf", run, port) as process:
        assert process.started, process.output
        for method, path, fields in REQUESTS:
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            client.request(method, path, headers={"Host": "localhost", **fields})
            reply = client.getresponse()
            shown = [reply.getheader(name) for name in ("X-Cache", "Content-Range", "Content-Length")]
            body = reply.read() if reply.status < 300 else b""
            found.append((reply.status, shown[0], shown[1], shown[2], body))
            client.close()
    return found


@pytest.mark.parametrize("store", ["disk", "socache"])
@pytest.mark.parametrize("line", ["", "CacheQuickHandler Off", "CacheReadSize 10\nCacheSocacheReadSize 10"])
def test_ranges_and_head(store: str, line: str, open_path: Path) -> None:
    (open_path / "htdocs").mkdir()
    for name in ("a.txt", "b.txt"):
        (open_path / "htdocs" / name).write_text("whimbrel")
        os.utime(open_path / "htdocs" / name, (1_600_000_000, 1_600_000_000))
    conf = f"CacheEnable {store} /\n{line}"
    assert answers(WHIMBREL, open_path, conf) == answers(APACHE, open_path, conf)
