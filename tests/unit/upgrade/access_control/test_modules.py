"""Modules that lines about access speak of."""

from __future__ import annotations

from pathlib import Path

from tests.unit.upgrade.estates import fragments

from whimbrel.access.layers import Line
from whimbrel.upgrade.access_control.modules import implied
from whimbrel.upgrade.passes import upgrade

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
    lines = [Line("authtype", '"Digest"'), Line("authbasicprovider", "DBM ldap other"), Line("require", "File-Owner"), Line("require", "valid-user"),
             Line("limit", "GET", None, (Line("require", "ldap-user bob"), Line("authdbmgroupfile", "g"))), Line("authname", "digest")]
    assert implied([lines[:1], lines[1:]]) == ["auth_digest", "authn_dbm", "authnz_ldap", "authz_owner", "authz_dbm"]


def test_basic_logins_with_files_need_nothing_more() -> None:
    assert implied([[Line("authtype", "Basic"), Line("authuserfile", "u"), Line("require", "user bob"), Line("order", "allow,deny")]]) == []


def test_the_shipped_section_for_dav_is_mended_alone(tmp_path: Path) -> None:
    # recorded: Digest with mod_auth_digest is a challenge in both versions
    found = upgrade(fragments(tmp_path, {"dav.conf": DAV})).findings
    assert [one.rule for one in found if one.rule.startswith(("C1", "C2")) and one.needs_review] == []
    assert [one.rule for one in found if one.edits] == ["C17"]
