"""The guard of .htaccess and .htpasswd is closed in 2.4, whatever an outer Satisfy Any made of it in 2.2."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.access_texts import MODULES, USER
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.rules import rules_of

MAIN = (
    "DocumentRoot ROOT/htdocs\n<Directory ROOT/htdocs>\nAllowOverride All\n"
    "Order allow,deny\nAllow from all\n</Directory>\n"
    '<Files ~ "^\\.ht">\nOrder allow,deny\nDeny from all\n</Files>\n'
)
SATISFY = USER + "Require valid-user\nSatisfy Any\nOrder deny,allow\nDeny from all\nAllow from 10\n"


@pytest.mark.parametrize(("inner", "served"), [(SATISFY, True), (USER + "Require valid-user\n", False)])
def test_the_guard_is_closed_and_the_finding_says_what_2_2_did(
    tmp_path: Path, inner: str, served: bool
) -> None:
    found = upgrade(
        config_tree(
            tmp_path,
            {"conf/httpd.conf": MODULES + MAIN, "htdocs/in/.htaccess": inner, "htdocs/in/.htpasswd": "a:b\n"},
        ),
        rules_of("access"),
    )
    text = found.files[str(tmp_path / "conf/httpd.conf")].decode()
    assert text.endswith('<Files ~ "^\\.ht">\nRequire all denied\n</Files>\n')
    messages = [
        finding.message
        for finding in found.findings
        if "made 2.2 serve the files that this section guards" in finding.message
    ]
    assert bool(messages) is served
