"""File names of FastCGI applications (mod_proxy_fcgi.c, fix_cgivars), and the directive that chooses them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from tests.support.proxy_site import MODULES, ProxySite

from whimbrel.base.errors import ConfigError
from whimbrel.engine.request import Request
from whimbrel.modules.proxy.mod_proxy_fcgi.environment import _strip_prefix
from whimbrel.modules.proxy.mod_proxy_fcgi.settings import FcgiDirConfig


@pytest.mark.parametrize(
    ("name", "args", "generic", "fpm"),
    [
        ("proxy:fcgi://h:1/srv/x", "a", "/srv/x", "proxy:fcgi://h:1/srv/x"),
        ("proxy:fcgi://h:1/srv/x?a", "a", "/srv/x", "proxy:fcgi://h:1/srv/x?a"),
        ("proxy:fcgi://h:1/srv/x?b", "a", "/srv/x?b", "proxy:fcgi://h:1/srv/x?b"),
        ("proxy:fcgi://h:1/srv/xa", "a", "/srv/xa", "proxy:fcgi://h:1/srv/xa"),
        ("proxy:fcgi://h:1/srv/x?", "", "/srv/x?", "proxy:fcgi://h:1/srv/x?"),
        ("proxy:fcgi://h:1/srv/x?", None, "/srv/x?", "proxy:fcgi://h:1/srv/x?"),
        ("proxy:balancer://cl/srv/x?a", "a", "/srv/x", "/srv/x?a"),
        ("proxy:fcgi://h", None, None, "proxy:fcgi://h"),
        ("/srv/x?a", "a", "/srv/x?a", "/srv/x?a"),
        (None, "a", None, None),
    ],
)
def test_the_file_name_of_an_application(
    name: str | None, args: str | None, generic: str | None, fpm: str | None
) -> None:
    """Of a generic one the name has no host and no query; FPM takes it as it is, but for a balancer."""
    for is_generic, expected in ((True, generic), (False, fpm)):
        r = SimpleNamespace(filename=name, args=args)
        _strip_prefix(cast("Request", r), is_generic)
        assert r.filename == expected


def test_the_type_of_a_back_end_is_one_of_two(tmp_path: Path) -> None:
    """The message is that of apache2 -t 2.4.71."""
    load = f"{MODULES['2.4']} proxy_fcgi"
    for word, is_generic in (("GENERIC", True), ("fpm", False)):
        site = ProxySite(tmp_path / word, f"ProxyFCGIBackendType {word}\n", modules=load)
        assert site.engine.main.defaults.record(FcgiDirConfig).is_generic is is_generic
    with pytest.raises(ConfigError, match="requires one of the following arguments: 'GENERIC', 'FPM'"):
        ProxySite(tmp_path / "x", "ProxyFCGIBackendType x\n", modules=load)
