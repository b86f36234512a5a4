"""mod_ratelimit: the same bytes, throttled."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

from tests.support.client import fetch
from tests.support.engine import build_engine

CONF = "LoadModule ratelimit_module modules/mod_ratelimit.so\nSetOutputFilter RATE_LIMIT\nSetEnv rate-limit "
FILES = {"htdocs/a.txt": "x" * 4000, "htdocs/big.txt": "y" * 100_000}


def test_pace(tmp_path: Path) -> None:
    begin = monotonic()
    reply = fetch(build_engine(tmp_path, CONF + "8", FILES), "/a.txt")
    assert (reply.body, reply.get("Content-Length")) == (FILES["htdocs/a.txt"], "4000")
    assert monotonic() - begin >= 0.4  # three pieces of 1638 bytes, two pauses


def test_files_and_bursts(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, CONF + "1\nSetEnv rate-initial-burst 200", FILES)
    assert fetch(serving, "/big.txt").body == FILES["htdocs/big.txt"]


def test_no_limit(tmp_path: Path) -> None:
    for value in ("0", "-5", "abc"):
        assert fetch(build_engine(tmp_path, CONF + value, FILES), "/a.txt").body == FILES["htdocs/a.txt"]
    assert (
        fetch(build_engine(tmp_path, CONF + "1", FILES), "/a.txt", method="HEAD").get("Content-Length")
        == "4000"
    )
