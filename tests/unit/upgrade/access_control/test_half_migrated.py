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
