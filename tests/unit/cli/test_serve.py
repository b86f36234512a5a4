"""The ports of `whimbrel serve`."""

from __future__ import annotations

import errno
from pathlib import Path
from unittest import mock

import pytest

from whimbrel.base.dialect import V24
from whimbrel.base.errors import MissingResource, NotBound, SourceLocation
from whimbrel.cli.serve import port_hint, ports_of
from whimbrel.cli.serve_places import ServePlaces
from whimbrel.cli.served_lines import ServedLines
from whimbrel.config.load import new_configuration
from whimbrel.config.options import LoadOptions
from whimbrel.config.servers import FoundServer
from whimbrel.directives.node import Node
from whimbrel.utilities.usage_error import UsageError


def test_ports() -> None:
    assert ports_of(["80=8080", "443=8443", "80=8080"]) == {80: 8080, 443: 8443}


@pytest.mark.parametrize("word", ["80", "80=", "=80", "80=0", "80=65536", "a=b", "80=8080=1"])
def test_no_ports(word: str) -> None:
    with pytest.raises(UsageError, match=f"--port {word}: not OLD=NEW"):
        ports_of([word])


def test_two_replacements_of_one_port() -> None:
    with pytest.raises(UsageError, match="port 80 has two replacements"):
        ports_of(["80=8080", "80=8081"])


@pytest.mark.parametrize(
    ("ports", "offset", "port", "number", "text"),
    [
        ({}, 0, 80, errno.EACCES, "port 80 needs root: add --port 80=8080"),
        ({80: 81}, 0, 81, errno.EACCES, "port 81 needs root: add --port 80=8081"),
        ({80: 8080}, 0, 8080, errno.EADDRINUSE, "port 8080 is in use: add --port 80=8081"),
        ({80: 8080}, 1, 8081, errno.EADDRINUSE, "port 8081 is in use: add --port 80=8081"),
    ],
)
def test_the_option_for_another_port(
    ports: dict[int, int], offset: int, port: int, number: int, text: str
) -> None:
    """The option names the port of the text, which an earlier one may have replaced."""
    lines = ServedLines(mock.create_autospec(ServePlaces, instance=True), ports, offset)
    assert port_hint(lines, NotBound("no", port=port, number=number)) == text


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("SSLSessionCache", "shmcb:/run/c(512000)", "shmcb:/new/run/c(512000)"),
        ("SSLSessionCache", "none", "none"),
        ("CacheLockPath", "/run/lock", "/new/run/lock"),
        ("ScriptSock", "/run/cgisock", "/new/run/cgisock"),
        ("Mutex", "file:/run/locks default", "file:/new/run/locks default"),
    ],
)
def test_what_the_server_writes(name: str, args: str, expected: str) -> None:
    places = mock.create_autospec(ServePlaces, instance=True)
    places.root, places.image, places.has_drives = "/srv", "/copy", False
    places.place.side_effect = lambda path: path
    places.written.side_effect = lambda path, **_options: f"/new{path}"
    lines = ServedLines(places, {})
    assert lines.arguments(Node(name, args, SourceLocation("", 1))) == expected


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("Listen", "80", "127.0.0.1:8080"),
        ("Listen", "*:80", "127.0.0.1:8080"),
        ("Listen", "[::]:80", "127.0.0.1:8080"),
        ("Listen", "0.0.0.0:443", "127.0.0.1:443 https"),
        ("Listen", "192.0.2.1:80 http", "127.0.0.1:8080 http"),
        ("<VirtualHost", "*:80>", "*:8080>"),
        ("<VirtualHost", "192.0.2.1:80>", "127.0.0.1:8080>"),
        ("NameVirtualHost", "www.example.com:80", "127.0.0.1:8080"),
    ],
)
def test_only_the_loopback_is_listened_on(name: str, args: str, expected: str) -> None:
    places = mock.create_autospec(ServePlaces, instance=True)
    places.root, places.image, places.has_drives = "/srv", "", False
    lines = ServedLines(places, {80: 8080}, is_local=True)
    assert lines.arguments(Node(name, args, SourceLocation("", 1))) == expected


@pytest.mark.parametrize("word", ["logs/access_log", "|/usr/bin/rotatelogs /srv/logs/a 86400"])
def test_a_trial_on_the_loopback_writes_no_log_of_the_site(tmp_path: Path, word: str) -> None:
    """The logs of a site, which `replay` reads, are those of its clients."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "conf").mkdir()
    main = tmp_path / "conf/httpd.conf"
    main.write_text(f"ServerRoot {tmp_path}\n")
    places = ServePlaces(FoundServer(str(tmp_path), str(main)))
    try:
        node = Node("CustomLog", f'"{word}" common', SourceLocation("", 1))
        trial = ServedLines(places, {}, is_local=True)
        assert trial.arguments(node).startswith(places.directory)
        assert any(places.directory in note for note in trial.notes)
        site = ServedLines(places, {}).arguments(node)
        assert word.startswith("|") or places.directory not in site
    finally:
        places.close()


@pytest.mark.parametrize("is_local", [True, False])
def test_only_a_trial_on_the_loopback_starts_without_suexec(is_local: bool) -> None:
    """A server for others must not run the programs of one customer as the user of all."""
    places = mock.create_autospec(ServePlaces, instance=True)
    lines = ServedLines(places, {}, is_local=is_local)
    reason = "SuexecUserGroup configured, but suEXEC is disabled: Missing suexec binary"
    suexec = MissingResource(reason, is_accepted_by_22=True)
    options = LoadOptions(server_root="/nowhere", adapter=lines)
    configuration = new_configuration(options, {}, V24)
    assert configuration.leaves_out(suexec) is is_local
    assert not configuration.leaves_out(MissingResource("bad user name apache"))
    assert lines.notes == [f"--loopback: {reason}: programs run as the workers"] * is_local
