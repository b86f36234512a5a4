"""Access lines and error lines of a life of the server are httpd's, but for the differences in docs/logs.md.

The level is WHIMBREL_LOG_LEVEL, trace1 by default; trace4 compares heads and access phases too.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.differential.log_table import listed_fields, listed_lines, unlisted
from tests.differential.logged_server import LoggedServer
from tests.differential.logged_site import ITEMS, get, run_talk, talks, write_site
from tests.differential.servers import APACHE, WHIMBREL, Program

pytestmark = pytest.mark.skipif(not APACHE.present, reason="needs apache2")
LEVEL = os.environ.get("WHIMBREL_LOG_LEVEL", "trace1")
FRAMED = ("O", "S")  # they depend on the framing and on the Server field: compared with what was received


class Life(NamedTuple):
    """What one program received and logged: by connection, and lines about no client."""

    received: dict[str, bytes]
    access: dict[str, list[str]]
    errors: dict[str, list[str]]
    other: list[str]


def _life(program: Program, base: Path) -> Life:
    with LoggedServer(program, base, LEVEL) as server:
        assert server.started, server.output
        held = server.hold(talks())
        server.restart()
        run_talk(server.port, get("/a.txt"))
        server.stop()
        access, errors = server.access_lines(), server.error_lines()
    return Life(
        {name: data for name, (_port, data) in held.items()},
        {name: access.get(port, []) for name, (port, _data) in held.items()},
        {name: errors.get(port, []) for name, (port, _data) in held.items()},
        errors.get(0, []),
    )


@pytest.fixture(scope="module")
def lives() -> Iterator[tuple[Life, Life]]:
    """Both programs on one site, at the same time."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        base.chmod(0o755)
        site = base / "site"
        site.mkdir()
        write_site(site)
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(lambda program: _life(program, site), (APACHE, WHIMBREL))
        yield first, second


def _exempt(name: str) -> frozenset[str]:
    rows = [row for row in listed_fields() if fnmatchcase(name, row.connection)]
    return frozenset(item for row in rows for item in row.items)


def test_access_lines(lives: tuple[Life, Life]) -> None:
    """Every item but those that show the framing has httpd's value."""
    httpd, whimbrel = lives
    found = []
    for name, wanted in httpd.access.items():
        exempt, got = _exempt(name), whimbrel.access[name]
        if "*" in exempt:
            continue
        if len(wanted) != len(got):
            found.append(f"{name}: {wanted} {got}")
            continue
        for first, second in zip(wanted, got, strict=True):
            for item, a, b in zip(ITEMS, first.split("|"), second.split("|"), strict=True):
                if a != b and item not in exempt and item not in FRAMED:
                    found.append(f"{name}: %{item} {a} {b}")
    assert found == []


def test_bytes_out(lives: tuple[Life, Life]) -> None:
    """%O counts what the client receives, and %S is %I and %O, as in httpd."""
    for life in lives:
        for name, lines in life.access.items():
            rows = [dict(zip(ITEMS, line.split("|"), strict=True)) for line in lines]
            assert all(int(row["S"]) == int(row["I"]) + int(row["O"]) for row in rows), name
            if life.received[name] and "O" not in _exempt(name) and "*" not in _exempt(name):
                assert sum(int(row["O"]) for row in rows) == len(life.received[name]), name


def test_error_lines(lives: tuple[Life, Life]) -> None:
    """Each connection has httpd's lines in the error log, and so has the life of the server."""
    httpd, whimbrel = lives
    listed = listed_lines()
    found = {
        name: unlisted(lines, whimbrel.errors[name], listed)
        for name, lines in httpd.errors.items()
        if "*" not in _exempt(name)
    }
    found[""] = unlisted(httpd.other, whimbrel.other, listed)
    assert {name: lines for name, lines in found.items() if lines} == {}
