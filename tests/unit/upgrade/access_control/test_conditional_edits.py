"""Sections that branches divide: the new text decides the same for every combination of the conditions,
checked by `access` and as text."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.access_texts import MODULES, USER, text_after
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.access_control.analysis import analyze_access

OPEN = MODULES.replace("LoadModule", "# LoadModule")
"""Without LoadModule lines the modules may be compiled in: <IfModule> stays an open question."""


def test_a_grant_in_a_branch_gets_the_other_case_beside_it(tmp_path: Path) -> None:
    # apache2 2.4 with mod_access_compat: 403 without -D X, for everybody
    conf = (
        "<Location /a>\nOrder deny,allow\nDeny from all\n<IfDefine X>\n# office\n"
        "Allow from 10.0.0.1\n</IfDefine>\n</Location>\n"
    )
    assert text_after(tmp_path, conf) == (
        "<Location /a>\n<IfDefine !X>\n    Require all denied\n</IfDefine>\n"
        "<IfDefine X>\n# office\nRequire ip 10.0.0.1\n</IfDefine>\n</Location>\n"
    )


def test_both_cases_of_a_name_take_their_own_lines(tmp_path: Path) -> None:
    conf = (
        f"<Location /a>\n{USER}<IfDefine X>\nOrder deny,allow\nDeny from all\n"
        "Allow from 10.0.0.1\n</IfDefine>\n"
        "<IfDefine !X>\nOrder allow,deny\nAllow from all\nRequire valid-user\n</IfDefine>\n</Location>\n"
    )
    assert text_after(tmp_path, conf) == (
        f"<Location /a>\n{USER}<IfDefine X>\nRequire ip 10.0.0.1\n</IfDefine>\n"
        "<IfDefine !X>\nRequire valid-user\n</IfDefine>\n</Location>\n"
    )


def test_a_negated_module_and_its_identifier_are_one_condition(tmp_path: Path) -> None:
    conf = (
        "<Location /a>\nOrder deny,allow\nDeny from all\n<IfModule !mod_ssl.c>\nAllow from 10\n</IfModule>\n"
        "<IfModule ssl_module>\nAllow from 10\n</IfModule>\n</Location>\n"
    )
    result = analyze_access(config_tree(tmp_path, {"conf/httpd.conf": OPEN + conf}))
    assert [tuple(line.args for line in written.control) for written in result.plans.values()] == [("ip 10",)]


def test_a_line_goes_where_both_versions_read_it(tmp_path: Path) -> None:
    # 2.4 skips the branch: without the line outside of it everybody would be let in
    conf = "<Location /a>\n<IfVersion < 2.4>\nOrder deny,allow\nDeny from all\n</IfVersion>\n</Location>\n"
    assert text_after(tmp_path, conf) == "<Location /a>\nRequire all denied\n</Location>\n"


def test_lines_in_a_limit_in_a_branch_keep_condition_and_case(tmp_path: Path) -> None:
    conf = (
        "<Location /b>\n<Limit POST>\n<IfDefine X>\nAuthType Basic\nAuthName x\n"
        "Require valid-user\nOrder deny,allow\nDeny from all\n"
        "Satisfy any\n</IfDefine>\n</Limit>\n</Location>\n"
    )
    assert text_after(tmp_path, conf) == (
        "<Location /b>\n<IfDefine X>\n    AuthType Basic\n    AuthName x\n"
        "    <Limit POST>\n        Require valid-user\n    </Limit>\n"
        "</IfDefine>\n</Location>\n"
    )


def test_a_branch_that_says_the_same_in_both_cases_goes(tmp_path: Path) -> None:
    conf = (
        "<Location /a>\nOrder deny,allow\n<IfDefine X>\nAllow from 10\n</IfDefine>\n"
        "Deny from all\nAllow from 10\n</Location>\n"
    )
    assert text_after(tmp_path, conf).count("If") in (0, 4)
    result = analyze_access(config_tree(tmp_path, {"conf/httpd.conf": MODULES + conf}))
    assert not [chain for chain in result.chains if result.decisions.differs(chain, result.variant_forms)[0]]


@pytest.mark.parametrize(
    "conf",
    [
        "<IfDefine Y>\n<Directory /srv/a>\nOrder allow,deny\nAllow from all\n"
        "<IfDefine Z>\n<IfDefine !X>\nDeny from 10.1\n</IfDefine>\n</IfDefine>\n"
        "</Directory>\n</IfDefine>\n",
        f"<Location /a>\n<IfDefine A>\n{USER}Require valid-user\nSatisfy Any\n"
        "</IfDefine>\nOrder deny,allow\nDeny from all\n</Location>\n"
        "<Location /a/b>\nOrder allow,deny\n<IfDefine B>\nAllow from 10\n</IfDefine>\n</Location>\n",
        f"<Directory /srv>\n<IfDefine A>\n{USER}Require valid-user\n</IfDefine>\n"
        "</Directory>\n<Directory /srv/in>\nOrder deny,allow\nDeny from all\n"
        "<IfDefine !A>\nAllow from 10\n</IfDefine>\n</Directory>\n",
    ],
)
def test_every_combination_decides_as_before_and_a_second_time_changes_nothing(
    tmp_path: Path, conf: str
) -> None:
    result = analyze_access(config_tree(tmp_path, {"conf/httpd.conf": MODULES + conf}))
    assert any(chain.given for chain in result.chains)
    assert not result.left
    assert not [chain for chain in result.chains if result.decisions.differs(chain, result.variant_forms)[0]]
    first = text_after(tmp_path, conf)
    assert text_after(tmp_path, first) == first
