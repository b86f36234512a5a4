"""The risk of a section is what 2.4 does with its text as it stands: the start, access, or nothing changes.

`tests/upgrade/test_unchanged_sections_start.py` compares the start with apache2.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support import warm_command
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Finding, Risk, Safety

USERS = "AuthType Basic\nAuthName x\nAuthUserFile conf/users\nAuthGroupFile conf/groups\n"
MODULES = "".join(
    f"LoadModule {name}_module modules/mod_{name}.so\n"
    for name in (
        *("mpm_prefork", "unixd", "authn_core", "authz_core", "authn_file", "authz_host", "authz_user"),
        *("authz_groupfile", "auth_basic"),
    )
)
RULES = ("C16", "C17", "C21", "C22", "C23", "X12")
COMPAT = "LoadModule access_compat_module modules/mod_access_compat.so\n"
CLOSED = "<Directory ROOT/htdocs>\nOrder deny,allow\nDeny from all\n</Directory>\n"


def of_access(root: Path, text: str, head: str = MODULES, **files: str) -> list[Finding]:
    (root / "htdocs").mkdir(exist_ok=True)
    main = f'ServerRoot "ROOT"\n{head}DocumentRoot "ROOT/htdocs"\n{text}'
    tree = config_tree(root, {"conf/httpd.conf": main, **files})
    return [found for found in upgrade(tree).findings if found.rule in RULES]


@pytest.mark.parametrize(
    ("head", "risk"),
    [(MODULES, Risk.BREAKS), (MODULES + COMPAT, Risk.COSMETIC), ("", Risk.BREAKS)],
    ids=["not loaded", "loaded", "no LoadModule line"],
)
def test_order_and_deny(tmp_path: Path, head: str, risk: Risk) -> None:
    (found,) = of_access(tmp_path, CLOSED, head)
    assert (found.rule, found.risk, bool(found.edits)) == ("C17", risk, True)
    assert ("which is loaded here" in found.message) is (risk is Risk.COSMETIC)


def test_the_module_under_a_condition(tmp_path: Path) -> None:
    (found,) = of_access(tmp_path, CLOSED, f"{MODULES}<IfDefine OLD>\n{COMPAT}</IfDefine>\n")
    assert found.risk is Risk.BREAKS


def test_lines_that_24_lacks(tmp_path: Path) -> None:
    text = f"<Location /a>\n{USERS}AuthzUserAuthoritative On\nRequire valid-user\n</Location>\n"
    assert [found.risk for found in of_access(tmp_path, text)] == [Risk.BREAKS]


def test_a_require_that_24_reads_otherwise(tmp_path: Path) -> None:
    """2.2 asks for the group and for a user: the second line is void; 2.4 admits members of the group."""
    text = f"<Directory ROOT/htdocs>\n{USERS}Require user joe\nRequire group staff\n</Directory>\n"
    (found,) = [one for one in of_access(tmp_path, text) if one.rule == "C21"]
    assert found.risk is Risk.OPENS
    assert found.evidence.startswith("as the text stands: ")
    assert "2.2 answers 401, 2.4 lets it in" in found.evidence


def test_satisfy_is_merged_otherwise_by_the_module(tmp_path: Path) -> None:
    """2.4 merges Satisfy with Order: the inner section loses the Satisfy Any of the outer one."""
    text = (
        f"<Directory ROOT/htdocs>\n{USERS}Require valid-user\nOrder deny,allow\nDeny from all\n"
        "Allow from 10.0.0.0/8\nSatisfy Any\n</Directory>\n"
        "<Directory ROOT/htdocs/a>\nOrder deny,allow\nDeny from all\nAllow from 192.0.2.0/24\n</Directory>\n"
    )
    risks = {found.place.line: found for found in of_access(tmp_path, text, MODULES + COMPAT)}
    inner = max(risks)
    assert risks[inner].risk is Risk.CLOSES
    assert "as the text stands" in risks[inner].evidence
    assert risks[inner].safety is Safety.REVIEW


RUNNING = (
    f"<Directory ROOT/htdocs>\n{USERS}Require valid-user\nOrder deny,allow\nDeny from all\n"
    "Allow from 127.0.2.0/24\nSatisfy Any\n</Directory>\n"
    "<Directory ROOT/htdocs/a>\nOrder allow,deny\nAllow from 127.0.1.0/24\n</Directory>\n"
)


@pytest.mark.parametrize(("head", "is_of_24"), [(MODULES + COMPAT, True), (MODULES, False)])
def test_the_new_text_decides_as_the_server_that_runs(tmp_path: Path, head: str, is_of_24: bool) -> None:
    """apache2 2.4.71 with mod_access_compat: /a/x from 127.0.1.5 401, with a password 200, from 127.0.2.5
    403 with and without one; 2.2 admits either. The same with the new text. Without the module no 2.4 runs.
    """
    (tmp_path / "htdocs").mkdir()
    main = f'ServerRoot "ROOT"\n{head}DocumentRoot "ROOT/htdocs"\n{RUNNING}'
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": main}))
    (text,) = result.files.values()
    inner = text.decode().partition("/htdocs/a>\n")[2].partition("</Directory>")[0].split("\n")
    admits_both = ["Require ip 127.0.1.0/24", "Require valid-user", ""]
    needs_both = ["AuthMerging And", "Require ip 127.0.1.0/24", ""]
    assert inner == (needs_both if is_of_24 else admits_both)


def test_a_text_that_an_upgrade_wrote_is_read_as_one_of_24(tmp_path: Path) -> None:
    """The upgrade repeats Satisfy, which 2.4 merges with Order: the second check has nothing to add."""
    root = tmp_path / "site"
    (root / "htdocs").mkdir(parents=True)
    (root / "conf").mkdir()
    names = ("authz_host", "auth_basic", "authn_file", "authz_user")
    head = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in names)
    text = f'ServerRoot "{root}"\n{head}DocumentRoot "{root}/htdocs"\n{RUNNING}'
    (root / "conf/httpd.conf").write_text(text.replace("ROOT", str(root)))
    for command in (
        ["upgrade", "--no-verify", "--write", "--style", "compat"],
        ["check", "--format", "json"],
    ):
        done = warm_command.run([*command, str(root)], cwd=tmp_path)
    assert (root / "conf/httpd.conf").read_text().count("Satisfy") == 2
    found = [one for one in json.loads(done.stdout)["findings"] if one["rule"] in RULES]
    assert found and {one["risk"] for one in found} == {"cosmetic"}
    assert not any(one["needs_review"] for one in found)


def test_htaccess_files_are_marked(tmp_path: Path) -> None:
    override = "<Directory ROOT/htdocs>\nAllowOverride All\n</Directory>\n"
    files = {"htdocs/a/.htaccess": "Order deny,allow\nDeny from all\n"}
    found = of_access(tmp_path, override + CLOSED, **files)
    assert {one.in_htaccess for one in found if one.place.path.endswith(".htaccess")} == {True}
    assert {one.in_htaccess for one in found if one.place.path.endswith(".conf")} == {False}


def test_a_text_that_does_not_start_has_no_answers(tmp_path: Path) -> None:
    """2.4 has no LockFile: the line ends its start, and no client is admitted."""
    text = f"<Directory ROOT/htdocs>\n{USERS}Require user joe\nRequire group staff\n</Directory>\n"
    root = tmp_path / "b"
    root.mkdir()
    (found,) = [one for one in of_access(root, f"LockFile logs/lock\n{text}") if one.rule == "C21"]
    assert found.evidence.startswith("once 2.4 starts with these lines: ")
