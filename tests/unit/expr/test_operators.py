"""Operators on files, addresses and sub-requests."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.expr.stand_in import StandIn, record

from whimbrel.base.numbers import strtol
from whimbrel.expr.api import compile_condition
from whimbrel.expr.operators import is_true


def holds(text: str, view: StandIn | None = None) -> bool:
    return compile_condition(text)(view or StandIn(record()))


@pytest.mark.parametrize(
    ("letter", "true"),
    [
        ("e", {"file", "empty", "folder", "link", "program"}),
        ("f", {"file", "empty", "link", "program"}),
        ("d", {"folder"}),
        ("s", {"file", "link", "program"}),
        ("L", {"link"}),
        ("h", {"link"}),
    ],
)
def test_files(tmp_path: Path, letter: str, true: set[str]) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "program").write_text("x")
    (tmp_path / "program").chmod(0o755)
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("file")
    names = ("file", "empty", "folder", "link", "program", "none")
    assert {name for name in names if holds(f"-{letter} '{tmp_path}/{name}'")} == true


def test_programs(tmp_path: Path) -> None:
    (tmp_path / "p").touch(0o755)
    (tmp_path / "q").touch(0o644)
    assert holds(f"-x '{tmp_path}/p'")
    assert not holds(f"-x '{tmp_path}/q'")


def test_file_questions_are_noted(tmp_path: Path) -> None:
    view = StandIn(record())
    assert not holds(f"-f '{tmp_path}/none'", view)
    assert view.request.deps.stats == {(str(tmp_path / "none").encode(), True): None}


def test_sub_requests() -> None:
    assert holds("-U '/a'") and holds("-A '/missing'") and not holds("-U '/closed'")
    assert holds("-F '/a'") and not holds("-F '/missing'") and not holds("-F '/closed'")


def test_the_client() -> None:
    view = StandIn(record())
    assert holds("-R '127.0.0.0/8'", view) and not holds("-R '10.0.0.0/8'", view)
    assert view.asked == ["client", "client"]


@pytest.mark.parametrize(
    ("address", "network", "inside"),
    [
        ("10.1.2.3", "10.0.0.0/8", True),
        ("::ffff:10.1.2.3", "10.0.0.0/8", True),
        ("10.1.2", "10.0.0.0/8", True),
        (" 10.1.2.3", "10.0.0.0/8", False),
        ("2001:db8::1", "2001:db8::/32", True),
        ("", "127.0.0.0/8", False),
    ],
)
def test_addresses(address: str, network: str, inside: bool) -> None:
    assert holds(f"'{address}' -ipmatch '{network}'") is inside


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12abc", 12),
        ("", 0),
        ("abc", 0),
        (" +5", 5),
        ("0x10", 0),
        ("010", 10),
        ("9" * 30, 2**63 - 1),
        ("-" + "9" * 30, -(2**63)),
    ],
)
def test_integers(text: str, value: int) -> None:
    assert strtol(text)[0] == value


def test_truth() -> None:
    assert [
        word for word in ("", "0", "off", "OFF", "No", "false", "00", "n", " ", "on") if is_true(word)
    ] == ["00", "n", " ", "on"]
