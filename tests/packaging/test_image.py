"""The container image: its facts are those of the official image of httpd, and of the code."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from tests.meta.tree import ROOT
from whimbrel.base.layouts import PREFIX

DOCKER = ROOT / "packaging/docker"
TEXT = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")


def instructions(name: str, stage: int) -> list[str]:
    """Return the arguments of an instruction in a stage of the Dockerfile."""
    stages = re.split(r"^FROM .*$", TEXT, flags=re.M)[1:]
    return re.findall(rf"^{name} (.*)$", stages[stage], re.M)


def test_the_image_has_two_stages_and_does_not_run_as_root() -> None:
    assert len(re.findall(r"^FROM ", TEXT, re.M)) == 2
    assert instructions("USER", 1) == ["www-data"]
    assert "apt-get" not in " ".join(instructions("RUN", 1)) and not instructions("ADD", 0)
    assert "--require-hashes -r requirements.lock" in " ".join(instructions("RUN", 0))


def test_paths_and_command_are_those_of_the_official_image() -> None:
    assert PREFIX == "/usr/local/apache2"
    assert instructions("ENV", 1)[0] == f"HTTPD_PREFIX={PREFIX}"
    assert instructions("WORKDIR", 1) == ["$HTTPD_PREFIX"]
    assert instructions("EXPOSE", 1) == ["80"]
    assert instructions("CMD", 1) == ['["httpd-foreground"]']
    assert f"packaging/docker/layout {PREFIX}" in instructions("RUN", 0)


def test_the_signal_is_that_of_a_graceful_stop() -> None:
    """The master handles it as httpd does; the unit files name the same."""
    assert instructions("STOPSIGNAL", 1) == ["SIGWINCH"]
    master = "".join(path.read_text() for path in (ROOT / "src/whimbrel/server/master").glob("*.py"))
    assert "SIGWINCH" in master
    assert "KillSignal=SIGWINCH" in (ROOT / "packaging/system/whimbrel.service").read_text()


def test_what_is_copied_exists_and_reaches_the_builder() -> None:
    named = [word for line in instructions("COPY", 0) for word in line.split()[:-1]]
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored[1] == "*"
    for name in named:
        assert (ROOT / name).exists(), name
        assert f"!{name}" in ignored, name
    programs = set(re.findall(r'"\$here/([a-z.-]+)"', (DOCKER / "layout").read_text()))
    assert programs == {"httpd.conf", "index.html", "httpd-foreground", "httpd-health"}
    assert all(os.access(DOCKER / name, os.X_OK) for name in ("layout", "httpd-foreground", "httpd-health"))


def test_the_extras_of_the_image_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (extras,) = re.findall(r"\.whl\)\[([a-z0-9,-]+)\]", " ".join(instructions("RUN", 0)))
    assert set(extras.split(",")) <= set(project["optional-dependencies"])


@pytest.fixture
def server_root(tmp_path: Path) -> Path:
    """Return the server root of the image, below a directory of the test."""
    if not Path("/etc/mime.types").exists():
        pytest.skip("no /etc/mime.types here (package media-types)")
    root = tmp_path / "apache2"
    subprocess.run([DOCKER / "layout", root], check=True)
    return root


def test_the_configuration_is_valid(server_root: Path) -> None:
    main = server_root / "conf/httpd.conf"
    main.write_text(main.read_text().replace(PREFIX, str(server_root)))
    program = [sys.executable, "-c", "from whimbrel.cli.httpd import main; main()"]
    words = [*program, "-d", str(server_root), "--strict", "-t"]
    found = subprocess.run(words, capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, "Syntax OK\n")


def test_the_commands_of_httpd_are_links_into_the_environment(server_root: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    links = {path.name: os.readlink(path) for path in (server_root / "bin").iterdir() if path.is_symlink()}
    assert links == {
        script.removeprefix("whimbrel-"): f"/opt/whimbrel/bin/{script}"
        for script in project["scripts"]
        if script != "whimbrel"
    }


@pytest.fixture
def health() -> dict[str, object]:
    """Return the names of the health check's program."""
    names: dict[str, object] = {"__name__": "health"}
    exec(compile((DOCKER / "httpd-health").read_text(), "httpd-health", "exec"), names)
    return names


@pytest.fixture
def answering() -> Iterator[tuple[int, list[bytes]]]:
    """Yield a port, and the bytes with which it answers."""
    listener = socket.create_server(("127.0.0.1", 0))
    answer: list[bytes] = []

    def answer_one() -> None:
        with closing(listener.accept()[0]) as client:
            client.recv(100)
            client.sendall(answer[0])

    thread = Thread(target=answer_one)
    thread.start()
    yield listener.getsockname()[1], answer
    thread.join()
    listener.close()


@pytest.mark.parametrize(
    ("text", "is_healthy"), [(b"HTTP/1.1 503 Service Unavailable\r\n\r\n", True), (b"220 smtp", False)]
)
def test_the_health_check_asks_ports_that_listen(
    health: dict[str, object], answering: tuple[int, list[bytes]], text: bytes, is_healthy: bool
) -> None:
    port, answer = answering
    answer.append(text)
    listening, answers = health["listening_ports"], health["answers"]
    assert callable(listening) and callable(answers)
    assert port in listening()
    assert answers(port) is is_healthy


def test_a_port_that_refuses_is_not_healthy(health: dict[str, object]) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
    answers = health["answers"]
    assert callable(answers) and answers(port) is False
