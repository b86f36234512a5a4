"""X15: the commands of its document, run as they stand there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import fragments

from whimbrel.base.dialect import V24
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.loading import load
from whimbrel.upgrade.model import Risk, UpgradeOptions
from whimbrel.upgrade.rules.core import x15_site_files
from whimbrel.upgrade.source.reading import Sources, read_config_tree

DOCUMENT = Path(x15_site_files.__file__).parents[2] / "documents/X15-site-files.md"


def test_the_commands_rename_sites_that_are_read_before_and_after(tmp_path: Path) -> None:
    """No link dangles, the order of the files stays, and the old Include line reads the new names."""
    shell = shutil.which("sh")
    if shell is None:
        pytest.skip("no sh")
    for name in ("sites-available", "sites-enabled"):
        (tmp_path / name).mkdir()
    for number, (link, site) in enumerate((("000-default", "default"), ("shop", "shop"))):
        (tmp_path / "sites-available" / site).write_text(f"Listen 127.0.0.1:80{number}0\n")
        (tmp_path / "sites-enabled" / link).symlink_to(f"../sites-available/{site}")
    (tmp_path / "sites-enabled/plain").write_text("Listen 127.0.0.1:8020\n")
    (tmp_path / "sites-enabled/new.conf").write_text("Listen 127.0.0.1:8030\n")
    (tmp_path / "apache2.conf").write_text("Include sites-enabled/\n")
    options = LoadOptions(server_root=str(tmp_path), file="apache2.conf")
    tree = read_config_tree(Sources(options=options), UpgradeOptions())
    found = list(x15_site_files.check(tree))
    assert [finding.place.path.rpartition("/")[2] for finding in found] == ["000-default", "plain", "shop"]
    assert {finding.risk for finding in found} == {Risk.COSMETIC}  # nothing changes while the text stays

    block = re.search(r"```sh\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert block is not None
    commands = block[1].replace("/etc/apache2", str(tmp_path))
    subprocess.run([shell, "-euc", commands], check=True, timeout=30)

    names = sorted(path.name for path in (tmp_path / "sites-enabled").iterdir())
    assert names == ["000-default.conf", "new.conf", "plain.conf", "shop.conf"]
    assert all(path.exists() for path in (tmp_path / "sites-enabled").iterdir())
    for name in ("000-default.conf", "plain.conf", "shop.conf"):
        assert os.readlink(tmp_path / "sites-enabled" / name) == f"../sites-available/{name}"
    for pattern in ("sites-enabled/", "sites-enabled/*.conf"):
        (tmp_path / "apache2.conf").write_text(
            f"LoadModule mpm_event_module modules/mod_mpm_event.so\nInclude {pattern}\n"
        )
        configuration, problem = load(options, V24)
        assert problem is None and configuration is not None
        ports = [node.args for node in configuration.tree if node.name == "Listen"]
        assert ports == [f"127.0.0.1:80{number}0" for number in (0, 3, 2, 1)]


def test_a_site_alone_is_read_by_nothing_that_is_known(tmp_path: Path) -> None:
    (found,) = x15_site_files.check(fragments(tmp_path, {"sites-available/a": "Listen 80\n"}))
    assert "no main file was read" in found.message
    assert "this apache2.conf" not in found.message + found.advice
