"""mod_evasive; random requests are compared with Debian's in tests/differential."""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.base.programs import programs_permitted, without_programs
from whimbrel.engine.engine import Engine
from whimbrel.modules.third_party.mod_evasive import (
    MAX_NOTICES,
    MAX_TABLE,
    SEGMENT,
    Counters,
    EvasiveServerConfig,
    Notices,
    is_whitelisted,
    shared,
    table_sets,
)
from whimbrel.testing.fake_runtime import FakeRuntime

CONF = (
    "LoadModule evasive20_module modules/mod_evasive20.so\nDOSPageCount 2\nDOSSiteCount 100\n"
    "DOSPageInterval 100\nDOSBlockingPeriod 100\n"
)
FILES = {"htdocs/a.txt": "A", "htdocs/b.txt": "B"}


def started(root: Path, conf: str, files: dict[str, str]) -> Engine:
    """Return an engine with the memory of the counters."""
    engine = build_engine(root, conf, files)
    assert isinstance(engine.runtime, FakeRuntime)
    engine.runtime.open_segments(engine.configuration)
    return engine


def statuses(engine: Engine, path: str, count: int) -> list[int]:
    """Return the statuses of *count* requests."""
    return [fetch(engine, path).status for _ in range(count)]


def test_a_page_that_is_requested_too_often(tmp_path: Path) -> None:
    engine = started(tmp_path, CONF, FILES)
    assert statuses(engine, "/a.txt", 5) == [200, 200, 200, 403, 403]
    assert statuses(engine, "/b.txt", 1) == [403]


def test_the_answer_may_be_another(tmp_path: Path) -> None:
    engine = started(tmp_path, f"{CONF}DOSHTTPResponseCode 429\n", FILES)
    assert statuses(engine, "/a.txt", 4) == [200, 200, 200, 429]


def test_the_whole_site(tmp_path: Path) -> None:
    engine = started(tmp_path, f"{CONF}DOSPageCount 50\nDOSSiteCount 3\nDOSSiteInterval 100\n", FILES)
    assert statuses(engine, "/a.txt", 3) + statuses(engine, "/b.txt", 2) == [200, 200, 200, 200, 403]


def test_a_line_of_a_virtual_host_counts_for_all(tmp_path: Path) -> None:
    host = "<VirtualHost *:8080>\nServerName b\nDOSPageCount 1\n</VirtualHost>\n"
    assert statuses(started(tmp_path, CONF + host, FILES), "/a.txt", 3) == [200, 200, 403]


@pytest.mark.parametrize(
    ("entry", "is_known"),
    [("127.0.0.1", True), ("127.0.0.*", True), ("127.*.*.*", True), ("127.0.*", False), ("10.0.0.1", False)],
)
def test_whitelist(tmp_path: Path, entry: str, is_known: bool) -> None:
    assert is_whitelisted("127.0.0.1", frozenset((entry,))) == is_known
    engine = started(tmp_path, f"{CONF}DOSWhitelist {entry}\n", FILES)
    assert (403 in statuses(engine, "/a.txt", 5)) != is_known


# counters -----------------------------------------------------------------------------------------
def test_the_memory_is_bounded_whatever_the_configuration_says(tmp_path: Path) -> None:
    engine = started(tmp_path, f"{CONF}DOSHashTableSize 4000000000\n", FILES)
    (segment,) = shared(engine.configuration)
    assert segment.size == MAX_TABLE * 8 * 32 < 26_000_000
    assert len(engine.runtime.segment(SEGMENT)) == segment.size


@pytest.mark.parametrize(("size", "sets"), [(1, 53), (53, 53), (54, 97), (3097, 6151), (10**9, MAX_TABLE)])
def test_sizes_are_those_of_the_list_of_primes(size: int, sets: int) -> None:
    assert table_sets(size) == sets


