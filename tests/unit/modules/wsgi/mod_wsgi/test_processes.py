"""Interpreters and sockets of process groups."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from whimbrel.modules.wsgi.mod_wsgi.processes import MAX_PLACES, WsgiPool, interpreter, variant_socket


def test_the_interpreter_is_that_of_the_home(tmp_path: Path) -> None:
    assert interpreter("") == sys.executable
    with pytest.raises(FileNotFoundError):
        interpreter(str(tmp_path))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").touch()
    assert interpreter(str(tmp_path)) == str(tmp_path / "bin/python3")
    (tmp_path / "bin/python").touch()
    assert interpreter(str(tmp_path)) == str(tmp_path / "bin/python")


def test_each_application_group_has_a_socket() -> None:
    names = {variant_socket(number, group) for number in (1, 2) for group in ("", "a", "a|/b", "../x")}
    assert len(names) == 8
    assert not any("/" in name or len(name) > 30 for name in names)


def test_places_are_bounded() -> None:
    pool = WsgiPool({"site": (1, 15)}, {})
    for number in range(MAX_PLACES + 10):
        assert pool.place_of("site", str(number), "/d") == (1, f"/d/{variant_socket(1, str(number))}", 15)
    assert len(pool._places) <= MAX_PLACES
