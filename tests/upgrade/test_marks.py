"""At most one section in twenty is marked for review: over the recorded configurations about access, and over the corpus.

WHIMBREL_CASES=N takes N configurations of each family instead of two; `make upgrade-check` counts all.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conformance.cases import load, spread
from tests.upgrade.marks import alone, marks, recorded
from tests.upgrade.test_equal_answers import CASES, SHARED, asked
from whimbrel.octets import from_system
from whimbrel.upgrade.reading import Sources

FAMILIES = ("authz-single", "authz-nested", "authz-targeted", "authz-passwords", "authz-authoritative", "authz-extra")
MOST = 1 / 20
CORPUS = SHARED / "corpus" / "files"


def test_sections_and_marks_are_counted(tmp_path: Path) -> None:
    conf = tmp_path / "httpd.conf"
    conf.write_text("<Location /a>\nOrder allow,deny\nAllow from all\n</Location>\n<Location /b>\nOptions None\n</Location>\n"
                    "<Location /c>\nAuthType Basic\nAuthName x\nAuthUserFile u\nAuthzSVNAccessFile a\nSatisfy Any\nRequire valid-user\n</Location>\n")
    sections, marked = marks(Sources(fragments=(from_system(str(conf)),)))
    assert sections == 2
    assert [finding.place.line for finding in marked] == [8]


@pytest.mark.skipif(not (SHARED / "conformance/upgrade_run.py").is_file(), reason="needs conformance/upgrade_run.py (set WHIMBREL_SHARED)")
def test_recorded_configurations(tmp_path: Path) -> None:
    path = tmp_path / "given" / "cases.jsonl"
    path.parent.mkdir()
    (tmp_path / "upgrade_run.py").symlink_to(SHARED / "conformance/upgrade_run.py")
    cases = [case for family in FAMILIES for case in spread([case for case in load(family) if asked(case)], CASES)]
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    counted = list(recorded(path, 1))
    assert len(counted) == len(cases)
    sections, marked = sum(count for _, _, count, _ in counted), sum(len(found) for *_, found in counted)
    assert sections > len(cases)
    assert marked <= sections * MOST, [(name, str(finding.place.line), finding.message) for _, name, _, found in counted for finding in found]


@pytest.mark.skipif(not CORPUS.is_dir(), reason="needs the corpus (set WHIMBREL_SHARED)")
def test_files_of_the_corpus() -> None:
    counted = list(alone(CORPUS, 4))
    sections, marked = sum(count for _, _, count, _ in counted), sum(len(found) for *_, found in counted)
    assert sections > 50
    assert marked <= sections * MOST, [(name, str(finding.place.line), finding.message) for _, name, _, found in counted for finding in found]
