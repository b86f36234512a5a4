"""Lines that an exact edit leaves out, because they had no effect in 2.2, are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.access_texts import MODULES, USER
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.access_control.analysis import analyze_access
from whimbrel.upgrade.access_control.effective import ALL_METHODS, EffectiveDirective
from whimbrel.upgrade.access_control.void_lines import is_void
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.rules import rules_of

WITHOUT_EFFECT = [
    ("Order allow,deny\nAllow from 10.0.0.1\nDeny from all\n", "Allow from 10.0.0.1"),
    ("Order deny,allow\nAllow from 10.0.0.1\n", "Allow from 10.0.0.1"),
    (f"Order allow,deny\nAllow from all\nSatisfy any\n{USER}Require valid-user\n", "Require valid-user"),
    (
        "Order deny,allow\nAllow from all\n<Limit PUT DELETE>\nOrder deny,allow\nDeny from all\n</Limit>\n",
        "<Limit PUT DELETE>",
    ),
    (
        f"Order allow,deny\nAllow from all\nDeny from 10.0.0.1\n{USER}AuthGroupFile conf/groups\n"
        "Require user a\nRequire group b\n",
        "Require group b",
    ),
]
WITH_EFFECT = [
    "Order deny,allow\nDeny from all\nAllow from 10.0.0.1\n",
    "Order allow,deny\nAllow from all\n",
    "Order allow,deny\nDeny from all\n",
    f"Order deny,allow\nDeny from all\nAllow from 10.0.0.1\nSatisfy any\n{USER}Require valid-user\n",
    "<Limit PUT DELETE>\nOrder allow,deny\nDeny from all\n</Limit>\n",
    "Order allow,deny\nAllow from all\n<Limit PUT DELETE>\nOrder allow,deny\nDeny from all\n</Limit>\n",
]


def remarks(root: Path, lines: str) -> list[str]:
    section = f"<Directory ROOT/htdocs>\nAllowOverride None\n{lines}</Directory>\n"
    text = f"{MODULES}DocumentRoot ROOT/htdocs\n{section}"
    result = upgrade(config_tree(root, {"conf/httpd.conf": text, "htdocs/x": ""}), rules_of("access"))
    assert result.files
    return [finding.remark for finding in result.findings if finding.remark]


@pytest.mark.parametrize(("lines", "line"), WITHOUT_EFFECT)
def test_a_line_without_effect(tmp_path: Path, lines: str, line: str) -> None:
    assert remarks(tmp_path, lines) == [f"`{line}` had no effect here in 2.2"]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            "Order deny,allow\nDeny from 10.0.0.1\nAllow from all\n",
            "`Deny from 10.0.0.1` had no effect here in 2.2: `Allow from all` beside it admits its clients",
        ),
        (
            "Order allow,deny\nAllow from all\n<Limit POST>\nOrder deny,allow\nDeny from all\n"
            "Allow from 10.0.0.1\n</Limit>\n",
            "`Allow from 10.0.0.1` had no effect here in 2.2: `Allow from all` beside it admits its clients; "
            "`<Limit POST>` goes: who means it corrects the new text",
        ),
    ],
)
@pytest.mark.parametrize("outer", ["", "Order deny,allow\nDeny from all\n"])
def test_the_line_that_admits_the_clients_is_named(
    tmp_path: Path, lines: str, reason: str, outer: str
) -> None:
    """A line outside of <Limit> holds for its methods, too: mod_authz_host of 2.2 appends to one list."""
    section = f"<Directory />\n{outer}</Directory>\n"
    inner = f"<Directory ROOT/htdocs>\nAllowOverride None\n{lines}</Directory>\n"
    text = f"{MODULES}DocumentRoot ROOT/htdocs\n{section}{inner}"
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": text, "htdocs/x": ""}), rules_of("access"))
    assert [finding.remark for finding in result.findings if finding.remark] == [reason]


@pytest.mark.parametrize("lines", WITH_EFFECT)
def test_lines_with_an_effect(tmp_path: Path, lines: str) -> None:
    assert remarks(tmp_path, lines) == []


def test_a_word_that_no_module_knows(tmp_path: Path) -> None:
    assert remarks(tmp_path, f"{USER}Require unknown x\n") == [
        "no module of httpd 2.2 knows `Require unknown x`"
    ]


HOST = "<VirtualHost *:80>\nServerName {0}.example\nDocumentRoot ROOT/{0}\n{1}</VirtualHost>\n"
ALL = "<Location />\nOrder allow,deny\nAllow from all\nDeny from env=bad\n</Location>\n"


@pytest.mark.parametrize(("behind", "expected"), [("", False), (ALL, True)])
def test_a_line_is_without_effect_only_if_it_is_for_all_servers(
    tmp_path: Path, behind: str, expected: bool
) -> None:
    """2.2 merges a host's sections onto those of the main server, and Order, Allow and Deny of the last one
    count: the line decides in a host without <Location />, if the main server has none behind it.
    """
    lists = "Order deny,allow\nDeny from all\nAllow from 10.1\n"
    hosts = HOST.format("a", ALL) + HOST.format("b", "")
    text = f"{MODULES}DocumentRoot ROOT/c\n<Location /s>\n{lists}</Location>\n{behind}{hosts}"
    made = analyze_access(config_tree(tmp_path, {"conf/httpd.conf": text, "a/s": "", "b/s": "", "c/s": ""}))
    (section,) = [unit for unit in made.plans if unit.pattern == "/s"]
    assert is_void(made, section, EffectiveDirective("allow", "from 10.1", ALL_METHODS)) is expected
