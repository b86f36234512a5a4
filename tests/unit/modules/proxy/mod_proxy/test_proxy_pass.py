"""ProxyPass. Expected URLs are those that httpd 2.4.71 asks its back end for."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.proxy_site import ProxySite

from whimbrel.base.regex import compile_regex
from whimbrel.modules.proxy.mod_proxy.proxy_pass import interpolate, map_path, match_servlet
from whimbrel.modules.proxy.mod_proxy.settings import ProxyAlias

CONF = """
SetEnvIf X-Var (.*) var=$1
SetEnvIf X-No . no-proxy
ProxyPass /nc/ http://b/nc/ nocanon
ProxyPass /a/no/ !
ProxyPass /a/ http://b/b/
ProxyPass /e http://b/e mapping=encoded
ProxyPass /sv http://b/sv mapping=servlet
ProxyPass /sw/ http://b/sw/ mapping=servlet
ProxyPassMatch ^/m/(x.*)$ http://b/mm/$1
ProxyPassMatch ^/mx/ http://b/mx
ProxyPassMatch ^/mn/(.*)$ http://b/mn/$1 nocanon
ProxyPass /ns http://b/ns/
ProxyPass /sl/ http://b/sl
ProxyPassInterpolateEnv On
ProxyPass /i/ http://b/i/${var}/ interpolate
<Location /loc/>
    ProxyPass http://b/l/
</Location>
<Location /loc/no/>
    ProxyPass !
</Location>
<LocationMatch "^/lm(.*)">
    ProxyPass http://b/lm$1
</LocationMatch>
RewriteEngine On
RewriteRule ^/rw/(.*) http://b/rw/$1 [P]
<Proxy http://b/b/secret>
    Require all denied
</Proxy>
<ProxyMatch "^http://[^/]*/b/s[0-9]">
    Require all denied
