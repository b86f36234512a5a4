"""Decisions before and after: the new text of a whole configuration decides what the old one decided, by
`access` and by recorded facts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.access_texts import MODULES, USER, text_after
from tests.unit.upgrade.config_trees import config_tree, laid

from whimbrel.base.latin1 import from_system
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.access_control.analysis import analyze_access
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Style, UpgradeOptions
from whimbrel.upgrade.rules import rules_of
from whimbrel.upgrade.source.reading import Sources, read_config_tree


def test_line_ends_comments_and_tabs_stay(tmp_path: Path) -> None:
    conf = (
        "<Location /a>\r\n\t# who\r\n\tOrder deny,allow # first\r\n\tDeny from all\r\n</Location>\r\n"
    ).replace(" # first", "")
    assert text_after(tmp_path, conf) == "<Location /a>\r\n\t# who\r\n\tRequire all denied\r\n</Location>\r\n"


def test_an_auth_type_without_require_gets_one(tmp_path: Path) -> None:
    # 2.2 lets everybody in; 2.4 answers 500, AH01627
    assert (
        text_after(tmp_path, f"<Location /a>\n{USER}</Location>\n")
        == f"<Location /a>\n{USER}Require all granted\n</Location>\n"
    )


def test_a_section_that_differs_from_folder_to_folder_is_repeated(tmp_path: Path) -> None:
    conf = (
        f"DocumentRoot ROOT/htdocs\n<Directory ROOT/htdocs/a>\n{USER}Require valid-user\n"
        "Satisfy Any\nOrder allow,deny\n</Directory>\n"
        f"<Directory ROOT/htdocs/b>\n{USER}Require user bob\n</Directory>\n"
        "<Files x.html>\nOrder deny,allow\nDeny from all\nAllow from 10\n</Files>\n"
    )
    laid(tmp_path, {"htdocs/a/x.html": "", "htdocs/b/x.html": ""})
    after = text_after(tmp_path, conf)
    assert after.count("<Files x.html>") == 3  # in a, in b, and for a file of this name that may come
    assert "<Files x.html>" in after.partition("<Directory")[2].rpartition("</Directory>")[0]


def test_both_versions_are_served_where_that_is_asked(tmp_path: Path) -> None:
    after = text_after(
        tmp_path,
        "<Location /a>\nOrder deny,allow\nDeny from all\n</Location>\n",
        UpgradeOptions(also_22=True),
    )
    assert after == (
        "<Location /a>\n<IfModule mod_authz_core.c>\n    Require all denied\n"
        "</IfModule>\n<IfModule !mod_authz_core.c>\n"
        "Order deny,allow\nDeny from all\n</IfModule>\n</Location>\n"
    )


def test_the_least_change_keeps_the_lists_and_takes_out_what_would_drop_them(tmp_path: Path) -> None:
    # recorded: inner sections with Satisfy alone drop the outer Order, Allow, Deny in 2.4 (2.2 403, 2.4 200)
    conf = (
        "<Location /a>\nOrder deny,allow\nDeny from all\n</Location>\n<Location /a/b>\n"
        "Satisfy All\n</Location>\n"
    )
    after = text_after(tmp_path, conf, UpgradeOptions(style=Style.COMPAT))
    assert (
        after == "<Location /a>\nOrder deny,allow\nDeny from all\n</Location>\n<Location /a/b>\n</Location>\n"
    )


@pytest.mark.parametrize(
    "conf",
    [
        "<Location /a>\nOrder allow,deny\nAllow from 10\nDeny from 10.1\n</Location>\n",
        (
            f"<Location /a>\n{USER}Require user bob\nRequire group admin\nSatisfy Any\n"
            "Order deny,allow\nDeny from all\n</Location>\n"
        ),
        f"<Location /a>\n{USER}<Limit POST>\nRequire valid-user\n</Limit>\n"
        "Order deny,allow\nDeny from env=bad\n</Location>\n"
        "<Location /a/b>\nSatisfy Any\n</Location>\n",
    ],
)
def test_every_chain_decides_the_same_and_a_second_time_changes_nothing(tmp_path: Path, conf: str) -> None:
    made = analyze_access(config_tree(tmp_path, {"conf/httpd.conf": MODULES + conf}))
    forms = {unit: written.replacement for unit, written in made.plans.items()}
    assert made.chains
    assert not [chain for chain in made.chains if made.decisions.differs(chain, forms)[0]]
    first = text_after(tmp_path, conf)
    assert text_after(tmp_path, first) == first


def test_a_file_that_2_2_refuses_stays_as_it_is(tmp_path: Path) -> None:
    laid(
        tmp_path,
        {
            "htdocs/.htaccess": "Order deny,allow\nDeny from all\n",
            "conf/httpd.conf": MODULES + "DocumentRoot ROOT/htdocs\n"
            "<Directory ROOT/htdocs>\nAllowOverride AuthConfig\n</Directory>\n",
        },
    )
    read = read_config_tree(
        Sources(options=LoadOptions(server_root=from_system(str(tmp_path)))), UpgradeOptions()
    )
    assert not upgrade(read, rules_of("access")).files


def test_sections_that_a_name_on_the_command_line_brings_count_in_both_cases(tmp_path: Path) -> None:
    conf = (
        f"<IfDefine STAGING>\n<Location />\n{USER}Require user qa\n</Location>\n</IfDefine>\n"
        "<Location /status>\nOrder deny,allow\nDeny from all\nAllow from 10\n</Location>\n"
    )
    files: dict[str, str | bytes] = {"conf/httpd.conf": MODULES + conf}
    made = analyze_access(config_tree(tmp_path, files))
    assert {len(chain.sections) for chain in made.chains if chain.last.pattern == "/status"} == {1, 2}
    assert not [chain for chain in made.chains if made.decisions.differs(chain, made.variant_forms)[0]]
    after = text_after(tmp_path, conf)
    assert after.endswith("<Location /status>\nAuthMerging And\nRequire ip 10\n</Location>\n")
    assert "Require user qa" not in after.partition("</IfDefine>")[2]


def test_contrary_names_on_the_command_line_never_meet(tmp_path: Path) -> None:
    conf = (
        "<IfDefine A>\n<Location /x>\nOrder deny,allow\nDeny from all\n</Location>\n</IfDefine>\n"
        "<IfDefine !A>\n<Location /x>\nOrder allow,deny\nAllow from all\n</Location>\n</IfDefine>\n"
    )
    made = analyze_access(config_tree(tmp_path, {"conf/httpd.conf": MODULES + conf}))
    assert {
        literal.text for chain in made.chains for unit in chain.sections for literal in unit.conditions
    } == {"with -D A", "without -D A"}
    assert max(len(chain.sections) for chain in made.chains) == 1


def test_the_new_lines_stand_where_those_stood_that_named_the_same_clients(tmp_path: Path) -> None:
    conf = (
        "<Location /a>\nOrder deny,allow\nDeny from all\n# the office\n"
        "Allow from 10.1.2.3\nSatisfy All\n</Location>\n"
    )
    assert text_after(tmp_path, conf) == "<Location /a>\n# the office\nRequire ip 10.1.2.3\n</Location>\n"


def test_quotes_around_a_name_of_a_directory_say_nothing(tmp_path: Path) -> None:
    conf = (
        MODULES + "LoadModule authnz_ldap_module modules/mod_authnz_ldap.so\n<Location /a>\n"
        "AuthType Basic\nAuthName x\n"
        'AuthBasicProvider ldap\nAuthLDAPURL ldap://h/o?u\nRequire ldap-user "John Doe"\n'
        "Order deny,allow\nDeny from all\nAllow from 10\n"
        "</Location>\n"
    )
    made = analyze_access(config_tree(tmp_path, {"conf/httpd.conf": conf}))
    assert [written.failing for written in made.plans.values()] == [[]]


def said(root: Path, conf: str) -> list[tuple[str, bool]]:
    result = upgrade(config_tree(root, {"conf/httpd.conf": MODULES + conf}), rules_of("access"))
    return [(finding.message, finding.needs_review) for finding in result.findings]


def test_lines_of_modules_that_nobody_knows_need_review(tmp_path: Path) -> None:
    conf = f"<Location /svn>\n{USER}%sSatisfy Any\nRequire valid-user\n</Location>\n"
    assert [review for _message, review in said(tmp_path, conf % "")] == [False]
    ((message, review),) = said(tmp_path, conf % "AuthzSVNAccessFile /etc/svn\n")
    assert review
    assert "AuthzSVNAccessFile" in message


def test_groups_that_2_2_never_asked_for_are_told(tmp_path: Path) -> None:
    # recorded: mod_authz_user, loaded in front of mod_authz_groupfile, says no to everybody whom Require user
    # does not name
    conf = (
        f"<Location /a>\n{USER}AuthGroupFile conf/groups\nRequire group admins\n"
        "Require user bob\n</Location>\n"
    )
    ((message, review),) = said(tmp_path, conf)
    assert message.endswith("; `Require group admins` had no effect here in 2.2")
    assert not review


def test_each_method_has_the_lines_of_the_module_that_decides_about_it(tmp_path: Path) -> None:
    """Only for PUT does mod_authz_user, loaded in front of mod_authz_groupfile, find a line of its own."""
    conf = (
        f"<Location /a>\n{USER}AuthGroupFile conf/groups\nRequire group admins\n"
        "<Limit PUT>\nRequire user bob\n</Limit>\n</Location>\n"
    )
    for_put = "<RequireAll>\nRequire method PUT\nRequire user bob\n</RequireAll>\n"
    for_others = "<RequireAll>\nRequire not method PUT\nRequire group admins\n</RequireAll>\n"
    after = text_after(tmp_path, conf).replace("    ", "")
    assert for_put in after
    assert for_others in after
    assert not [message for message, _review in said(tmp_path, conf) if "no text of 2.4" in message]


def test_lines_about_users_in_a_limit_are_never_written_twice(tmp_path: Path) -> None:
    conf = (
        "<Location /svn>\n<LimitExcept GET PROPFIND>\n# over TLS\n"
        f"{USER}Require valid-user\n</LimitExcept>\n</Location>\n"
    )
    assert text_after(tmp_path, conf) == conf


def test_a_page_of_a_handler_is_for_addresses_whatever_files_below_it_would_ask(tmp_path: Path) -> None:
    conf = (
        f"<Files secret.html>\n{USER}Require valid-user\n</Files>\n"
        "<Location /server-status>\nSetHandler server-status\nOrder deny,allow\n"
        "Deny from all\nAllow from 10.0.0.1\n</Location>\n"
    )
    assert text_after(tmp_path, conf).endswith(
        "<Location /server-status>\nSetHandler server-status\nRequire ip 10.0.0.1\n</Location>\n"
    )


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_section_is_repeated_for_each_alias_of_a_directory(tmp_path: Path, slash: str) -> None:
    """The section of the alias /own has a decision of its own."""
    conf = (
        f"LoadModule alias_module modules/mod_alias.so\nAlias /own/n/ ROOT/n/\nAlias /n ROOT/n{slash}\n"
        f"Alias /N ROOT/n\n<Directory ROOT/n>\n{USER}Order deny,allow\nDeny from all\n"
        "Allow from 10.0.0.1\nRequire valid-user\n</Directory>\n"
        "<VirtualHost *:80>\nServerName v\nDocumentRoot ROOT/v\n<Location />\n<LimitExcept GET POST>\n"
        "Order deny,allow\nDeny from all\n</LimitExcept>\n</Location>\n"
        f"<Location /own>\n{USER}Require user a\n</Location>\n</VirtualHost>\n"
    )
    after = text_after(tmp_path, conf)
    assert [after.count(f'<Location "{prefix}">') for prefix in ("/n", "/N", "/own/n")] == [1, 1, 0]
