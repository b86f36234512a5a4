"""The status page for prometheus-apache-exporter, munin and collectd, beside apache2."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import pytest

from tests.differential.raw_exchange import exchange
from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.differential.site import GeneratedSite, ServerProcess, documents
from whimbrel.testing.ports import free_port

TOTALS: Final = ("Total Accesses", "Total kBytes", "Total Duration")
PATIENCE: Final = 15.0
EXPORTER: Final = "prometheus-apache-exporter"
COLLECTD: Final = "/usr/sbin/collectd"
MUNIN: Final = Path("/usr/share/munin/plugins")
PROGRAMS: Final = [pytest.param(each, id=each.name) for each in (APACHE, WHIMBREL)]
CONF: Final = """LoadModule status_module %MODULES%/mod_status.so
LoadModule ssl_module %MODULES%/mod_ssl.so
LoadModule socache_shmcb_module %MODULES%/mod_socache_shmcb.so
SSLSessionCache shmcb:%BASE%/%NAME%-cache(512000)
ServerTokens Prod
ServerLimit 4
ThreadsPerChild 5
MaxRequestWorkers 20
StartServers 2
MinSpareThreads 5
MaxSpareThreads 20
Header set X-Software "expr=%{SERVER_SOFTWARE}"
RewriteEngine On
RewriteRule ^ - [E=SOFTWARE:%{SERVER_SOFTWARE}]
Header set X-Rewritten "%{SOFTWARE}e"
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
<Directory "%ROOT%">
Options +Includes
</Directory>
<Location /server-status>
SetHandler server-status
RewriteEngine Off
</Location>
"""


@pytest.fixture(scope="module", params=PROGRAMS)
def server(request: pytest.FixtureRequest) -> Iterator[ServerProcess]:
    """Return a server of the program with a status page."""
    program: Program = request.param
    if not program.present:
        pytest.skip(f"{program.name} is not installed")
    with tempfile.TemporaryDirectory() as base:
        root = Path(base) / "site"
        root.mkdir()
        root.parent.chmod(0o755)
        documents(root)
        (root / "htdocs" / "soft.shtml").write_text('<!--#echo var="SERVER_SOFTWARE" -->')
        text = CONF.replace("%MODULES%", program.module_dir).replace("%NAME%", program.name)
        with ServerProcess(program, GeneratedSite(text), root) as process:
            assert process.started, process.output
            yield process


def status(port: int) -> dict[str, str]:
    """Return the lines of ?auto, read over a connection of its own."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
        connection.request("GET", "/server-status?auto")
        lines = connection.getresponse().read().decode("latin-1").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def test_version_is_that_of_v_whatever_servertokens(server: ServerProcess) -> None:
    shown = subprocess.run([*server.program.argv, "-v"], capture_output=True, text=True, check=True).stdout
    version = shown.splitlines()[0].removeprefix("Server version: ")
    # apache2 adds the version of OpenSSL
    assert status(server.port)["ServerVersion"].startswith(version)


def test_scoreboard_has_a_letter_for_each_request_worker(server: ServerProcess) -> None:
    found = status(server.port)
    assert len(found["Scoreboard"]) == 20
    assert all(found[name].isdigit() for name in ("Stopping", "Processes", "BusyWorkers", "ConnsTotal"))


def test_row_has_the_virtual_host_and_the_protocol_of_the_connection(server: ServerProcess) -> None:
    head = b"GET /server-status?row HTTP/1.0\r\nHost: elsewhere.test:99\r\n\r\n"
    page = exchange(server.port, head).decode("latin-1")
    row = r"<td>127\.0\.0\.1</td><td>([^<]*)</td><td nowrap>([^<]*)</td><td nowrap>GET /server-status\?row "
    assert re.findall(row, page) == [("http/1.1", f"localhost:{server.port}")]


def test_session_cache_is_described(server: ServerProcess) -> None:
    found = status(server.port)
    assert found["CacheType"] == "SHMCB"
    assert (found["CacheSharedMemory"], found["CacheSubcaches"]) == ("512000", "32")
    assert (found["CacheIndexesPerSubcaches"], found["CacheCurrentEntries"]) == ("88", "0")
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/server-status", timeout=PATIENCE) as page:
        text = page.read().decode("latin-1")
    assert "SSL/TLS Session Cache Status:" in text and "subcaches: <b>32</b>" in text


def test_server_software_is_the_same_everywhere(server: ServerProcess) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/soft.shtml", timeout=PATIENCE) as response:
        page = response.read().decode()
        assert {response.headers["X-Software"], response.headers["X-Rewritten"]} == {page}
    assert "Apache" in page


