"""Copies of a tree that another person may change meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support import warm_command
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.base.file_reading import read_handle
from whimbrel.upgrade.apply import server_copy
from whimbrel.upgrade.apply.server_copy import copy_tree
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.utilities.usage_error import UsageError

MAIN = "conf/httpd.conf"


def exchange(path: Path, text: str, mode: int) -> None:
    """Put another file in the place of *path*."""
    other = path.with_name("other")
    other.write_text(text)
    other.chmod(mode)
    os.replace(other, path)


def test_a_file_has_the_mode_of_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    users = tmp_path / "srv/conf/users"
    tree = config_tree(tmp_path / "srv", {MAIN: "AuthUserFile conf/users\n", "conf/users": "secret\n"})
    users.chmod(0o600)

    def exchanged(handle: int, path: str | bytes, limit: int = 1 << 20) -> bytes:
        if os.fsencode(path).endswith(b"users"):
            exchange(users, "open\n", 0o644)
        return read_handle(handle, path, limit)

    monkeypatch.setattr(server_copy, "read_handle", exchanged)
    copy_tree(UpgradeResult(tree), str(tmp_path / "srv"), tmp_path / "out")
    copy = tmp_path / "out/conf/users"
    assert (copy.read_text(), copy.stat().st_mode & 0o777) == ("secret\n", 0o600)
    assert users.stat().st_mode & 0o777 == 0o644


def test_a_text_that_has_changed_is_not_copied(tmp_path: Path) -> None:
    tree = config_tree(tmp_path / "srv", {MAIN: "Include conf/a.conf\n", "conf/a.conf": "# secret\n"})
    exchange(tmp_path / "srv/conf/a.conf", "# open\n", 0o644)
    with pytest.raises(UsageError, match=r"a\.conf has changed while it was read"):
        copy_tree(UpgradeResult(tree), str(tmp_path / "srv"), tmp_path / "out")
    assert not (tmp_path / "out/conf/a.conf").exists()


@pytest.mark.parametrize("is_image", [False, True])
@pytest.mark.parametrize("pattern", ["conf.d/", "conf.d", "conf.d/*.conf"])
def test_an_empty_directory_that_an_include_line_reads_is_in_the_copy(
    tmp_path: Path, pattern: str, *, is_image: bool
) -> None:
    """httpd ends its start where the directory is missing: "Could not open configuration file"."""
    root = tmp_path / "image/etc/httpd"
    place = "/etc/httpd" if is_image else root
    text = f'ServerRoot "{place}"\nInclude {pattern}\nInclude none.d/*.conf\n'
    (root / "conf.d").mkdir(parents=True)
    (root / "conf").mkdir()
    (root / MAIN).write_text(text)
    named = tmp_path / "image" if is_image else root
    done = warm_command.run(["upgrade", str(named), "--out", str(tmp_path / "out")], cwd=tmp_path)
    copy = tmp_path / ("out/etc/httpd" if is_image else "out")
    assert (copy / MAIN).exists(), done.stderr
    assert (copy / "conf.d").is_dir() and not (copy / "none.d").exists()
