"""AllowCONNECT and the targets of CONNECT; messages are those of apache2 -t and of recordings of 2.2."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.proxy_site import MODULES, ProxySite

from whimbrel.base.errors import ConfigError
from whimbrel.modules.proxy.mod_proxy_connect.handler import split_target
from whimbrel.modules.proxy.mod_proxy_connect.settings import ConnectServerConfig


def site(tmp_path: Path, conf: str, version: str = "2.4") -> ProxySite:
    return ProxySite(tmp_path, conf, version, MODULES[version] + " proxy_connect")


@pytest.mark.parametrize(
    ("version", "words", "message"),
    [
        ("2.4", "x", "AllowCONNECT: port numbers must be numeric"),
        ("2.4", "8000-", "Cannot parse '' as port number"),
        ("2.4", "80x", "Cannot parse '80x' as port number"),
        ("2.4", "80-9x", "Cannot parse '9x' as port number"),
        ("2.2", "x", "AllowCONNECT: port number must be numeric"),
    ],
)
def test_bad_ports(tmp_path: Path, version: str, words: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        site(tmp_path, f"AllowCONNECT {words}\n", version)
    assert message in str(caught.value)


def test_ranges_add_up(tmp_path: Path) -> None:
    server = site(tmp_path, "AllowCONNECT 443 8000-8100\nAllowCONNECT 9000-8000\n").engine.main
    assert server.config(ConnectServerConfig).ports == [(443, 443), (8000, 8100), (9000, 8000)]


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("h:443", ("h", 443)),
        ("[::1]:443", ("::1", 443)),
        ("h:99999", ("h", 99999 - 65536)),
        ("h", None),
        ("h:", None),
        (":443", None),
        ("h:4x", None),
    ],
)
def test_targets(target: str, parts: tuple[str, int] | None) -> None:
    assert split_target(target) == parts