def test_totals_never_fall_between_connections_workers_and_generations(server: ServerProcess) -> None:
    ended = threading.Event()

    def load() -> None:
        while not ended.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
            # a graceful restart may close a connection between two requests
            with closing(connection), suppress(http.client.HTTPException, OSError):
                for _ in range(20):
                    connection.request("GET", "/a.txt")
                    connection.getresponse().read()

    loaders = [threading.Thread(target=load, daemon=True) for _ in range(3)]
    for each in loaders:
        each.start()
    seen: list[tuple[float, ...]] = []
    restarts = [0.3, 1.0]
    begun = time.monotonic()
    while time.monotonic() - begun < 2.0:
        if restarts and time.monotonic() - begun > restarts[0]:
            restarts.pop(0)
            server.process.send_signal(signal.SIGUSR1)
        found = status(server.port)
        seen.append(tuple(float(found[name]) for name in TOTALS))
    ended.set()
    for each in loaders:
        each.join(PATIENCE)
    for counts in zip(*seen, strict=True):
        assert list(counts) == sorted(counts)
    assert seen[-1][0] > seen[0][0] > 0


def test_prometheus_exporter_reads_it(server: ServerProcess) -> None:
    if shutil.which(EXPORTER) is None:
        pytest.skip(f"{EXPORTER} is not installed")
    end = time.monotonic() + PATIENCE
    while status(server.port)["BusyWorkers"] != "1":  # connections of an earlier test may still close
        assert time.monotonic() < end
        time.sleep(0.05)
    port = free_port()
    uri = f"http://127.0.0.1:{server.port}/server-status?auto"
    words = [EXPORTER, f"--telemetry.address=127.0.0.1:{port}", f"--scrape_uri={uri}"]
    exporter = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        text = _metrics(port, exporter)
    finally:
        exporter.terminate()
        errors = exporter.communicate()[1].decode()
    values = dict(re.findall(r"^(apache_\w+(?:\{[^}]*\})?) (\S+)$", text, re.MULTILINE))
    assert values["apache_up"] == "1", errors
    assert values["apache_version"] == "2.04071"
    assert values['apache_workers{state="busy"}'] == "1"
    assert float(values["apache_accesses_total"]) >= 1
    assert 'apache_scoreboard{state="idle"}' in values
    assert sum(float(value) for name, value in values.items() if name.startswith("apache_scoreboard")) == 20


def _metrics(port: int, exporter: subprocess.Popen[bytes]) -> str:
    """Return the metrics once the exporter answers."""
    end = time.monotonic() + PATIENCE
    while exporter.poll() is None and time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as response:
                return str(response.read().decode())
        except urllib.error.URLError:
            time.sleep(0.02)
    return ""


@pytest.mark.parametrize(
    ("plugin", "pattern"),
    [
        ("apache_accesses", r"accesses\d+\.value (\d+)"),
        ("apache_volume", r"volume\d+\.value (\d+)"),
        ("apache_processes", r"free\d+\.value (\d+)"),
    ],
)
def test_munin_reads_it(server: ServerProcess, plugin: str, pattern: str) -> None:
    if not (MUNIN / plugin).exists():
        pytest.skip("munin-plugins-core is not installed")
    url = "http://127.0.0.1:%d/server-status?auto"
    environment = {**os.environ, "MUNIN_LIBDIR": "/usr/share/munin", "ports": str(server.port), "url": url}
    command = [str(MUNIN / plugin)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    if "LWP::UserAgent not found" in done.stderr + done.stdout:
        pytest.skip("libwww-perl is not installed")
    assert re.search(pattern, done.stdout), done.stdout + done.stderr


def test_collectd_reads_it(server: ServerProcess, tmp_path: Path) -> None:
    if not Path(COLLECTD).exists():
        pytest.skip("collectd-core is not installed")
    conf = tmp_path / "collectd.conf"
    conf.write_text(
        f'Hostname "here"\nInterval 0.2\nPIDFile "{tmp_path}/pid"\nBaseDir "{tmp_path}"\nLoadPlugin apache\n'
        f'LoadPlugin csv\n<Plugin csv>\nDataDir "stdout"\n</Plugin>\n<Plugin apache>\n<Instance "it">\n'
        f'URL "http://127.0.0.1:{server.port}/server-status?auto"\n</Instance>\n</Plugin>\n'
    )
    process = subprocess.Popen(
        [COLLECTD, "-f", "-C", str(conf)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    timer = threading.Timer(PATIENCE, process.kill)
    timer.start()
    lines: list[str] = []
    wanted = {"apache_requests", "apache_bytes", "apache_connections", "apache_scoreboard-waiting"}
    assert process.stdout is not None
    try:
        for line in process.stdout:
            lines.append(line)
            wanted -= {name for name in wanted if re.search(rf"/apache-it/{name}\b", line)}
            if not wanted:
                break
    finally:
        timer.cancel()
        process.terminate()
        process.wait(PATIENCE)
        process.stdout.close()
    assert not wanted, lines
