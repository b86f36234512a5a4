"""What a back end with TLS must fulfil: the defaults of 2.2 and 2.4 differ, and each SSLProxy line counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.config.options import LoadOptions
from whimbrel.verify.loading import load_sides
from whimbrel.verify.probe import Probe
from whimbrel.verify.verification import DifferenceGroup
from whimbrel.verify.verify import verify

BASE = (
    "LoadModule proxy_module m/mod_proxy.so\nLoadModule proxy_http_module m/mod_proxy_http.so\n"
    "LoadModule ssl_module m/mod_ssl.so\nListen 8080\nServerName x\nSSLProxyEngine on\n"
    "ProxyPass /app https://127.0.0.1:9443/\n"
)
NEWER = "".join(
    f"LoadModule {name}_module m/mod_{name}.so\n" for name in ("mpm_event", "authz_core", "unixd")
)
UNCHECKED = "SSLProxyCheckPeerExpire off\nSSLProxyCheckPeerCN off\nSSLProxyCheckPeerName off\n"
PART = "demands on the back end"


def differences(root: Path, old: tuple[str, str], new: tuple[str, str]) -> list[DifferenceGroup]:
    """Compare two pairs of dialect and lines; return the differences about back ends."""
    pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")
    (root / "htdocs").mkdir(exist_ok=True)
    (root / "logs").mkdir(exist_ok=True)
    options = []
    for name, (dialect, text) in (("old", old), ("new", new)):
        lines = (NEWER if dialect == "2.4" else "") + BASE + text
        (root / f"{name}.conf").write_text(lines)
        options.append(LoadOptions(server_root=str(root), file=f"{name}.conf"))
    sides = load_sides((options[0], options[1]), (old[0], new[0]), ("old", "new"))
    result = verify(*sides, limit=60)
    assert not any(result.errors), result.errors
    return [group for group in result.groups if PART in group.examples[0].difference.names]


def test_the_defaults_of_the_versions_differ(tmp_path: Path) -> None:
    (group,) = differences(tmp_path, ("2.2", ""), ("2.4", ""))
    assert sorted(line.text.lower() for line in group.cause.new) == [
        "proxypass /app https://127.0.0.1:9443/",
        "sslproxyengine on",
    ]


def test_lines_that_keep_the_checks_of_2_2(tmp_path: Path) -> None:
    assert differences(tmp_path, ("2.2", ""), ("2.4", UNCHECKED)) == []


@pytest.mark.parametrize(
    "line",
    [
        "SSLProxyCheckPeerExpire off",
        "SSLProxyCheckPeerName off",
        "SSLProxyProtocol TLSv1.2",
        "SSLProxyCipherSuite HIGH",
    ],
)
def test_each_line_counts(tmp_path: Path, line: str) -> None:
    (group,) = differences(tmp_path, ("2.4", ""), ("2.4", f"{line}\n"))
    assert [each.text.lower() for each in group.cause.new] == [line.lower()] and group.cause.old == ()


def test_a_back_end_without_tls_demands_nothing(tmp_path: Path) -> None:
    plain = "ProxyPass /plain http://127.0.0.1:9080/\n"
    found = differences(tmp_path, ("2.2", plain), ("2.4", plain + UNCHECKED))
    assert found == []


PAGES = """<Location /status>
SetHandler server-status
</Location>
<Location /info>
SetHandler server-info
</Location>
ErrorDocument 410 "gone for good"
ErrorDocument 404 /private/index.html
ErrorDocument 403 /none
Redirect gone /gone
<Location /no>
Require all denied
</Location>
<Directory "@ROOT@/htdocs/list">
Options +Indexes
</Directory>"""


@pytest.mark.parametrize(
    ("target", "status", "is_built_in"),
    [
        ("/status", 200, True),
        ("/info", 200, True),
        ("/list/", 200, True),
        ("/index.html", 200, False),
        ("/list/a.txt", 200, False),
        ("/private", 301, True),
        ("/gone", 410, False),
        ("/missing", 404, False),
        ("/no", 403, True),
    ],
)
def test_pages_that_the_server_words(tmp_path: Path, target: str, status: int, is_built_in: bool) -> None:
    """Their words belong to the version: listings, reports, errors and redirects without a document."""
    make_root(tmp_path, {"htdocs/list/a.txt": "a"})
    one = side(tmp_path, "one", PAGES, "2.4", "status", "info")
    assert one.is_loaded, one.errors
    answer = one.answer(Probe(target, host="localhost"))
    assert (answer.status, answer.is_built_in) == (status, is_built_in)


@pytest.mark.parametrize("size", [0, 1, 5000, (1 << 20) + 10])
def test_bodies_are_compared_by_length_and_content(tmp_path: Path, size: int) -> None:
    files = {"htdocs/a.txt": "a" * size, "htdocs/b.txt": "a" * size, "htdocs/c.txt": "a" * size + "b"}
    make_root(tmp_path, files)
    one = side(tmp_path, "one", "", "2.4")
    same, equal, other = (one.answer(Probe(f"/{name}.txt", host="localhost")) for name in "abc")
    assert (same.body, same.length) == (equal.body, size)
    assert other.body != same.body and other.length == size + 1
    assert bool(same.body) is bool(size)


def test_lines_of_a_log_have_no_addresses_in_memory(tmp_path: Path) -> None:
    """mod_rewrite logs those of server and request; two runs would differ in each line."""
    make_root(tmp_path)
    rules = "LogLevel warn rewrite:trace3\nRewriteEngine On\nRewriteRule ^/a(.*)$ /b$1\n"
    new = side(tmp_path, "a", rules, "2.4")
    lines = new.answer(Probe("/a%3f", host="localhost")).log
    assert any("[localhost/sid][rid/initial] rewrite '/a?' -> '/b?'" in line for line in lines), lines
    assert new.answer(Probe("/a%3f", host="localhost")).log == lines
