"""Directories of users, of AliasMatch and of mass hosts, with the URLs that reach them."""

from __future__ import annotations

import pwd
from pathlib import Path
from unittest.mock import create_autospec

import pytest

from whimbrel.verify.derive import mapped_directories as module
from whimbrel.verify.derive.mapped_directories import above, mapped_directories, mass_directories


@pytest.mark.parametrize(
    ("word", "directory"), [("{0}/*/web", "web/"), ("{0}", ""), ("{0}/", "")], ids=["star", "plain", "slash"]
)
def test_directories_of_users(tmp_path: Path, word: str, directory: str) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "web").mkdir(parents=True)
    (tmp_path / "file").touch()
    found = mapped_directories("userdir", [word.format(tmp_path)], "/srv")
    assert found == [(f"/~{name}/", f"{tmp_path}/{name}/{directory}") for name in ("a", "b")]


def test_directories_below_homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a/web").mkdir(parents=True)
    users = [pwd.struct_passwd((name, "x", 1, 1, "", str(tmp_path / name), "/bin/sh")) for name in ("a", "b")]
    monkeypatch.setattr(pwd, "getpwall", create_autospec(pwd.getpwall, return_value=users))
    assert mapped_directories("userdir", ["web"], "/srv") == [("/~a/", f"{tmp_path}/a/web/")]
    for words in ([], ["disabled"], ["enabled", "a"], ["http://a.test/*/"]):
        assert mapped_directories("userdir", words, "/srv") == []


def test_directories_of_users_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_USERS", 2)
    for name in "abc":
        (tmp_path / name).mkdir()
    assert len(mapped_directories("userdir", [str(tmp_path)], "/srv")) == 2


@pytest.mark.parametrize(
    ("words", "pair"),
    [
        (["^/m/([^/]+)(.*)", "am/$1$2"], ("/m/", "/srv/am/")),
        (["^/m(.*)", "/data/x$1"], ("/", "/data/")),
        (["(?i)^/a/b", "/data/b"], ("/", "/data/b/")),
    ],
)
def test_alias_match(words: list[str], pair: tuple[str, str]) -> None:
    assert mapped_directories("aliasmatch", words, "/srv") == [pair]


def test_mass_hosts() -> None:
    assert mass_directories("virtualdocumentroot", ["/vh/%0/docs"], "/srv") == ["/vh/"]
    assert mass_directories("virtualdocumentroot", ["none"], "/srv") == []
    assert mass_directories("documentroot", ["/vh/%0"], "/srv") == []


def test_directories_above() -> None:
    assert list(above("/a/b/")) == ["/a/", "/"]
    assert list(above("/")) == []
