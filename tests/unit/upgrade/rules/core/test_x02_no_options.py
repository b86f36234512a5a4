"""C11 and X02: what the whole server lacks, where it is said, and the comment that decides it.

mod_userdir.html#userdir: `UserDir public_html` maps /~anna/ to public_html below her home directory.
core.html, <Directory>: a wildcard matches no slash, and a section holds for all directories below.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.rules import rules_of

USERS = "<Directory /home/*/public_html>\nOptions Indexes\n</Directory>\n"
ROOT = "DocumentRoot /srv/a\n<Directory /srv/a>\nOptions None\n</Directory>\n"


def found(root: Path, text: str, *rules: str) -> list[tuple[str, int, str]]:
    chosen = [rule for rule in rules_of("core") if rule.number in (rules or ("X02",))]
    result = upgrade(config_tree(root, {"conf/httpd.conf": text}), chosen)
    return [(one.rule, one.place.line, one.message) for one in result.findings if one.rule[0] in "CX"]


@pytest.mark.parametrize(
    ("text", "uncovered"),
    [
        (f"UserDir public_html\n{ROOT}{USERS}", ""),
        (f"UserDir public_html\n{ROOT}", "/home/NAME/public_html"),
        (f"UserDir /export/*/web\n{ROOT}<Directory /export/*>\nOptions None\n</Directory>\n", ""),
        (
            f"UserDir /export/*/web\n{ROOT}<Directory /export/*/*/*>\nOptions None\n</Directory>\n",
            "/export/NAME/web",
        ),
        (f"UserDir /export\n{ROOT}<Directory /export>\nOptions None\n</Directory>\n", ""),
        (f"UserDir disabled\n{ROOT}", ""),
        (f"UserDir http://other.example/\n{ROOT}", ""),
        (f"VirtualDocumentRoot /srv/v/%0/docs\n{ROOT}", "/srv/v/NAME/docs"),
        (f"VirtualDocumentRoot /srv/v/%0/docs\n{ROOT}<Directory /srv/v>\nOptions None\n</Directory>\n", ""),
        (f"AliasMatch ^/x(.*) $1\n{ROOT}", "/"),
        ("Listen 80\n", "/"),
    ],
)
def test_only_directories_that_urls_lead_to_are_asked_about(
    text: str, uncovered: str, tmp_path: Path
) -> None:
    messages = [message for _, _, message in found(tmp_path, text)]
    wanted = f"no Options line applies to {uncovered}: "
    assert [message.startswith(wanted) for message in messages] == [True] * bool(uncovered)


def test_the_line_that_leads_to_the_directory_is_named(tmp_path: Path) -> None:
    host = "<VirtualHost *:80>\nDocumentRoot /srv/a\nAlias /b /srv/b\n</VirtualHost>\n"
    ((rule, line, message),) = found(tmp_path, f"Listen 80\nAccessFileName .ht\n{host}")
    assert (rule, line) == ("X02", 4)
    assert message.startswith("no Options line applies to /srv/a, /srv/b: ")


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_one_comment_at_any_line_decides(at: int, tmp_path: Path) -> None:
    """What the whole server lacks has no line: an edit of another rule must not move the question away."""
    lines = [
        "Listen 80",
        "AccessFileName .htaccess",
        "<VirtualHost *:80>",
        "DocumentRoot /srv/a",
        "</VirtualHost>",
    ]
    for rule, other in (("C11", "X02"), ("X02", "C11")):
        marked = [*lines[:at], f"# whimbrel: ignore[{rule}]", *lines[at:]]
        root = tmp_path / rule
        rules = [one for one, _, _ in found(root, "\n".join(marked) + "\n", "C11", "X02")]
        assert rules == [other]
