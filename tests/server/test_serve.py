"""`whimbrel serve TREE` as a process: a copy of a machine, its requests in the terminal, and --watch."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.layout_trees import TREES

from whimbrel.testing.ports import free_port

MPM = "".join(
    f"LoadModule {name}_module modules/mod_{name}.so\n"
    for name in ("mpm_event", "authz_core", "unixd", "alias", "log_config")
)
PROGRAM = [sys.executable, "-c", "from whimbrel.cli.entry import main; main()", "serve"]


def is_free(port: int) -> bool:
    """Return True if a server can listen to *port*."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


class Served:
    """`whimbrel serve` of one tree, with its output in a file."""

    def __init__(self, directory: Path) -> None:
        self.output = directory / "output"
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, tree: Path, *words: str) -> None:
        with self.output.open("wb") as sink:
            self.process = subprocess.Popen(
                [*PROGRAM, str(tree), "--port", f"80={self.port}", *words],
                stdout=sink,
                stderr=subprocess.STDOUT,
            )
        self.wait_for(lambda: "Try:" in self.text() or self.ended() is not None)

    def ended(self) -> int | None:
        assert self.process is not None
        return self.process.poll()

    def text(self) -> str:
        return self.output.read_text()

    def wait_for(self, condition: Callable[[], object], seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, self.text()
            time.sleep(0.02)

    def get(self, path: str) -> tuple[int, str]:
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            client.request("GET", path, headers={"Host": f"localhost:{self.port}"})
            reply = client.getresponse()
            return reply.status, reply.read().decode()
        finally:
            client.close()

    def stop(self) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory that workers of another user can read."""
    path = Path(tempfile.mkdtemp(prefix="whimbrel-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def served(directory: Path) -> Iterator[Served]:
    server = Served(directory)
    yield server
    if server.process is not None:
        server.stop()


@pytest.mark.parametrize("name", ["Debian 12", "CentOS 6", "WampServer"])
def test_a_copy_is_served(served: Served, directory: Path, name: str) -> None:
    """The page, one line for each request, and no file left after Ctrl-C."""
    tree = TREES[name]
    path = tree.write(directory / "copy", is_copy=True)
    before = sorted((directory / "copy").rglob("*"))
    served.start(path, "--dialect", tree.version)
    assert served.get("/index.html?a=b") == (200, tree.page)
    assert served.get("/none\x1b[2J".replace("\x1b", "%1b"))[0] == 404
    served.wait_for(lambda: "/none" in served.text())
    line = rf"(?m)^GET http://localhost:{served.port}/index\.html\?a=b 200 \d+\.\d ms$"
    assert re.search(line, served.text()), served.text()
    assert "\x1b" not in served.text()
    log = re.search(r"Errors go to (\S+)\.$", served.text(), re.M)
    assert log is not None and Path(log[1]).exists()
    assert served.stop() == 0
    assert not Path(log[1]).exists()
    assert sorted((directory / "copy").rglob("*")) == before


def test_a_port_in_use_names_the_option(served: Served, directory: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", served.port))
        other.listen()
        served.start(TREES["Debian 12"].write(directory / "copy", is_copy=True))
        assert served.stop() == 1
    assert f"hint: port {served.port} is in use: add --port" in served.text()


WITHOUT_PORTS = ["setpriv", "--bounding-set", "-net_bind_service", "--inh-caps", "-net_bind_service"]
FIRST_PORT = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")


@pytest.mark.skipif(os.getuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv")
@pytest.mark.skipif(
    not FIRST_PORT.exists() or int(FIRST_PORT.read_text()) < 81, reason="every user may listen to port 80"
)
def test_a_port_of_root_names_the_option(directory: Path) -> None:
    tree = TREES["Debian 12"].write(directory / "copy", is_copy=True)
    command = [*WITHOUT_PORTS, *PROGRAM, str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "hint: port 80 needs root: add --port 80=8080" in done.stderr.splitlines()


@pytest.mark.parametrize("words", [["nothing"], [".", "--port", "80"], [".", "--port", "80=x"]])
def test_wrong_usage(directory: Path, words: list[str]) -> None:
    done = subprocess.run(
        [*PROGRAM, *words], cwd=directory, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert (words[-1] if len(words) > 1 else "nothing") in done.stderr


def test_both_versions_beside_each_other(served: Served, directory: Path) -> None:
    """2.2 at the port, 2.4 at the next one; either shows what the other answers to its requests."""
    for name in ("cryptography", "h2", "lmdb", "lupa", "lxml"):
        pytest.importorskip(name, reason=f"--builtin all needs the optional package {name}")
    root = directory / "site"
    for name in ("conf", "htdocs"):
        (root / name).mkdir(parents=True)
    (root / "htdocs/a.txt").write_text("text\n")
    (root / "conf/mime.types").write_text("text/plain txt\n")
    (root / "conf/httpd.conf").write_text(
        "ServerRoot /usr/local/apache2\nListen 80\nUser nobody\nServerName localhost\nDocumentRoot htdocs\n"
        "DefaultType text/x-old\nAddDefaultCharset utf-8\n"
    )
    (root / "htdocs/old.unknown").write_text("old\n")
    while not is_free(served.port + 1):
        served.port = free_port()
    served.start(root, "--dialect", "both", "--builtin", "all")
    served.wait_for(lambda: served.text().count("Try:") == 2)
    assert served.get("/a.txt") == (200, "text\n")
    assert served.get("/none")[0] == 404
    assert served.get("/old.unknown") == (200, "old\n")
    served.wait_for(lambda: served.text().count("2.2 GET ") == 3 and "differs" in served.text())
    url = f"http://localhost:{served.port}"
    shown = [line for line in served.text().splitlines() if " GET http" in line or "differs" in line]
    names = [line.split()[2].removeprefix(url) for line in shown if line.startswith("2.2 GET")]
    assert sorted(names) == ["/a.txt", "/none", "/old.unknown"]  # two workers, in any order
    differs = next(at for at, line in enumerate(shown) if "differs" in line)
    assert shown[differs - 1].startswith(f"2.2 GET {url}/old.unknown 200 ")
    assert [line for line in shown if "differs" in line] == [
        "    differs: 2.2: Content-Type: text/x-old, 2.4: Content-Type: (none)"
    ]
    assert served.stop() == 0


def test_watch_reloads_valid_changes_alone(served: Served, directory: Path) -> None:
    """A new file that a wildcard matches, an error in it, and its correction."""
    pytest.importorskip("watchfiles", reason="the optional package watchfiles is not installed")
    tree = TREES["RHEL 7"].write(directory / "copy", is_copy=True)
    served.start(tree, "--watch")
    assert served.get("/moved")[0] == 404
    own = tree / "conf.d/own.conf"
    own.write_text("Redirect gone /moved\n")
    served.wait_for(lambda: served.get("/moved")[0] == 410)
    own.write_text("Redirekt /moved\n")
    served.wait_for(lambda: "Invalid command 'Redirekt'" in served.text())
    assert f"{own}:" in served.text()
    assert served.process is not None
    served.process.send_signal(signal.SIGUSR1)  # a text that has become invalid since it was checked
    log = re.search(r"Errors go to (\S+)\.$", served.text(), re.M)
    assert log is not None
    served.wait_for(lambda: "Invalid command 'Redirekt'" in Path(log[1]).read_text())
    assert served.get("/moved")[0] == 410
    own.write_text("Redirect 403 /moved\n")
    served.wait_for(lambda: served.get("/moved")[0] == 403)
    main = tree / "conf/httpd.conf"
    text = main.read_text()
    main.unlink()
    served.wait_for(lambda: "Could not open configuration file" in served.text())
    main.write_text(f"{text}Redirect gone /main\n")
    served.wait_for(lambda: served.get("/main")[0] == 410)
    shutil.rmtree(own.parent)
    served.wait_for(lambda: served.get("/moved")[0] == 404)
    own.parent.mkdir()
    own.write_text("Redirect gone /moved\nIncludeOptional more.d/*.conf\n")
    served.wait_for(lambda: served.get("/moved")[0] == 410)
    (tree / "more.d").mkdir()
    (tree / "more.d/a.conf").write_text("Redirect gone /more\n")
    served.wait_for(lambda: served.get("/more")[0] == 410)
    assert served.stop() == 0


def test_watch_ignores_the_logs_of_the_server(served: Served, directory: Path) -> None:
    """A server root that is one directory: logs and PidFile stand beside the main file."""
    pytest.importorskip("watchfiles", reason="the optional package watchfiles is not installed")
    (directory / "site").mkdir()
    (directory / "site/httpd.conf").write_text(
        f"{MPM}ServerName localhost\nListen {served.port}\nErrorLog error.log\nLogLevel debug\n"
    )
    served.start(directory / "site/httpd.conf", "--watch")
    assert served.get("/none")[0] == 404
    with pytest.raises(AssertionError):
        served.wait_for(lambda: "reloaded" in served.text(), seconds=4)
    assert served.stop() == 0


def test_a_failed_restart_is_on_the_terminal(served: Served, directory: Path) -> None:
    """Its error log is a temporary file, which ends with the server."""
    tree = TREES["RHEL 7"].write(directory / "copy", is_copy=True)
    served.start(tree)
    (tree / "conf.d/own.conf").write_text("Redirekt gone /moved\n")
    assert served.process is not None
    served.process.send_signal(signal.SIGHUP)
    assert served.process.wait(30) == 1
    after = served.text().partition("the server has ended; from its error log:\n")[2]
    assert f"Syntax error on line 1 of {tree}/conf.d/own.conf:" in after
    assert "Invalid command 'Redirekt'" in after


def test_a_closed_terminal_ends_the_server(directory: Path, served: Served) -> None:
    """Its SIGHUP would restart a server that nobody sees any more."""
    tree = TREES["RHEL 7"].write(directory / "copy", is_copy=True)
    ours, theirs = os.openpty()
    command = [*PROGRAM, str(tree), "--port", f"80={served.port}"]
    server = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    text = b""
    while b"Try:" not in text:
        text += os.read(ours, 4096)
    os.close(ours)
    server.send_signal(signal.SIGHUP)
    assert server.wait(30) in (1, 120)  # 120: Python could not write the rest of its output
    assert is_free(served.port)


@pytest.mark.parametrize("words", [[], ["--dialect", "both"]])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_during_the_start_leaves_nothing(directory: Path, words: list[str], number: int) -> None:
    """Before the server handles signals: the temporary directory exists as soon as the tree is known."""
    tree = TREES["RHEL 7"].write(directory / "copy", is_copy=True)
    temporary = directory / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    server = subprocess.Popen(
        [*PROGRAM, str(tree), "--port", f"80={free_port()}", *words], env=environment, stderr=subprocess.PIPE
    )
    while not list(temporary.iterdir()):
        time.sleep(0.001)
    server.send_signal(number)
    _output, errors = server.communicate(timeout=30)
    assert errors == b""
    assert server.returncode in (0, 128 + signal.SIGINT)
    assert list(temporary.iterdir()) == []


def test_a_log_that_cannot_be_opened_is_on_the_terminal(served: Served, directory: Path) -> None:
    """httpd logs the reason in the error log, which is open by then, and prints its consequence."""
    tree = TREES["RHEL 7"].write(directory / "site", is_copy=False)
    with (tree / "conf/httpd.conf").open("a") as main:
        main.write('CustomLog "conf" common\n')
    served.start(tree)
    assert served.ended() == 1
    assert "AH00015: Unable to open logs" in served.text()
    assert "AH00649: could not open transfer log file" in served.text()
