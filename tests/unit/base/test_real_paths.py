"""Paths without links."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from tests.support.samples import amount

from whimbrel.base import real_paths
from whimbrel.base.real_paths import RealPaths, real_path, without_links


def test_links_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "there")
    assert without_links(str(tmp_path / "link/x")) == os.path.realpath(tmp_path / "there/x")


def test_a_link_that_cannot_be_read_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of /proc for other users."""
    (tmp_path / "link").symlink_to(tmp_path / "there")

    def refuse(path: bytes) -> bytes:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "readlink", refuse)
    name = os.fsencode(tmp_path / "link/../x")
    assert without_links(name) == os.fsencode(tmp_path / "x")


def linked_tree(top: Path, chance: random.Random) -> None:
    """Make directories, files, and links to them, to nothing, to directories above and to each other."""
    for name in ("a", "b", "a/c", "b/d"):
        (top / name).mkdir()
        (top / name / "f").touch()
    targets = ["a", "../a", "b/d", "..", ".", "c/f", "none", "l0", "../l1", "a/l2", str(top / "b"), "/"]
    for number, where in enumerate(("", "a/", "b/", "a/c/", "b/d/")):
        for more in range(2):
            (top / f"{where}l{number % 3}{'x' * more}").symlink_to(chance.choice(targets))


@pytest.mark.parametrize("bound", [0, 3, real_paths.MAX_RESOLVED])
@pytest.mark.parametrize("seed", range(amount(4, 40)))
def test_remembered_directories_change_no_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, bound: int
) -> None:
    chance = random.Random(seed)
    linked_tree(tmp_path, chance)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(real_paths, "MAX_RESOLVED", bound)
    paths = RealPaths()
    names = ["a", "b", "c", "d", "f", "l0", "l1", "l2", "l0x", "l1x", "l2x", "..", ".", "", "none"]
    start = ["", f"{tmp_path}/", "/", "//", "./"]
    for _ in range(200):
        path = chance.choice(start) + "/".join(chance.choices(names, k=chance.randint(0, 5)))
        assert paths.of(path) == real_path(path), path
