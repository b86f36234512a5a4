"""Old and new words in one request: found, never edited."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.access_texts import MODULES, USER
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.rules import rules_of

OLD = "Order allow,deny\nAllow from all\n"


@pytest.mark.parametrize(
    ("outer", "inner", "code"),
    [
        ("Require all denied\n", OLD, "AH01630"),
        ("Order deny,allow\nDeny from all\n", "Require all granted\n", "AH01797"),
    ],
)
def test_a_site_that_the_main_file_closes_is_found(tmp_path: Path, outer: str, inner: str, code: str) -> None:
    # apache2 2.4 answers 403 with these codes
    conf = f"<Directory />\n{outer}</Directory>\n<Directory /srv/site>\n{inner}</Directory>\n" + "".join(
        f"<Directory /srv/other{n}>\n{OLD}</Directory>\n" for n in range(3) if inner != OLD
    )
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": MODULES + conf}), rules_of("access"))
    assert not result.files
    assert [code in finding.message for finding in result.needs_review] == [True]


@pytest.mark.parametrize("more", ["", f"<Location /a>\n{OLD}</Location>\n<Location /b>\n{OLD}</Location>\n"])
def test_lines_of_require_that_only_2_4_knows_are_never_changed(tmp_path: Path, more: str) -> None:
    conf = f"<Location /mixed>\n{USER}Require all granted\n{OLD}</Location>\n" + more
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": MODULES + conf}), rules_of("access"))
    text = next(iter(result.files.values()), (MODULES + conf).encode()).decode()
    assert f"<Location /mixed>\n{USER}Require all granted\n{OLD}</Location>\n" in text
    assert ["beside a Require" in finding.message for finding in result.needs_review] == [True]


BOTH = (
    "<IfModule mod_authz_core.c>\nRequire ip 10.0.0.1\n</IfModule>\n"
    "<IfModule !mod_authz_core.c>\nOrder deny,allow\nDeny from all\nAllow from 10.0.0.1\n</IfModule>\n"
)


@pytest.mark.parametrize(
    ("inner", "example"),
    [
        ("Order deny,allow\nDeny from all\nAllow from 10.0.0.3\n", "2.2 answers 200, 2.4 answers 403"),
        (f"{USER}Require valid-user\n", "2.2 answers 403, 2.4 answers 200"),
        ("Require all granted\n", ""),
        ("Options None\n", ""),
    ],
)
def test_lines_below_a_section_for_both_versions_are_found(tmp_path: Path, inner: str, example: str) -> None:
    conf = f"<Directory /srv/a>\n{BOTH}</Directory>\n<Directory /srv/a/b>\n{inner}</Directory>\n"
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": MODULES + conf}), rules_of("access"))
    assert not result.files
    found = [finding.message for finding in result.needs_review]
    assert [example in message for message in found] == ([True] if example else [])
