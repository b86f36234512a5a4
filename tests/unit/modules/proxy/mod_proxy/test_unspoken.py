"""Back ends of mod_proxy_ftp, which Whimbrel does not speak: a mapping stops the start."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import MODULES, AccessSite

from whimbrel.base.errors import StartError

LOADED = MODULES["2.4"] + " proxy proxy_ftp"


def test_a_mapping_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="ProxyPass /f ftp://127.0.0.1/: .* are not supported"):
        AccessSite(tmp_path, "ProxyPass /f ftp://127.0.0.1/\n", modules=LOADED)


def test_directives_alone_do_not(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, "ProxyFtpListOnWildcard on\n", modules=LOADED)
    assert site.status() == 200
