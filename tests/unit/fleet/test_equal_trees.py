"""Equal servers: what is in the digest, and what makes a tree equal to no other."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.fleet_trees import write_server

from whimbrel.fleet import equal_trees
from whimbrel.fleet.equal_trees import equal_servers
from whimbrel.fleet.servers import FleetServer, fleet_servers

MAIN = "conf/httpd.conf"


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Two equal trees, a and b."""
    write_server(tmp_path / "a", 1, 8)
    shutil.copytree(tmp_path / "a", tmp_path / "b", symlinks=True)
    return tmp_path


def are_equal(fleet: Path) -> bool:
    return equal_servers(fleet_servers([str(fleet)])) == {0: 0, 1: 0}


def test_equal_trees(fleet: Path) -> None:
    assert are_equal(fleet)
    write_server(fleet / "c", 2, 8)
    shutil.copytree(fleet / "a", fleet / "d")
    assert equal_servers(fleet_servers([str(fleet)])) == {0: 0, 1: 0, 2: 2, 3: 0}


@pytest.mark.parametrize(
    "change",
    [
        lambda b: append(b / MAIN, "#"),
        lambda b: (b / MAIN).write_text((b / MAIN).read_text().replace("Listen 80", "Listen 81")),
        lambda b: (b / "conf.d/x.conf").write_text(""),
        lambda b: (b / "empty").mkdir(),
        lambda b: (b / MAIN).chmod(0o600),
        lambda b: (b / "link").symlink_to("conf"),
        lambda b: (b / "conf.d/00-host.conf").rename(b / "conf.d/zz.conf"),
        lambda b: os.mkfifo(b / "pipe"),
    ],
    ids=["longer", "same size", "file", "directory", "mode", "link", "name", "pipe"],
)
def test_a_difference_of_names_or_contents(fleet: Path, change: Callable[[Path], object]) -> None:
    change(fleet / "b")
    assert not are_equal(fleet)


@pytest.mark.parametrize(
    "text",
    ["Include ../other.conf\n", "Include /srv/..\n", "DocumentRoot {base}/a\n"],
    ids=["up", "end", "own"],
)
def test_texts_whose_meaning_depends_on_the_place(fleet: Path, text: str) -> None:
    for name in ("a", "b"):
        append(fleet / name / MAIN, text.format(base=fleet))
    assert not are_equal(fleet)


def test_a_text_that_names_a_third_place_means_the_same(fleet: Path) -> None:
    for name in ("a", "b"):
        append(fleet / name / MAIN, f"DocumentRoot {fleet}/c\n")
    assert are_equal(fleet)


@pytest.mark.parametrize(
    ("target", "is_equal"), [("../x", True), ("/etc/x", True), ("conf", True), ("{own}/conf", False)]
)
def test_links(fleet: Path, target: str, is_equal: bool) -> None:
    """Links out of the trees lead to one place; one that names the tree leads to another in each."""
    for name in ("a", "b"):
        (fleet / name / "link").symlink_to(target.format(own=fleet / name))
    assert are_equal(fleet) is is_equal


def test_what_lies_outside_of_the_tree_is_uncertain(fleet: Path) -> None:
    """A server root above the directory that was named."""
    servers = [FleetServer(name, str(fleet / name / "conf")) for name in ("a", "b")]
    assert equal_servers(servers) == {0: 0, 1: 1}
    files = [FleetServer(name, str(fleet / name / MAIN)) for name in ("a", "b")]
    assert equal_servers(files) == {0: 0, 1: 1}


def test_bounds(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equal_trees, "MAX_NAMES", 5)
    assert not are_equal(fleet)
    monkeypatch.undo()
    monkeypatch.setattr(equal_trees, "MAX_BYTES", 100)
    assert not are_equal(fleet)


def test_pairs_are_equal_if_both_sides_are(fleet: Path) -> None:
    pairs = [FleetServer(name, str(fleet / name), str(fleet / name)) for name in ("a", "b")]
    assert equal_servers(pairs) == {0: 0, 1: 0}
    append(fleet / "b" / MAIN, "#")
    mixed = [
        FleetServer("a", str(fleet / "a"), str(fleet / "a")),
        FleetServer("b", str(fleet / "a"), str(fleet / "b")),
    ]
    assert equal_servers(mixed) == {0: 0, 1: 1}


def test_servers_with_faults_are_equal_to_none(fleet: Path) -> None:
    (fleet / "c").mkdir()
    (fleet / "d").mkdir()
    assert equal_servers(fleet_servers([str(fleet)])) == {0: 0, 1: 0, 2: 2, 3: 3}