</ProxyMatch>
"""


@pytest.fixture(name="site", scope="module")
def make_site(tmp_path_factory: pytest.TempPathFactory) -> ProxySite:
    return ProxySite(tmp_path_factory.mktemp("site"), CONF)


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("/a", "404"),
        ("/a/", "/b/"),
        ("/a/x/y.gif?q=1", "/b/x/y.gif?q=1"),
        ("/ax", "404"),
        ("//a//x", "/b/x"),
        ("/a/no/x", "404"),
        ("/a/n%6f/x", "404"),
        ("/a/%20x", "/b/%20x"),
        ("/a/%41~x", "/b/A~x"),
        ("/a/x%25y", "/b/x%25y"),
        ("/a/x;p=1", "/b/x;p=1"),
        ("/a/x%2fy", "404"),
        ("/a/x/../y", "/b/y"),
        ("/nc/%20x?q", "/nc/%20x?q"),
        ("/nc//x", "/nc/x"),
        ("/%6ec/x", "/nc/x"),
        ("/e/%20x?q", "/e/%20x?q"),
        ("/e/../e/x", "/e/x"),
        ("/%65/x", "/e/x"),
        ("/sv;a=1/x;b=2/y?q", "/sv;a=1/x;b=2/y?q"),
        ("/sv/x/../y", "/sv/y"),
        ("/svx", "404"),
        ("/sw", "404"),
        ("/m/x1", "/mm/x1"),
        ("/m/y", "404"),
        ("/mx/abc?q", "/mx/mx/abc?q"),
        ("/mn/%20x?y=%20", "/mn/%20x?y=%20"),
        ("/ns/x", "/ns//x"),
        ("/sl/x", "/slx"),
        ("/loc/x", "/l/x"),
        ("/loc/no/x", "404"),
        ("/lmfoo/bar?x", "/lmfoo/bar?x"),
        ("/rw/x%20y?q=1", "/rw/x%20y?q=1"),
        ("/a/secret/x", "403"),
        ("/a/s3", "403"),
    ],
)
def test_urls(site: ProxySite, path: str, url: str) -> None:
    assert site.url(path).removeprefix("http://b") == url


def test_variables(site: ProxySite) -> None:
    assert site.url("/i/x", headers="X-Var: v\r\n") == "http://b/i/v/x"
    assert site.url("/i/x", headers="X-Var: w\r\n") == "http://b/i/w/x"
    assert site.url("/a/x", headers="X-No: 1\r\n") == "404"


def test_repeated_requests_are_prepared(site: ProxySite) -> None:
    for _ in range(5):
        assert site.url("/a/again?x=1") == "http://b/b/again?x=1"
        assert site.url("/a/again?x=2") == "http://b/b/again?x=2"


def test_2_2_has_one_list_of_mappings(tmp_path: Path) -> None:
    conf = (
        "ProxyPass /loc/x http://b/first\n<Location /loc/>\nProxyPass http://b/second/\n</Location>\n"
        "ProxyPassMatch ^/amp/(.*) http://b/$1?a=&\n"
    )
    site = ProxySite(tmp_path, conf, "2.2")
    assert site.url("/loc/x") == "http://b/first"
    assert site.url("/loc/y") == "http://b/second/y"


@pytest.mark.parametrize("more", ["", "RewriteEngine On\n"])
@pytest.mark.parametrize("mapping", ["encoded", "servlet"])
def test_mappings_before_decoding_alone(tmp_path: Path, mapping: str, more: str) -> None:
    site = ProxySite(tmp_path, f"{more}ProxyPass /e http://b/e mapping={mapping}\n")
    assert site.url("/e/x?q") == "http://b/e/x?q"
    assert site.url("/e") == "http://b/e"
    assert site.url("/f") == "404"


@pytest.mark.parametrize(
    ("path", "alias", "expected"),
    [
        ("/a/b", "/a", (2, "/a/b")),
        ("/a;p=1/b", "/a", (2, "/a/b")),
        ("/a;p=1/b", "/a/", (7, "/a/b")),
        ("/a/./b", "/a/", (5, "/a/b")),
        ("/x/../a/b", "/a", (7, "/a/b")),
        ("//a//b", "/a/", (5, "/a/b")),
        # what apache2 2.4.71 sent to its back end behind the alias
        ("/dec/;/admin", "/dec/", (5, "/dec/admin")),
        ("/dec/;x/admin", "/dec/", (5, "/dec/admin")),
        ("/dec;x/;y/admin", "/dec/", (7, "/dec/admin")),
        ("/dec/.;x/admin", "/dec/", (5, "/dec/admin")),
        ("/dec//;x/b", "/dec/", (6, "/dec/b")),
        ("/app/;/admin", "/app", (4, "/app/admin")),
        ("/dec/a/..;/;/b", "/dec/", (13, "/dec/b")),
        ("/a", "/a/", None),
        ("/a/", "/a", (2, "/a/")),
        ("/ab", "/a", None),
        ("/../a", "/a", None),
        ("a", "/a", None),
    ],
)
def test_servlet_paths(path: str, alias: str, expected: tuple[int, str] | None) -> None:
    assert match_servlet(path, alias) == expected


def test_an_unsafe_nocanon_is_ignored() -> None:
    mapped = map_path(ProxyAlias("/a/", "http://b/", nocanon=True), "/a/x", "/%61/x")
    assert mapped is not None and mapped.is_mismatched and mapped.url == "http://b/x"
    regex = compile_regex("^/a/(.*)")
    mapped = map_path(ProxyAlias("^/a/(.*)", "http://b/$1", regex, nocanon=True), "/a/x", "/%61/x")
    assert mapped is not None and mapped.is_mismatched and mapped.url == "http://b/x"


def test_interpolation() -> None:
    assert interpolate("a${b}c${d}${e", {"b": "1"}) == "a1c${e"


@pytest.mark.parametrize(("version", "url"), [("2.4", "http://b/%E4%20x?q"), ("2.2", "http://b/%e4%20x?q")])
def test_rules_of_a_directory_run_before_the_canonical_form_is_made(
    tmp_path: Path, version: str, url: str
) -> None:
    """Recorded from httpd 2.4.71; 2.2 escapes the URL in mod_rewrite."""
    conf = (
        '<Directory "@DOCROOT@">\nOptions FollowSymLinks\nRewriteEngine On\n'
        "RewriteRule ^r/(.*) http://b/$1 [P]\nRewriteRule ^raw/(.*) http://b/$1 [P,NE]\n</Directory>\n"
    )
    site = ProxySite(tmp_path, conf, version)
    assert site.url("/r/%e4%20x?q") == url
    assert site.url("/raw/%e4x?q") == "http://b/\xe4x?q"
