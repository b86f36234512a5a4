"""The servers of a fleet: sub-directories, lists, pairs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whimbrel.fleet.servers import FleetServer, fleet_pairs, fleet_servers
from whimbrel.utilities.usage_error import UsageError


def test_each_sub_directory_is_a_server(tmp_path: Path) -> None:
    for name in ("b", "a", ".hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / "a file").write_text("")
    (tmp_path / "link").symlink_to("a")
    found = fleet_servers([str(tmp_path)])
    assert [server.name for server in found] == [".hidden", "a", "b", "link"]
    assert found[1].path == f"{tmp_path}/a"


def test_a_list_names_trees_and_main_files(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two words").mkdir()
    lines = [
        "# comment",
        "",
        "one",
        "'two words'  second",
        "/etc/web/conf/httpd.conf # a main file",
        "one\tthird",
    ]
    (tmp_path / "list").write_text("\n".join(lines))
    found = fleet_servers([str(tmp_path / "list")])
    assert [(server.name, server.path) for server in found] == [
        ("one", f"{tmp_path}/one"),
        ("second", f"{tmp_path}/two words"),
        ("web", "/etc/web/conf/httpd.conf"),
        ("third", f"{tmp_path}/one"),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a b c\n", "list:1: more than a path and a name"),
        ("'a\n", "list:1: No closing quotation"),
        ("a ..\n", "list:1: .. cannot be the name"),
        ("a b/c\n", "list:1: b/c cannot be the name"),
        (f"a {'x' * 201}\n", "cannot be the name"),
        ("/\n", "cannot be the name"),
        ("a x\nb x\n", "the same name"),
        ("# nothing\n", "no server in there"),
        ("\0" * 3_000_000, "list:1: the line is longer than 16384 bytes"),
    ],
)
def test_a_list_with_a_fault(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "list").write_text(text)
    with pytest.raises(UsageError, match=problem.replace(".", r"\.")):
        fleet_servers([str(tmp_path / "list")])


def test_lines_of_a_list_end_with_line_feeds_alone(tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes("one one\r\n'a\vb\x1cc\u2028d' two\n".encode())
    found = fleet_servers([str(tmp_path / "list")])
    assert [(server.name, server.path) for server in found] == [
        ("one", f"{tmp_path}/one"),
        ("two", f"{tmp_path}/a\vb\x1cc\u2028d"),
    ]


def test_bytes_of_names_are_kept(tmp_path: Path) -> None:
    os.mkdir(os.fsencode(tmp_path) + b"/caf\xe9")
    (found,) = fleet_servers([str(tmp_path)])
    assert os.fsencode(found.name) == b"caf\xe9"
    (tmp_path / "list").write_bytes(b"caf\xe9 a\ncaf\xe9 a\n")
    with pytest.raises(UsageError, match="caf\xe9"):  # one character per byte
        fleet_servers([str(tmp_path / "list")])


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="absent: No such file"):
        fleet_servers([str(tmp_path / "absent")])
    with pytest.raises(UsageError, match="no server in there"):
        fleet_servers([str(tmp_path)])


def test_pairs_have_the_same_name() -> None:
    old = [FleetServer("a", "/old/a"), FleetServer("b", "/old/b")]
    new = [FleetServer("c", "/new/c"), FleetServer("a", "/new/a")]
    assert fleet_pairs(old, new) == [
        FleetServer("a", "/old/a", "/new/a"),
        FleetServer("b", "/old/b", fault="the new side has no server of this name"),
        FleetServer("c", "/new/c", fault="the old side has no server of this name"),
    ]
