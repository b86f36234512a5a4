"""mod_dialup: speed, and the fields of a file, as httpd 2.4.71 sends them."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.engine.engine import Engine

FILES = {"htdocs/a.txt": "x" * 25, "htdocs/b.txt": "y" * 12}
CONF = "LoadModule dialup_module modules/mod_dialup.so\n<Location />\nModemStandard %s\n</Location>"


def shortest(serving: Engine, bound: float) -> float:
    """Return the seconds of a response, of the first of three that takes less than *bound*: others of the
    machine may delay one.
    """
    seconds = []
    for _ in range(3):
        begin = monotonic()
        reply = fetch(serving, "/a.txt")
        assert (reply.body, reply.get("Content-Length")) == ("x" * 25, "25")
        seconds.append(monotonic() - begin)
        if seconds[-1] < bound:
            break
    return min(seconds)


def test_a_step_a_second(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, CONF % "v.21", FILES)
    assert 2.0 <= shortest(serving, 3.0) < 3.0  # 12, 12 and 1 byte


def test_a_small_file_goes_at_once(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, CONF % "V.92", FILES)
    assert shortest(serving, 0.5) < 0.5
    assert fetch(serving, "/a.txt", "Range: bytes=0-3").status == 206
    assert fetch(serving, "/a.txt/extra").status == 200  # path information is not refused


def test_ranges_of_longer_files_are_ignored(tmp_path: Path) -> None:
    assert fetch(build_engine(tmp_path, CONF % "V.21", FILES), "/b.txt", "Range: bytes=0-3").status == 200


def test_conditions_and_other_methods(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, CONF % "V.21", FILES)
    assert fetch(serving, "/a.txt", "If-None-Match: *").status == 304
    assert fetch(serving, "/a.txt", method="POST").body == "x" * 25
    assert fetch(serving, "/nope").status == 404
