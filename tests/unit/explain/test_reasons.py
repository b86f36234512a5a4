"""The lines that decided: of several lines about one thing the one that httpd's merging leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, explained, side_of, step, texts

from whimbrel.explain.cause import cause_of
from whimbrel.explain.explanation import explain_probe
from whimbrel.verify.probe import Probe, TlsFacts

NESTED = """
<Directory "@ROOT@/htdocs">
    {outer}
</Directory>
<Directory "@ROOT@/htdocs/private">
    {inner}
</Directory>
<Location /private>
    Require all granted
</Location>
"""


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ("ForceType text/x-outer", "ForceType text/x-inner"),
        ("AddType text/x-outer .html", "AddType text/x-inner .html"),
    ],
)
def test_the_line_of_the_inner_section_gave_the_type(tmp_path: Path, outer: str, inner: str) -> None:
    side = side_of(tmp_path, CONF + NESTED.format(outer=outer, inner=inner))
    (tmp_path / "htdocs/private/.htaccess").write_text("")
    found = step(explained(side, "/private/x.html"), "header", "Content-Type")
    assert found.result == "text/x-inner"
    assert texts(found) == [inner]


def test_the_inner_handler_answers(tmp_path: Path) -> None:
    loads = "LoadModule status_module modules/mod_status.so\nLoadModule info_module modules/mod_info.so\n"
    more = NESTED.format(outer="SetHandler server-info", inner="SetHandler server-status")
    cause = cause_of(explained(side_of(tmp_path, loads + CONF + more), "/private/x.html"))
    assert [line.text for line in cause.lines] == ["SetHandler server-status"]
    assert cause.sentence == "mod_status answers"


@pytest.mark.parametrize(
    ("outer", "inner", "deciding"),
    [
        ("Options +Indexes", "Options +FollowSymLinks", "Options +Indexes"),
        ("Options Indexes", "Options FollowSymLinks Indexes", "Options FollowSymLinks Indexes"),
        ("Options None", "Options +Indexes", "Options +Indexes"),
        ("Options All", "Options -ExecCGI", "Options All"),
    ],
)
def test_the_options_line_that_decides_about_listings(
    tmp_path: Path, outer: str, inner: str, deciding: str
) -> None:
    loads = "LoadModule autoindex_module modules/mod_autoindex.so\n"
    found = explained(side_of(tmp_path, loads + CONF + NESTED.format(outer=outer, inner=inner)), "/private/")
    assert found.status == 200
    assert texts(step(found, "handler", "mod_autoindex")) == [deciding]
    assert texts(step(found, "header", "Content-Type")) == []


def test_the_error_document_of_the_inner_section(tmp_path: Path) -> None:
    more = NESTED.format(outer='ErrorDocument 404 "outer"', inner='ErrorDocument 404 "inner"')
    found = explained(side_of(tmp_path, CONF + more), "/private/none")
    assert found.status == 404
    assert texts(step(found, "response")) == ['ErrorDocument 404 "inner"']


@pytest.mark.parametrize(
    ("is_tls", "deciding"), [(False, ["SSLRequireSSL"]), (True, ['SSLRequire %{REMOTE_ADDR} == "10.0.0.1"'])]
)
def test_the_ssl_line_that_refused_is_named_alone(tmp_path: Path, is_tls: bool, deciding: list[str]) -> None:
    """SSLRequireSSL holds for a connection with TLS (mod_ssl, SSLRequireSSL); SSLMutex decides nothing."""
    more = (
        "LoadModule ssl_module modules/mod_ssl.so\nSSLRandomSeed startup builtin\n<Location /index.html>\n"
        'SSLRequireSSL\nSSLRequire %{REMOTE_ADDR} == "10.0.0.1"\n</Location>\n'
    )
    side = side_of(tmp_path, CONF + more)
    probe = Probe("/index.html", host="q", tls=TlsFacts() if is_tls else None)
    found = explain_probe(side, probe)
    cause = cause_of(found)
    assert (found.status, [line.text for line in cause.lines]) == (403, deciding)


@pytest.mark.parametrize(
    ("word", "status"), [("off", 200), ("300", 300), ("permanent", 301), ("on", 302), ("308", 308)]
)
def test_the_line_that_redirects_to_the_index_is_named(tmp_path: Path, word: str, status: int) -> None:
    """DirectoryIndexRedirect takes each status of redirects (mod_dir)."""
    redirect = f"DirectoryIndexRedirect {word}"
    more = NESTED.format(outer=redirect, inner="DirectoryIndex x.html")
    found = explained(side_of(tmp_path, CONF + more), "/private/")
    assert found.status == status
    lines = ["DirectoryIndex x.html"] if word == "off" else ["DirectoryIndex x.html", redirect]
    assert texts(step(found, "fix-ups", "mod_dir")) == lines
    # the type of a redirect is that of its page, which no line gives
    types = [one for one in found.all() if (one.kind, one.what) == ("header", "Content-Type")]
    assert bool(types) is (status == 200)
