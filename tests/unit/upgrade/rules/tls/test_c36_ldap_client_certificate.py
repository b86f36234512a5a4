"""LDAPTrustedClientCert: 2.4 has it in directories alone (mod/mod_ldap.html#ldaptrustedclientcert)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Safety

LINE = "LDAPTrustedClientCert CERT_BASE64 /etc/c.pem\n"
MAIN = "LoadModule ldap_module modules/mod_ldap.so\nListen 80\nDocumentRoot /srv\n"


@pytest.mark.parametrize(
    ("text", "is_moved"),
    [
        (LINE, True),
        (f"<VirtualHost *:80>\n{LINE}</VirtualHost>\n", True),
        (f"<Location /a>\n{LINE}</Location>\n", False),
        (f"<Directory /a>\n{LINE}</Directory>\n", False),
    ],
)
def test_lines_of_servers_are_moved_into_a_section(tmp_path: Path, text: str, is_moved: bool) -> None:
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": MAIN + text}))
    found = [one for one in result.findings if one.rule == "C36"]
    assert [one.safety for one in found] == [Safety.REVIEW] * is_moved
    (data,) = result.files.values()
    written = data.decode()
    assert (f"<Location />\n    {LINE}" in written) is is_moved
