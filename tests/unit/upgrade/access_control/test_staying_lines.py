"""Order, Allow, Deny and Satisfy that stay in files without their server are findings, in whatever section
they stand."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.access_texts import MODULES, USER
from tests.unit.upgrade.config_trees import config_tree, fragments

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


def test_the_finding_stands_at_the_line_that_needs_the_module(tmp_path: Path) -> None:
    """SSLOptions without signs resets StrictRequire; 2.4 reads it without mod_access_compat."""
    text = "<IfModule mod_ssl.c>\nSSLOptions StdEnvVars\n</IfModule>\nOrder allow,deny\nAllow from all\n"
    found = upgrade(fragments(tmp_path, {".htaccess": text})).findings
    (finding,) = [one for one in found if one.rule == "C17"]
    assert finding.place.line == 4


def test_an_order_line_beside_require_says_which_lines_it_undoes_and_why_they_stay(tmp_path: Path) -> None:
    """2.4 takes the Order lines of mod_access_compat from sections around, and asks them beside Require."""
    host = "Order allow,deny\nAllow from all\nDeny from env=bot\n"
    inner = f"{USER}Require valid-user\nOrder deny,allow\nDeny from all\nAllow from 10.2\nSatisfy any\n"
    conf = (
        f"{MODULES}DocumentRoot ROOT/h\nSetEnvIf User-Agent x bot\n"
        "<Directory />\nOrder deny,allow\nDeny from all\n</Directory>\n"
        f"<Directory ROOT/h>\nAllowOverride None\n{host}</Directory>\n"
        "<Directory ROOT/h/a>\nAllowOverride Limit\n</Directory>\n"
        f"<Directory ROOT/h/b>\n{inner}</Directory>\n"
    )
    files: dict[str, str | bytes] = {
        "conf/httpd.conf": conf,
        "h/a/.htaccess": "Order allow,deny\nAllow from all\n",
        "h/b/x": "",
    }
    findings = upgrade(config_tree(tmp_path, files)).findings
    (message,) = [one.message for one in findings if one.rule == "C20" and one.edits]
    places = [conf.count("\n", 0, conf.index(text)) + 1 for text in ("<Directory />", "<Directory ROOT/h>")]
    assert message.startswith(
        f"the Order lines of conf/httpd.conf:{places[0]} and conf/httpd.conf:{places[1]} stay with "
        "mod_access_compat: no Require decides alike together with h/a/.htaccess:1; "
    )
