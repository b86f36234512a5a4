"""Server identity, SetHandler and similar: arguments as 2.4.71 and 2.2.34 accepted them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.config.site import Site

from whimbrel.base.dialect import V22
from whimbrel.config.core_config import CoreServerConfig

LINE = "AH00526: Syntax error on line 1 of @/conf/httpd.conf:\n"
TOKENS = "ServerTokens takes 1 argument: 'Prod(uctOnly)', 'Major', 'Minor', 'Min(imal)', 'OS', or 'Full'"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ServerTokens Nope", TOKENS),
        ("ServerSignature bogus", "ServerSignature: use one of: off | on | email"),
        ("UseCanonicalName bogus", "parameter must be 'on', 'off', or 'dns'"),
        ("HostnameLookups maybe", "parameter must be 'on', 'off', or 'double'"),
        ("UseCanonicalPhysicalPort bogus", "parameter must be 'on' or 'off'"),
    ],
)
def test_refused(tmp_path: Path, line: str, reason: str) -> None:
    assert Site(tmp_path, line + "\n").check() == LINE + reason


def test_tokens(tmp_path: Path) -> None:
    assert (
        Site(tmp_path, "ServerTokens ProductOnly\n").load().main.config(CoreServerConfig).server_tokens
        == "prod"
    )
    assert (
        Site(tmp_path, "ServerTokens Nope\n").load(V22).main.config(CoreServerConfig).server_tokens == "full"
    )


def test_administrators(tmp_path: Path) -> None:
    conf = Site(
        tmp_path,
        "ServerAdmin a@b\n<VirtualHost *:80>\n</VirtualHost>\n<VirtualHost *:81>\nServerAdmin "
        "c\n</VirtualHost>\n",
    ).load()
    assert [server.admin for server in conf.servers()] == ["a@b", "a@b", "c"]
