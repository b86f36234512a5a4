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
A = "web-a"
B = "web-b"


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Two equal trees, web-a and web-b."""
    write_server(tmp_path / A, 1, 8)
    shutil.copytree(tmp_path / A, tmp_path / B, symlinks=True)
    return tmp_path


def are_equal(fleet: Path) -> bool:
    return equal_servers(fleet_servers([str(fleet)])) == {0: 0, 1: 0}


def test_equal_trees(fleet: Path) -> None:
    assert are_equal(fleet)
    write_server(fleet / "web-x", 2, 8)
    shutil.copytree(fleet / A, fleet / "web-y")
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
    change(fleet / B)
    assert not are_equal(fleet)


@pytest.mark.parametrize(
    "text",
    [
        "Include ../other.conf",
        "Include /srv/..",
        "Define UP ..",
        "DocumentRoot {base}/web-a",
        "<Directory {base}//web-a/htdocs>",
        "<Directory {base}/we\\\nb-a/htdocs>",
        "Define NAME web-a",
        "<Directory ${{BASE}}/htdocs>",
        "<Directory {base}/*-a/htdocs>",
        "<Directory {base}/./web-[a]/htdocs>",
        "<Directory /*>",
        "<Directory ~ web>",
        "  <directorymatch web-[a]>",
        "<Macro host name>",
        "RewriteCond %{{DOCUMENT_ROOT}} -a",
        "RewriteCond x%{{REQUEST_FILENAME}} !-f",
        '<If "%{{REQUEST_FILENAME}} =~ /-a/">',
        "Include {base}/shared.conf",
        "IncludeOptional ${{SHARED}}/x.conf",
    ],
)
def test_texts_whose_meaning_depends_on_the_place(fleet: Path, text: str) -> None:
    """A section that matches one of the trees alone makes their answers differ."""
    for name in (A, B):
        append(fleet / name / MAIN, text.format(base=fleet) + "\n")
    assert not are_equal(fleet)


@pytest.mark.parametrize(
    "text",
    [
        "DocumentRoot {base}/c",
        "# <Directory {base}/web-a/../x>",
        "<Directory /home/*/public_html>",
        "RewriteCond %{{REQUEST_FILENAME}} !-f",
        'RewriteCond "%{{DOCUMENT_ROOT}}/cache/x.html" -f',
        "ServerName web-a.example",
        "Include conf.d/*.conf",
        "<DirectoryIndex ...>",
    ],
)
def test_texts_that_mean_the_same_at_both_places(fleet: Path, text: str) -> None:
    for name in (A, B):
        append(fleet / name / MAIN, text.format(base=fleet) + "\n")
    assert are_equal(fleet)


@pytest.mark.parametrize(
    ("target", "is_equal"),
    [("../nothing", True), ("/nowhere/x", True), ("conf", True), ("/etc", False), ("{own}/conf", False)],
)
def test_links(fleet: Path, target: str, is_equal: bool) -> None:
    """What lies outside may name one of the trees; a link that names the tree leads to another in each."""
    for name in (A, B):
        (fleet / name / "link").symlink_to(target.format(own=fleet / name))
    assert are_equal(fleet) is is_equal


def test_a_link_to_a_tree_is_no_equal_tree(fleet: Path) -> None:
    """Without FollowSymLinks httpd answers 403 for what lies behind a link."""
    shutil.rmtree(fleet / B)
    (fleet / B).symlink_to(A)
    assert not are_equal(fleet)


def test_trees_with_different_parents_are_not_equal(fleet: Path) -> None:
    """A section for one of the parents, or an .htaccess in it, holds for one of them alone."""
    (fleet / "c").mkdir()
    (fleet / B).rename(fleet / "c" / B)
    servers = [FleetServer(A, str(fleet / A)), FleetServer(B, str(fleet / "c" / B))]
    assert equal_servers(servers) == {0: 0, 1: 1}


def test_the_mode_of_the_tree_counts(fleet: Path) -> None:
    (fleet / B).chmod(0o711)
    assert not are_equal(fleet)


def test_what_lies_outside_of_the_tree_is_uncertain(fleet: Path) -> None:
    """A server root above the directory that was named."""
    servers = [FleetServer(name, str(fleet / name / "conf")) for name in (A, B)]
    assert equal_servers(servers) == {0: 0, 1: 1}
    files = [FleetServer(name, str(fleet / name / MAIN)) for name in (A, B)]
    assert equal_servers(files) == {0: 0, 1: 1}


def test_bounds(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equal_trees, "MAX_NAMES", 5)
    assert not are_equal(fleet)
    monkeypatch.undo()
    monkeypatch.setattr(equal_trees, "MAX_BYTES", 100)
    assert not are_equal(fleet)


def test_pairs_equal_no_other(fleet: Path) -> None:
    """ETag has the time of a file: the two sides of one pair may have the same, those of an equal one not."""
    pairs = [FleetServer(name, str(fleet / name), str(fleet / name)) for name in (A, B)]
    assert equal_servers(pairs) == {0: 0, 1: 1}


def test_servers_with_faults_are_equal_to_none(fleet: Path) -> None:
    (fleet / "web-x").mkdir()
    (fleet / "web-y").mkdir()
    assert equal_servers(fleet_servers([str(fleet)])) == {0: 0, 1: 0, 2: 2, 3: 3}
