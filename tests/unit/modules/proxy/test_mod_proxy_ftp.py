"""mod_proxy_ftp has no back ends here: a mapping stops the start, the module alone is named at the start."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.engine import build_engine

from whimbrel.base.errors import StartError

BASE = "LoadModule proxy_module m/mod_proxy.so\nLoadModule proxy_ftp_module m/mod_proxy_ftp.so\n"


@pytest.mark.parametrize("lines", ["", "ProxyRequests On\n"])
def test_the_module_is_named_at_the_start(lines: str, tmp_path: Path) -> None:
    configuration = build_engine(tmp_path, BASE + lines).configuration
    texts = [message.text for message in configuration.messages if message.level == "warn"]
    assert any(text.startswith("LoadModule proxy_ftp_module: ") for text in texts)


def test_a_mapping_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="FTP servers"):
        build_engine(tmp_path, BASE + "ProxyPass /f/ ftp://ftp.test/\n")
