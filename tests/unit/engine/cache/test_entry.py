"""Cached responses: after a change of any one input the next response is that of a fresh engine."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.performance.site import BenchmarkWorker

from whimbrel.base.dialect import V24
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.http.syntax.line_reader import HeadLimits
from whimbrel.modules import ALL
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime

CONF = """
ServerName localhost
Listen 127.0.0.1:8080
SetEnvIf Remote_Addr "^127\\.0\\.0\\.9$" nine
LogFormat "%h %>s %b %{nine}e" short
CustomLog logs/access_log short
<Directory "@">
    AllowOverride All
    Require all granted
    Header set X-Nine yes env=nine
</Directory>
<Directory "@/htdocs/near">
    Require ip 127.0.0.1
</Directory>
<Directory "@/htdocs/members">
    AuthType Basic
    AuthName Zone
    AuthUserFile conf/users
    Require valid-user
</Directory>
"""
MODULES = (
    "mpm_event authn_core authn_file auth_basic authz_core authz_host authz_user mime dir setenvif headers "
    "autoindex"
).split()
OLD = 1_600_000_000
WONDER = "Authorization: Basic YWxpY2U6d29uZGVy\r\n"


def write(path: Path, text: str, time: int = OLD) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (time, time))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("index.html", "a.txt", "near/index.html", "near/a.txt", "members/a.txt", "list/a.txt"):
        write(tmp_path / "htdocs" / name, f"page {name}\n")
    write(tmp_path / "conf/users", "alice:{SHA}w3QkzGJswDXW5OKZHAJw0FELjfM=\n")
    write(tmp_path / "conf/mime.types", "text/html html\ntext/plain txt\n")
    (tmp_path / "logs").mkdir()
    lines = [f"LoadModule {m}_module modules/mod_{m}.so" for m in MODULES]
    write(
        tmp_path / "conf/httpd.conf",
        "\n".join([*lines, f'DocumentRoot "{tmp_path}/htdocs"', CONF.replace("@", str(tmp_path))]),
    )
    return tmp_path


def engine(root: Path) -> Engine:
    return Engine(load(LoadOptions(server_root=str(root)), ALL, V24), FakeRuntime())


def ask(serving: Engine, path: str, source: str = "127.0.0.1", more: str = "") -> str:
    """Return the response on a new connection, without its date."""
    connection = Connection(source, 5000, "127.0.0.1", 8080)
    answer = (
        TestClient(serving, connection)
        .send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n".encode())
        .decode("latin-1")
    )
    return re.sub(r"Date: [^\r]*", "Date: -", answer)


def htaccess(text: str, folder: str = "") -> Callable[[Path], None]:
    return lambda root: write(root / "htdocs" / folder / ".htaccess", text)


CHANGES = [
    ("/a.txt", lambda root: write(root / "htdocs/a.txt", "other\n", OLD + 1)),
    ("/a.txt", lambda root: (root / "htdocs/a.txt").unlink()),
    ("/b.txt", lambda root: write(root / "htdocs/b.txt", "there now\n")),
    ("/a.txt", htaccess("Require all denied\n")),
    ("/near/a.txt", htaccess("Require all denied\n", "near")),
    ("/near/a.txt", htaccess("bogus\n", "near")),
    ("/near/a.txt", lambda root: (root / "htdocs/near/.htaccess").symlink_to(".htaccess")),
    ("/", lambda root: (root / "htdocs/index.html").unlink()),
    ("/", lambda root: write(root / "htdocs/index.html", "another index\n", OLD + 5)),
    ("/near", lambda root: write(root / "htdocs/near/index.html", "x", OLD + 5)),
    (
        "/members/a.txt",
        lambda root: write(root / "conf/users", "alice:{SHA}9SMYoF5RilWWASry7TjeaKwmpGg=\n", OLD + 9),
    ),
    ("/members/a.txt", lambda root: (root / "conf/users").unlink()),
]


@pytest.mark.parametrize(("path", "change"), CHANGES)
def test_a_change_on_disk_is_seen_on_the_next_request(
    root: Path, path: str, change: Callable[[Path], object]
) -> None:
    serving = engine(root)
    for _ in range(3):
        before = ask(serving, path, more=WONDER)
    change(root)
    after = ask(serving, path, more=WONDER)
    assert after == ask(engine(root), path, more=WONDER)
    assert after != before or path == "/near"


@pytest.mark.parametrize(
    "path", ["/a.txt", "/", "/near/a.txt", "/near/", "/near", "/members/a.txt", "/nope", "/list/"]
)
@pytest.mark.parametrize(
    ("source", "more"),
    [
        ("127.0.0.1", ""),
        ("127.0.0.9", ""),
        ("127.0.0.2", ""),
        ("127.0.0.1", WONDER),
        ("127.0.0.1", "Connection: keep-alive\r\n"),
        ("127.0.0.1", "If-None-Match: *\r\n"),
        ("127.0.0.1", "Range: bytes=0-2\r\n"),
    ],
)
def test_one_clients_answer_is_never_anothers(root: Path, path: str, source: str, more: str) -> None:
    serving = engine(root)
    for first in ("127.0.0.1", "127.0.0.9"):
        ask(serving, path, first)
        ask(serving, path, first, WONDER)
    for _ in range(2):
        assert ask(serving, path, source, more) == ask(engine(root), path, source, more)


def test_each_use_writes_its_own_log_line(root: Path) -> None:
    serving = engine(root)
    for source in ("127.0.0.1", "127.0.0.1", "127.0.0.9", "127.0.0.9", "127.0.0.2"):
        ask(serving, "/a.txt", source)
    runtime = serving.runtime
    assert isinstance(runtime, FakeRuntime)
    lines = b"".join(runtime.logs[str(root / "logs/access_log")]).decode().splitlines()
    assert lines == ["127.0.0.1 200 11 -"] * 2 + ["127.0.0.9 200 11 1"] * 2 + ["127.0.0.2 200 11 -"]


def test_the_keep_alive_count_goes_down(root: Path) -> None:
    serving = engine(root)
    client = TestClient(serving, Connection("127.0.0.1", 5000, "127.0.0.1", 8080))
    counts = []
    for _ in range(4):
        answer = client.send(
            b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n"
        ).decode()
        counts.append(re.findall(r"max=(\d+)", answer))
    assert counts == [["100"], ["99"], ["98"], ["97"]]


def test_a_file_that_has_just_changed_is_not_kept(root: Path) -> None:
    (root / "htdocs/a.txt").write_text("fresh")
    serving = engine(root)
    ask(serving, "/a.txt")
    head = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"
    index = serving.response_cache.index("127.0.0.1", 8080)
    assert index.lookup(Connection("127.0.0.1", 5000, "127.0.0.1", 8080), head, HeadLimits(), None) is None


STATUS_HEAD = b"GET /server-status?auto HTTP/1.1\r\nHost: localhost\r\n\r\n"


def accesses(wire: bytes) -> int:
    """The number of requests that a page shows."""
    found = re.search(rb"\nTotal Accesses: (\d+)\n", wire)
    assert found is not None, wire
    return int(found[1])


def test_a_page_is_built_once_a_tick_for_all_connections(tmp_path: Path) -> None:
    site = BenchmarkWorker(tmp_path)
    (one, of_one), (other, of_other) = site.accept(), site.accept()
    for _ in range(6):
        for connection in (one, other):
            connection.connection.served = 1  # the first response of a connection may offer other protocols
            connection.data_received(STATUS_HEAD)
        site.loop.tick()
    begun = site.service.requests
    one.data_received(STATUS_HEAD)
    site.service.write_gathered()
    first = accesses(of_one.out)
    other.data_received(STATUS_HEAD)
    site.service.write_gathered()
    assert accesses(of_other.out) == first
    one.data_received(STATUS_HEAD)
    site.service.write_gathered()
    assert accesses(of_one.out) == first + 2
    site.loop.tick()
    other.data_received(STATUS_HEAD)
    site.service.write_gathered()
    assert accesses(of_other.out) == first + 3
    assert site.service.requests == begun + 4


def test_an_entry_that_is_not_valid_is_not_stored_for_the_bytes_of_a_head(root: Path) -> None:
    """The second look-up of a head stores the entry for its bytes; an expired one would never be used."""
    serving = engine(root)
    ask(serving, "/a.txt")
    connection = Connection("127.0.0.1", 5000, "127.0.0.1", 8080)
    index = serving.response_cache.index_of(connection)
    valid, late = (
        b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nUser-Agent: %b\r\n\r\n" % name for name in (b"a", b"b")
    )
    for _ in range(2):
        assert index.lookup(connection, valid, HeadLimits(), None) is not None
    assert valid in index.by_head
    write(root / "htdocs/a.txt", "other\n", OLD + 1)
    for _ in range(3):
        assert index.lookup(connection, late, HeadLimits(), None) is None
    assert late not in index.by_head


def test_responses_that_change_leave_nothing_in_the_cache(root: Path) -> None:
    """A response takes the place of the one before it; a file has one dependency however often it changes."""
    serving = engine(root)
    cache = serving.response_cache
    sizes = []
    for number in range(20):
        write(root / "htdocs/a.txt", f"page {number:02}\n", OLD + number)
        for _ in range(3):
            assert f"page {number:02}" in ask(serving, "/a.txt")
        levels = [(len(level), level.bytes) for level in (cache.by_key, cache.by_bytes)]
        sizes.append((*levels, len(cache.stats.dependencies)))
    assert sizes[1][0][0] and sizes[1][1][0] and sizes[1][2]
    assert sizes[2:] == [sizes[1]] * 18


def test_an_entry_for_the_bytes_of_a_head_counts_the_body_that_it_keeps(root: Path) -> None:
    """The entry that it was copied from may be gone: large bodies of different versions are kept then."""
    serving = engine(root)
    connection = Connection("127.0.0.1", 5000, "127.0.0.1", 8080)
    level = serving.response_cache.by_bytes
    for number in range(5):
        write(root / "htdocs/a.txt", f"{number}" * 12_000, OLD + number)
        head = f"User-Agent: {number}\r\n"
        for _ in range(4):
            ask(serving, "/a.txt", more=head)
    kept = serving.response_cache.index_of(connection).by_head
    bodies = sum(len(each.template.body) for each in kept.values())
    assert len(kept) == 5 and bodies == 60_000
    assert level.bytes >= bodies
