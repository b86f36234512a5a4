"""Fixtures and options of the pytest plugin; all else is imported when a test requests a fixture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from whimbrel.pytest_plugin.tested_site import HtaccessSites, HttpdSites, Sites


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of pytest.ini."""
    parser.addini("whimbrel_conf", "Configuration of httpd() without a path, below the root directory.")
    parser.addini("whimbrel_dialect", "Version of httpd that answers: 2.4, 2.2 or guide.", default="2.4")
    parser.addini("whimbrel_envvars", "File of shell variables for ${NAME}, below the root directory.")


@pytest.fixture(scope="session")
def _whimbrel_sites(pytestconfig: pytest.Config) -> Iterator[Sites]:
    """The sites of this session; servers that run end with it."""
    from whimbrel.pytest_plugin.tested_site import Defaults, Sites

    defaults = Defaults(
        pytestconfig.rootpath,
        pytestconfig.getini("whimbrel_conf"),
        pytestconfig.getini("whimbrel_dialect"),
        pytestconfig.getini("whimbrel_envvars"),
    )
    sites = Sites(defaults)
    try:
        yield sites
    finally:
        sites.close()


@pytest.fixture(scope="session")
def httpd(_whimbrel_sites: Sites) -> HttpdSites:
    """Load a configuration of httpd: httpd("httpd.conf").get("/old/x").redirects_to("/new/x")."""
    from whimbrel.pytest_plugin.tested_site import HttpdSites

    return HttpdSites(_whimbrel_sites)


@pytest.fixture(scope="session")
def htaccess(_whimbrel_sites: Sites) -> HtaccessSites:
    """Load a .htaccess file, whose directory is served: htaccess("shop/.htaccess", at="/shop/")."""
    from whimbrel.pytest_plugin.tested_site import HtaccessSites

    return HtaccessSites(_whimbrel_sites)
