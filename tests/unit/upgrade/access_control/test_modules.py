"""Modules that lines about access speak of."""

from __future__ import annotations

from pathlib import Path

from tests.unit.upgrade.config_trees import fragments

from whimbrel.access.layers import AccessLine
from whimbrel.upgrade.access_control.modules import implied
from whimbrel.upgrade.check.fixpoint import upgrade

DAV = """<Directory /var/dav>
    Order Allow,Deny
    Allow from all
    AuthType Digest
    AuthName DAV-upload
    AuthUserFile /etc/passwd.dav
    <LimitExcept GET OPTIONS>
        require user admin
    </LimitExcept>
</Directory>
"""


def test_each_kind_of_line() -> None:
    lines = [
        AccessLine("authtype", '"Digest"'),
        AccessLine("authbasicprovider", "DBM ldap other"),
        AccessLine("require", "File-Owner"),
        AccessLine("require", "valid-user"),
        AccessLine(
            "limit",
            "GET",
            None,
            (AccessLine("require", "ldap-user bob"), AccessLine("authdbmgroupfile", "g")),
        ),
        AccessLine("authname", "digest"),
    ]
    assert implied([lines[:1], lines[1:]]) == [
        "auth_digest",
        "authn_dbm",
        "authnz_ldap",
        "authz_owner",
        "authz_dbm",
    ]


def test_basic_logins_with_files_need_nothing_more() -> None:
    assert (
        implied(
            [
                [
                    AccessLine("authtype", "Basic"),
                    AccessLine("authuserfile", "u"),
                    AccessLine("require", "user bob"),
                    AccessLine("order", "allow,deny"),
                ]
            ]
        )
        == []
    )


def test_the_shipped_section_for_dav_is_mended_alone(tmp_path: Path) -> None:
    # recorded: Digest with mod_auth_digest is a challenge in both versions
    found = upgrade(fragments(tmp_path, {"dav.conf": DAV})).findings
    assert [one.rule for one in found if one.rule.startswith(("C1", "C2")) and one.needs_review] == []
    assert [one.rule for one in found if one.edits] == ["C17"]
