"""Fixes of single findings: together they are what the upgrade writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.cli.example import copy_site
from whimbrel.config.options import LoadOptions
from whimbrel.syntax.edits import Edit
from whimbrel.upgrade.check.fixpoint import UpgradeResult, upgrade
from whimbrel.upgrade.edits.diff import line_starts
from whimbrel.upgrade.edits.text_fixes import OriginalPositions
from whimbrel.upgrade.model import TextFix, UpgradeOptions
from whimbrel.upgrade.source.line_map import LineMap
from whimbrel.upgrade.source.reading import Sources, read_config_tree

TEXT = b"# one\n  MaxClients 5\nNameVirtualHost *:80\nListen 80\n"


def fixed(data: bytes, fixes: list[TextFix]) -> bytes:
    """Apply fixes as a reader of SARIF does: the last position first."""
    starts = line_starts(data)
    for fix in sorted(fixes, key=lambda one: (one.start, one.end), reverse=True):
        start, end = (starts[line - 1] + column - 1 for line, column in (fix.start, fix.end))
        data = data[:start] + fix.text.encode("latin-1") + data[end:]
    return data


def upgraded(options: LoadOptions) -> UpgradeResult:
    """Upgrade the configuration of *options*."""
    return upgrade(read_config_tree(Sources(options=options), UpgradeOptions()))


def test_the_fixes_of_the_example_site_are_its_upgrade(tmp_path: Path) -> None:
    root = tmp_path / "site"
    copy_site(root)
    result = upgraded(LoadOptions(server_root=str(root), file=str(root / "conf/httpd.conf")))
    changes = [finding for finding in result.findings if finding.edits]
    assert len(changes) == 12 and all(finding.fixes for finding in changes)
    assert set(result.files) == {fix.path for finding in changes for fix in finding.fixes}
    for path, data in result.files.items():
        fixes = dict.fromkeys(fix for finding in changes for fix in finding.fixes if fix.path == path)
        assert fixed(Path(path).read_bytes(), list(fixes)) == data


def test_positions_of_an_unchanged_text() -> None:
    text = OriginalPositions("a", TEXT, TEXT, line_starts(TEXT), LineMap())
    assert text.fixes([Edit(8, 18, b"MaxRequestWorkers")]) == (
        TextFix("a", (2, 3), (2, 13), "MaxRequestWorkers"),
    )
    assert text.fixes([Edit(21, 42, b"")]) == (TextFix("a", (3, 1), (4, 1), ""),)
    end = len(TEXT)
    assert text.fixes([Edit(end, end, b"x\n")]) == (TextFix("a", (5, 1), (5, 1), "x\n"),)


@pytest.mark.parametrize(("edit", "has_fix"), [(Edit(8, 12, b""), False), (Edit(28, 32, b""), True)])
def test_a_line_that_an_earlier_edit_has_changed_has_no_fix(edit: Edit, has_fix: bool) -> None:
    current = TEXT.replace(b"MaxClients", b"MaxRequestWorkers")
    text = OriginalPositions("a", TEXT, current, line_starts(current), LineMap())
    assert (text.fixes([edit]) is not None) is has_fix
