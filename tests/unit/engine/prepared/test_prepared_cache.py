"""When a request is prepared, for which requests its state is used, and the bound of the cache."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.client import error_log, fetch
from tests.support.deep_size import deep_size
from tests.support.engine import build_engine
from tests.support.site import MTIME

from whimbrel.engine import engine as engine_file
from whimbrel.engine.engine import GENERAL_PATH, Engine
from whimbrel.engine.pipeline.process import process
from whimbrel.engine.prepared import prepared_cache
from whimbrel.engine.prepared.prepared_cache import PreparedCache

ECHO = "LoadModule reflector_module modules/mod_reflector.so\nSetHandler reflector\n"


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The requests whose phases have run."""
    found: list[str] = []

    async def counted(r: object) -> int:
        found.append(r.untracked_line)  # type: ignore[attr-defined]
        return await process(r)  # type: ignore[arg-type]

    monkeypatch.setattr(engine_file, "process", counted)
    return found


def site(root: Path, conf: str = "") -> Engine:
    engine = build_engine(root, ECHO + conf, {"a/b.txt": "b", "htdocs/a/b.txt": "b"})
    for path in [root, *root.rglob("*")]:
        os.utime(path, (MTIME, MTIME))
    return engine


def post(engine: Engine, target: str = "/a/b.txt", *fields: str) -> str:
    reply = fetch(engine, target, *fields, method="POST", body="text")
    assert (reply.status, reply.body.count("text")) == (200, 1)
    return reply.get("X") or ""


def warm(engine: Engine, target: str = "/a/b.txt", *fields: str) -> None:
    for _ in range(3):
        post(engine, target, *fields)


def test_a_request_whose_response_is_not_cached_is_prepared_at_its_third_time(
    tmp_path: Path, runs: list[str]
) -> None:
    engine = site(tmp_path)
    counts = []
    for _ in range(6):
        post(engine)
        counts.append(len(runs))
    assert counts == [1, 2, 3, 3, 3, 3]


def test_nothing_is_prepared_on_the_general_path(
    tmp_path: Path, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GENERAL_PATH, "1")
    engine = site(tmp_path)
    assert engine.is_general_only
    warm(engine)
    warm(engine)
    assert len(runs) == 6


def test_responses_that_are_cached_prepare_nothing(tmp_path: Path, runs: list[str]) -> None:
    engine = build_engine(tmp_path, "", {"htdocs/a.txt": "a"})
    for _ in range(4):
        fetch(engine, "/a.txt")
    assert len(runs) == 1
    assert not (engine.prepared._candidates or engine.prepared._entries)


@pytest.mark.parametrize(
    ("conf", "target", "fields", "is_same"),
    [
        ("", "/a/b.txt?x", (), True),
        ("", "/a/b.txt", ("User-Agent: other",), True),
        ("", "/a/b.txt", ("User-Agent: one", "Expect: 100-continue"), False),
        ("", "/a/./b.txt", ("User-Agent: one",), False),
        ("BrowserMatch a e=1\n", "/a/b.txt", ("User-Agent: other",), True),
        ("BrowserMatch a e=1\n", "/a/b.txt", ("User-Agent: agent",), False),
        ("SetEnvIf X-A (.*) e=$1\n", "/a/b.txt", ("User-Agent: one", "X-A: 1"), False),
        ("SetEnvIfExpr \"%{QUERY_STRING} == 'x'\" e=1\n", "/a/b.txt?x", ("User-Agent: one",), False),
    ],
)
def test_all_that_the_phases_read_is_in_the_key(
    tmp_path: Path, runs: list[str], conf: str, target: str, fields: tuple[str, ...], is_same: bool
) -> None:
    engine = site(tmp_path, conf)
    warm(engine, "/a/b.txt?y" if "?" in target else "/a/b.txt", "User-Agent: one")
    runs.clear()
    post(engine, target, *fields)
    assert (runs == []) is is_same


@pytest.mark.parametrize(
    ("condition", "target", "other"),
    [("^POST //", "/a/b.txt", "//a/b.txt"), ("^POST /a", "///a/b.txt", "/a/b.txt")],
)
def test_a_rule_about_the_request_line_sees_the_slashes_that_a_path_loses(
    tmp_path: Path, condition: str, target: str, other: str
) -> None:
    """mod_rewrite.html, RewriteCond: THE_REQUEST is the line as the client sent it."""
    rule = f'RewriteEngine On\nRewriteCond %{{THE_REQUEST}} "{condition}"\nRewriteRule ^ - [F]\n'
    engine = site(tmp_path, "LoadModule rewrite_module modules/mod_rewrite.so\n" + rule)
    warm(engine, target)
    assert fetch(engine, other, method="POST", body="text").status == 403


def test_a_changed_file_ends_an_entry(tmp_path: Path, runs: list[str]) -> None:
    engine = site(tmp_path)
    warm(engine)
    (tmp_path / "htdocs/a/b.txt").unlink()
    assert len(runs) == 3
    post(engine)
    assert len(runs) == 4


def test_a_changed_htaccess_file_ends_an_entry(tmp_path: Path, runs: list[str]) -> None:
    engine = site(tmp_path)
    access = tmp_path / "htdocs/a/.htaccess"
    access.write_text("Header set X one\n")
    os.utime(access, (MTIME, MTIME))
    for _ in range(5):
        assert post(engine) == "one"
    access.write_text("Header set X another\n")
    os.utime(access, (MTIME + 1, MTIME + 1))
    assert [post(engine) for _ in range(5)] == ["another"] * 5


def test_error_log_lines_are_repeated(tmp_path: Path, runs: list[str]) -> None:
    engine = site(tmp_path, "LogLevel authz_core:debug\n<Location />\nRequire all granted\n</Location>\n")
    for count in range(1, 7):
        post(engine)
        assert error_log(engine).count("AH01626") == count * error_log(engine).count("AH01626") // count
    lines = error_log(engine).splitlines()
    assert len(runs) < 6 and lines.count(lines[0]) == len(lines) // len(set(lines))


def test_hostile_heads_stay_below_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every head has another value of a field that the phases read, and comes often enough to be stored."""
    monkeypatch.setattr(prepared_cache, "MAX_BYTES", prepared_cache.MAX_BYTES // 8)
    engine = site(tmp_path, "SetEnvIf X-A (.*) e=$1\n")
    for number in range(150):
        size = (10, 500, 3000)[number % 3]
        target = "/a/b.txt" if number % 2 else f"/a/b.txt/{'p' * (size // 4)}{number}"
        warm(engine, target, f"X-A: {number}{'x' * size}")
    held: PreparedCache = engine.prepared
    assert 10 < len(held._entries) < 150
    assert deep_size(held._entries) <= prepared_cache.MAX_BYTES
    assert deep_size([held._specs, held._candidates, held._seen]) <= 2 * 1024 * 1024


def test_key_specs_and_hashes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared_cache, "MAX_CANDIDATES", 16)
    engine = site(tmp_path)
    for number in range(60):
        post(engine, f"/a/b.txt/{number}")
        post(engine, f"/a/b.txt/{number}")
    held = engine.prepared
    assert len(held._candidates) <= 16 and len(held._seen) <= 16
    assert held._specs.maxsize == prepared_cache.MAX_ENTRIES
