"""A finding of the baseline is not reported again, even if its line has moved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.report.reports import report

from whimbrel.report.baselines import BadBaseline, load, remove_baselined, save


def test_moved_findings_are_known_and_others_are_not(tmp_path: Path) -> None:
    save(report(), tmp_path / "baselined")
    later = report()
    later.entries = [replace(entry, line=entry.line + 10) for entry in later.entries]
    later.entries += [later.entries[0], replace(later.entries[0], text="SSLProtocol +SSLv2")]
    remove_baselined(later, load(tmp_path / "baselined"))
    assert [entry.text for entry in later.entries] == ["SSLProtocol SSLv2", "SSLProtocol +SSLv2"]
    assert later.baselined == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"whimbrel-baseline": 2, "findings": []}',
        '{"whimbrel-baseline": 1, "findings": [{}]}',
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "baselined").write_text(text)
    with pytest.raises(BadBaseline):
        load(tmp_path / "baselined")
