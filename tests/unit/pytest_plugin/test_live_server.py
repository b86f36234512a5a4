"""Live servers of the pytest plugin: started on free ports, answering as in process, ended at the end."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from whimbrel.api import RequestError, Site, load
from whimbrel.api.requests import Request
from whimbrel.pytest_plugin.live_server import LiveServer, ServerNotStarted
from whimbrel.pytest_plugin.tested_site import Defaults, HtaccessSites, HttpdSites, Sites

MODULES = "mpm_event alias authn_core authn_file authz_core authz_host authz_user auth_basic unixd".split()
CONF = """Listen 80
Listen 81
ServerName www.example.com
DocumentRoot "@ROOT@/htdocs"
Redirect permanent /old http://www.example.com/new
<Directory "@ROOT@/htdocs">
    Require all granted
</Directory>
<Location /near>
    Require ip 127.0.0.7
</Location>
<Location /members>
    AuthType Basic
    AuthName members
    AuthUserFile "@ROOT@/users"
    Require valid-user
</Location>
"""


@pytest.fixture(scope="module")
def conf() -> Iterator[Path]:
    """The main file of a site that any user may read."""
    with tempfile.TemporaryDirectory(prefix="whimbrel-live-") as directory:
        root = Path(directory)
        root.chmod(0o755)
        (root / "htdocs").mkdir()
        (root / "htdocs/page.txt").write_text("hello\n")
        # {SHA} of "secret", as htpasswd -s writes it
        (root / "users").write_text("robin:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n")
        loads = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in MODULES)
        file = root / "httpd.conf"
        file.write_text(loads + CONF.replace("@ROOT@", str(root)))
        yield file


def refuses(port: int) -> bool:
    """Return True if nothing listens to *port*."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_a_live_server_answers_and_ends(conf: Path) -> None:
    sites = Sites(Defaults(conf.parent))
    try:
        site = HttpdSites(sites)("httpd.conf", live=True)
        assert site.server is not None and [*site.server.ports] == [80, 81]
        assert HttpdSites(sites)("httpd.conf", live=True).server is site.server
        site.get("/old/x").redirects_to("/new/x").has_status(301)
        site.get("/page.txt").serves("htdocs/page.txt").has_header("Content-Length", "6")
        site.get("http://www.example.com:81/page.txt").has_status(200)
        site.get("/near").is_denied()
        site.get("/near", client="127.0.0.7").has_status(404)
        site.get("/members").has_status(401)
        site.get("/members", user="robin", password="secret").has_status(404)
        site.get("/members", user="robin", password="guess").is_denied()
        site.get("/page.txt", headers={"Range": "bytes=0-1"}).has_status(206)
        with pytest.raises(AssertionError, match=r"(?s)expected status 200, got 404.*httpd 2\.4.*because"):
            site.get("/none").has_status(200)
        with pytest.raises(pytest.fail.Exception, match="live requests need a password"):
            site.get("/members", user="robin")
        with pytest.raises(RequestError, match="live requests come from 127"):
            site.server.answer(Request("/", client="192.0.2.1"))
        with pytest.raises(RequestError, match="TLS"):
            site.server.answer(Request("https://a.example/", client="127.0.0.1"))
    finally:
        sites.close()
    assert site.server._process.returncode is not None
    assert all(map(refuses, site.server.ports.values()))


def test_a_htaccess_file_is_served_live(conf: Path) -> None:
    (conf.parent / "htdocs/.htaccess").write_text("Redirect /shop/old /shop/new\nBogus on\n")
    sites = Sites(Defaults(conf.parent))
    try:
        site = HtaccessSites(sites)("htdocs/.htaccess", at="/shop/", live=True)
        with pytest.raises(AssertionError, match=r"(?s)got 500.*Invalid command 'Bogus'"):
            site.get("/shop/page.txt").serves("page.txt")
        (conf.parent / "htdocs/.htaccess").write_text("Redirect /shop/old /shop/new\n")
        site.get("/shop/page.txt").serves("page.txt")
        site.get("/shop/old").redirects_to("/shop/new")
    finally:
        sites.close()
        (conf.parent / "htdocs/.htaccess").unlink()


def test_the_error_of_a_server_that_does_not_start(conf: Path) -> None:
    broken = conf.with_name("broken.conf")
    broken.write_text(conf.read_text())
    site: Site = load(broken)
    assert site.ports == (80, 81)
    broken.write_text(conf.read_text() + "Bogus on\n")
    with pytest.raises(ServerNotStarted, match="Invalid command 'Bogus'"):
        LiveServer(site)
