"""A .htaccess file that requests meet in several directories has one text: it is right in each, or marked."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.access_texts import MODULES, USER
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.access_control.findings import IF_EVER
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.rules import rules_of

SITE = (
    "DocumentRoot ROOT/htdocs\n"
    "<Directory ROOT/htdocs>\nAllowOverride All\nOrder deny,allow\nDeny from all\nAllow from 127.0.0.2\n"
    "</Directory>\n<Directory ROOT/htdocs/real>\nOrder allow,deny\nAllow from all\n</Directory>\n"
)
FILES: dict[str, str | bytes] = {
    "htdocs/real/.htaccess": USER + "Require user alice\nSatisfy Any\n",
    "htdocs/real/p.html": "a page\n",
    "htdocs/other/p.html": "a page\n",
}


@pytest.mark.parametrize(("link", "target"), [("zlink", "real"), ("other/.htaccess", "../real/.htaccess")])
def test_no_directory_of_a_file_is_opened(tmp_path: Path, link: str, target: str) -> None:
    # 2.2 (mod_authz_host.c) answers 401 for /zlink/p.html and /other/p.html without a password: Satisfy
    # merges with the lists of htdocs. apache2 2.4 answers 200 with `Require all granted` in the file,
    # which is right for /real/p.html, and 401 with the lines that the upgrade writes.
    (tmp_path / "htdocs/other").mkdir(parents=True)
    (tmp_path / "htdocs" / link).symlink_to(target)
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": MODULES + SITE, **FILES}), rules_of("access"))
    (text,) = (data.decode() for path, data in result.files.items() if path.endswith("/.htaccess"))
    assert text.partition("conf/users\n")[2] == "Require ip 127.0.0.2\nRequire user alice\n"
    (left,) = result.needs_review
    assert "/real/" in left.evidence and "2.2 lets it in, 2.4 answers 401" in left.evidence
    assert IF_EVER not in left.evidence


def test_a_link_to_a_directory_with_the_same_sections_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "htdocs/real").mkdir(parents=True)
    (tmp_path / "htdocs/real/again").symlink_to(".")
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": MODULES + SITE, **FILES}), rules_of("access"))
    assert result.files[f"{tmp_path}/htdocs/real/.htaccess"].decode().endswith("\nRequire all granted\n")
    assert not result.needs_review