def test_more_keys_than_counters_replace_the_oldest() -> None:
    memory = mmap.mmap(-1, 53 * 8 * 32)
    counters = Counters(memory)
    for number in range(20_000):
        counters.set(b"192.0.2.1_/%d" % number, number, 1)
    assert len(memory) == 53 * 8 * 32
    known = [n for n in range(20_000) if counters.find(b"192.0.2.1_/%d" % n) is not None]
    assert len(known) == 53 * 8
    assert min(known) > 15_000  # the newest remain


def test_a_blocked_address_outlives_a_flood_of_other_keys() -> None:
    """A request of the address renews its counter, so that the oldest of its set is another."""
    counters = Counters(mmap.mmap(-1, 53 * 8 * 32))
    for number in range(20_000):
        if number % 50 == 0:
            counters.set(b"192.0.2.1", number, 0)
        counters.set(b"198.51.100.1_/%d" % number, number, 1)
        assert counters.find(b"192.0.2.1") is not None


def test_counters_are_shared_by_workers() -> None:
    memory = mmap.mmap(-1, 53 * 8 * 32)
    child = os.fork()
    if child == 0:
        Counters(memory).set(b"192.0.2.1", 7, 3)
        os._exit(0)
    os.waitpid(child, 0)
    assert Counters(memory).find(b"192.0.2.1") == (7, 3)


# notices ------------------------------------------------------------------------------------------
def wait_for(path: Path) -> str:
    """Return the text of *path* once it is there."""
    end = time.monotonic() + 10
    while time.monotonic() < end and not (path.exists() and path.read_text().endswith("\n")):
        time.sleep(0.01)
    return path.read_text()


def blocked(tmp_path: Path) -> Engine:
    """Return an engine that has refused a request."""
    (tmp_path / "marks").mkdir(exist_ok=True)
    command = f"echo %s >>{tmp_path}/told"
    conf = f'{CONF}DOSLogDir "{tmp_path}/marks"\nDOSSystemCommand "{command}"\n'
    engine = started(tmp_path, conf, FILES)
    assert statuses(engine, "/a.txt", 5)[-1] == 403
    return engine


def test_the_command_runs_once_for_an_address(tmp_path: Path) -> None:
    with programs_permitted():
        engine = blocked(tmp_path)
        assert wait_for(tmp_path / "told") == "127.0.0.1\n"
        assert (tmp_path / "marks/dos-127.0.0.1").read_text() == f"{os.getpid()}\n"
        assert statuses(engine, "/b.txt", 3) == [403, 403, 403]
    assert (tmp_path / "told").read_text() == "127.0.0.1\n"


def test_nothing_is_written_or_run_where_programs_are_forbidden(tmp_path: Path) -> None:
    with without_programs():
        blocked(tmp_path)
    assert list((tmp_path / "marks").iterdir()) == []
    assert not (tmp_path / "told").exists()


@pytest.mark.parametrize(
    "address", ["1.2.3.4; rm -rf x", "$(id)", "../x", "junk", "fe80::1%;id", "fe80::1%$(id)", "::1%x"]
)
def test_a_text_that_is_no_address_is_passed_to_no_program(tmp_path: Path, address: str) -> None:
    """mod_rpaf of 0.6 takes any text for the client."""
    notices = Notices(EvasiveServerConfig(log_directory=str(tmp_path), command="touch %s", mail_to=""))
    with programs_permitted():
        notices.blocked(None, address)
    assert list(tmp_path.iterdir()) == []


def test_a_link_in_the_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "dos-192.0.2.1").symlink_to(tmp_path / "victim")
    notices = Notices(EvasiveServerConfig(log_directory=str(tmp_path), command="", mail_to=""))
    with programs_permitted():
        notices.blocked(None, "192.0.2.1")
    assert not (tmp_path / "victim").exists()


def test_the_programs_of_a_worker_are_bounded(tmp_path: Path) -> None:
    """Without a running loop a program could not even be started: the bound comes first."""
    notices = Notices(EvasiveServerConfig(log_directory=str(tmp_path), command="touch %s", mail_to=""))
    notices._running = MAX_NOTICES
    with programs_permitted():
        notices.blocked(None, "192.0.2.1")
    assert [path.name for path in tmp_path.iterdir()] == ["dos-192.0.2.1"]
