"""Order, Allow, Deny and Satisfy that stay in files without their server are findings, in whatever section
they stand."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import fragments

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Risk

IN_SECTIONS = [
    ('<If "-z %{QUERY_STRING}">\nOrder allow,deny\n</If>\n', "C17", 1),
    ("<Directory /a>\n<If true>\nSatisfy Any\n</If>\n</Directory>\n", "C17", 1),
    ("<IfModule !mod_access_compat.c>\n<Limit GET>\nDeny from all\n</Limit>\n</IfModule>\n", "R10", 3),
    ("<IfVersion >= 2.4>\nDeny from all\n</IfVersion>\n", "R10", 2),
]


@pytest.mark.parametrize(("text", "rule", "line"), IN_SECTIONS)
def test_lines_in_sections_of_24(tmp_path: Path, text: str, rule: str, line: int) -> None:
    found = upgrade(fragments(tmp_path, {"part.conf": text})).findings
    broken = [finding for finding in found if finding.risk is Risk.BREAKS]
    assert [(finding.rule, finding.place.line) for finding in broken] == [(rule, line)]


def test_a_branch_for_22_that_is_taken_away_names_the_password(tmp_path: Path) -> None:
    text = "<IfModule !mod_authz_core.c>\nSatisfy all\n</IfModule>\n"
    found = [one for one in upgrade(fragments(tmp_path, {".htaccess": text})).findings if one.needs_review]
    assert [(finding.rule, finding.place.line) for finding in found] == [("C17", 1)]
    assert "an outer section may ask for a password" in found[0].message
