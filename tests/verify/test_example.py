"""The example site: what `upgrade` makes of it gives the same answers, and each changed line is exercised."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.cli.example import copy_site
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.reading import Sources, read_config_tree
from whimbrel.verify.loading import load_sides
from whimbrel.verify.verification import Verdict, VerifyResult
from whimbrel.verify.verify import verify


def compared(root: Path, old: str = "", new: str = "") -> VerifyResult:
    """Return the comparison of the site with its upgrade, in which the text *old* is replaced by *new*."""
    copy_site(root)
    options = LoadOptions(server_root=str(root), file=str(root / "conf/httpd.conf"))
    files = upgrade(read_config_tree(Sources(options=options), UpgradeOptions())).files
    assert files
    texts = {path: data.replace(old.encode(), new.encode()) if old else data for path, data in files.items()}
    assert not old or texts != files
    upgraded = replace(options, overlay=texts)
    return verify(*load_sides((options, upgraded), ("2.2", "2.4"), ("old", "new")))


def test_the_upgraded_site_is_the_same(tmp_path: Path) -> None:
    result = compared(tmp_path / "site")
    found = [str(group.examples[0].difference) for group in result.groups]
    assert result.verdict is Verdict.SAME, found + [one.reason for one in result.not_decided]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Require ip 192.168.7.0/24", "Require ip 192.168.0.0/16"),
        ("KeepAliveTimeout 5", "KeepAliveTimeout 50"),
        ("ServerTokens Minor", "ServerTokens Full"),
        ('Header set Content-Type "text/plain"', 'Header set Content-Type "text/html"'),
    ],
)
def test_a_changed_upgrade_is_not_the_same(tmp_path: Path, old: str, new: str) -> None:
    result = compared(tmp_path / "site", old, new)
    assert result.verdict in (Verdict.DIFFERENT, Verdict.NOT_DECIDED)
