"""Whose requests the lines of a log are that name no host: those of the virtual host that writes this log."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import side_of, write_site
from tests.unit.replay.replayed_site import NOW, line

from whimbrel.config.options import LoadOptions
from whimbrel.replay import host_logs
from whimbrel.replay.host_logs import ACCESS, ERROR, HostLogs, LogOwners
from whimbrel.replay.log_files import pieces_of
from whimbrel.replay.log_format import DEFAULT_FORMATS, LineFormat
from whimbrel.replay.work import Replayer, ReplayWork, SideOptions

COMBINED = LineFormat.compile(DEFAULT_FORMATS[1])
TEXT = """LoadModule log_config_module modules/mod_log_config.so
Listen 8080
ServerName main.example
DocumentRoot htdocs
LogFormat "%h %l %u %t \\"%r\\" %>s %b \\"%{Referer}i\\" \\"%{User-Agent}i\\"" combined
CustomLog logs/main combined
ErrorLog logs/error
"""
HOST = "<VirtualHost *:{port}>\nServerName {name}\n{lines}</VirtualHost>\n"


def host(name: str, *lines: str, port: int = 8080) -> str:
    """Return a virtual host."""
    return HOST.format(name=name, port=port, lines="".join(f"{each}\n" for each in lines))


A = host("a.example", "CustomLog logs/a combined", "ErrorLog logs/a_error")
B = host("b.example", "CustomLog logs/b combined")


def owner_of(root: Path, text: str, path: str) -> tuple[str, tuple[str, ...], str]:
    """Return the origin, the names and what they do of a log of combined lines at *path*."""
    found = HostLogs(side_of(root, text)).owners(COMBINED, path)
    return found.host.origin if found.host is not None else "", found.names, found.what


@pytest.mark.parametrize(
    ("hosts", "log", "owner"),
    [
        (A + B, "logs/b", ("http://b.example:8080", ())),
        (A + B, "logs/b.1", ("http://b.example:8080", ())),
        (A + B, "logs/b-20260312.gz", ("http://b.example:8080", ())),
        (A + B, "elsewhere/b", ("http://b.example:8080", ())),
        (A + B, "logs/none", ("", ("a.example", "b.example"))),
        (A + B, "-", ("", ("a.example", "b.example"))),
        (A + B + host("c.example", "CustomLog logs/b combined"), "logs/b", ("", ("b.example", "c.example"))),
        # without a log line of its own a virtual host logs as the main server does
        (A + host("d.example"), "logs/main", ("http://d.example:8080", ())),
        (A + host("d.example") + host("e.example"), "logs/main", ("", ("d.example", "e.example"))),
        # no virtual host has the address of port 8081: these requests are those of the main server
        (f"Listen 8081\n{A}", "logs/main", ("", ("main.example",))),
        (f"Listen 8081\n{A}{host('d.example')}", "logs/main", ("", ("main.example", "d.example"))),
    ],
)
def test_a_log_is_that_of_the_hosts_whose_lines_name_it(
    tmp_path: Path, hosts: str, log: str, owner: tuple[str, tuple[str, ...]]
) -> None:
    """httpd: a virtual host without CustomLog and TransferLog has those of the main server (manual:
    mod/mod_log_config.html, "Security Considerations" and "Virtual Hosts").
    """
    path = log if log == "-" else str(tmp_path / log)
    assert owner_of(tmp_path, TEXT + hosts, path)[:2] == owner


def test_global_log_is_of_all_hosts(tmp_path: Path) -> None:
    found = owner_of(tmp_path, f"{TEXT}GlobalLog logs/all combined\n{A}{B}", str(tmp_path / "logs/all"))
    assert found == ("", ("a.example", "b.example"), "log into all")


@pytest.mark.parametrize(
    ("logs", "kinds", "owner"),
    [
        ({"a": "x\nGET\n", "b": "GETS\n"}, ACCESS, "a.example"),
        ({"a": "x\n", "b": "GET\r\n"}, ACCESS, "b.example"),
        ({"a": "GET\n", "b": "GET\n"}, ACCESS, ("a.example", "b.example")),
        ({"a": "GET\n", "main": "GET\n"}, ACCESS, "a.example"),  # nothing is logged there
        ({}, ACCESS, ()),
        ({"a_error": "GET\n", "a": "x\n"}, ERROR, "a.example"),
        ({"error": "GET\n"}, ERROR, "b.example"),
    ],
)
def test_a_line_is_of_the_host_whose_log_has_it(
    tmp_path: Path, logs: dict[str, str], kinds: frozenset[str], owner: str | tuple[str, ...]
) -> None:
    (tmp_path / "logs").mkdir()
    for name, text in logs.items():
        (tmp_path / "logs" / name).write_bytes(text.encode())
    found = HostLogs(side_of(tmp_path, TEXT + A + B)).owners_of_line(b"GET", kinds)
    assert (found.host.name if found.host is not None else found.names) == owner


def test_logs_that_are_programs_have_no_file(tmp_path: Path) -> None:
    piped = host("a.example", 'CustomLog "|bin/rotatelogs logs/b 86400" combined', "ErrorLog syslog")
    logs = HostLogs(side_of(tmp_path, TEXT + piped))
    assert logs.owners_of_file(str(tmp_path / "b")) == LogOwners()
    assert not logs.log_names(ACCESS) and not logs.log_names(ERROR)


def test_each_log_of_a_replay_has_its_host(tmp_path: Path) -> None:
    """The same line in the logs of two virtual hosts is a request to either."""
    hosts = host("a.example", "CustomLog logs/a combined", "Redirect /x /a")
    hosts += host("b.example", "CustomLog logs/b combined")
    file = write_site(tmp_path, TEXT + hosts).name
    (tmp_path / "logs").mkdir()
    for name in ("a", "b"):
        (tmp_path / "logs" / name).write_text(line("/x", status=302))
    side = SideOptions(LoadOptions(server_root=str(tmp_path), file=file), "2.4", "new")
    replayer = Replayer(ReplayWork(side, side, DEFAULT_FORMATS, NOW))
    logs = [str(tmp_path / "logs" / name) for name in ("a", "b", "a")]
    tallies = [replayer.run(piece) for log in logs for piece in pieces_of([log])]
    assert [dict(tally.statuses) for tally in tallies] == [
        {(302, status, status): 1} for status in (302, 404, 302)
    ]
    [(sentence, number)] = tallies[0].taken_for.items()
    assert number == 1 and sentence.startswith(
        "taken for http://a.example:8080, whose log this file is (httpd"
    )


def test_logs_are_searched_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log beyond the bound may have the line, too."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/a").write_text("GET\n")
    (tmp_path / "logs/b").write_text("x" * 100)
    logs = HostLogs(side_of(tmp_path, TEXT + A + B))
    assert logs.owners_of_line(b"GET", ACCESS).host is not None
    monkeypatch.setattr(host_logs, "MAX_SEARCHED", 103)
    assert logs.owners_of_line(b"GET", ACCESS) == LogOwners()
