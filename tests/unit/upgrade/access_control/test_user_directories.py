"""Directories of users that exist: sections about names decide about the files in them."""

from __future__ import annotations

from pathlib import Path

from tests.unit.upgrade.access_texts import MODULES, USER
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.access_control.analysis import analyze_access
from whimbrel.upgrade.access_control.sections import find_sections
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.rules import rules_of

SITE = (
    "DocumentRoot ROOT/htdocs\nUserDir ROOT/homes/*/web\n"
    "<Directory ROOT/htdocs/closed>\nOrder allow,deny\nDeny from all\n</Directory>\n"
    f"<Directory ROOT/homes/*/web>\n{USER}Require user alice\n"
    "Order allow,deny\nAllow from all\n</Directory>\n"
    '<Files ~ "html">\nOrder deny,allow\nDeny from 127.0.0.9\n</Files>\n'
)


def test_a_section_about_names_does_not_admit_all_to_the_pages_of_users(tmp_path: Path) -> None:
    # 2.2 (mod_authz_host.c) merges Require and Order apart: 401 for /~bob/p.html without a password. apache2
    # 2.4 answers 200 where the lines of the <Files> section, which it merges last, name no user.
    files = {"homes/bob/web/p.html": "a page\n", "htdocs/closed/p.html": "a page\n"}
    tree = config_tree(tmp_path, {"conf/httpd.conf": MODULES + SITE, **files})
    result = upgrade(tree, rules_of("access"))
    assert not [finding for finding in result.findings if "2.4 lets it in" in finding.evidence]
    text = next(iter(result.files.values())).decode()
    names = text.rpartition('<Files ~ "html">\n')[2].partition("</Files>")[0]
    assert [line.strip() for line in names.split("\n") if line.strip()] == [
        "<RequireAll>",
        "Require not ip 127.0.0.9",
        "Require user alice",
        "</RequireAll>",
    ]


def test_the_chains_of_existing_users_are_certain(tmp_path: Path) -> None:
    files = {f"homes/u{number}/web/p.html": "a page\n" for number in range(6)}
    files["homes/none/other/p.html"] = "a page\n"
    tree = config_tree(tmp_path, {"conf/httpd.conf": MODULES + SITE, **files})
    users = [url for url, _ in find_sections(tree).aliases[None]]
    assert users == ["/~u0", "/~u1", "/~u2", "/~u3", "/~user"]
    chains = analyze_access(tree).decisions.chains
    assert any(chain.is_certain and len(chain.sections) == 2 for chain in chains)
