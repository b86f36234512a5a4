"""Conditions whose sub-requests wait for a password check get apache2's decisions, wherever they stand."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.differential.exchange import Request, exchange
from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.site import GeneratedSite, ServerProcess, date, documents

BCRYPT = "alice:$2y$04$Bw3atEhJwYkNMFSbopJHbe.cdDFmzXOpQWjVmfsc2Dr5xpdiKfjK6\n"  # curlew
TEST = "-U '/secret/a.txt'"
USES = {
    "If": f'<If "{TEST}">\nHeader set X-If yes\n</If>',
    "A": "<If \"-A '/secret/a.txt'\">\nHeader set X-If yes\n</If>",
    "ElseIf": f'<If "false">\n</If>\n<ElseIf "{TEST}">\nHeader set X-If yes\n</ElseIf>',
    "Require": f"Require expr {TEST}",
    "Header": f'Header always set X-Test yes "expr={TEST}"',
    "RequestHeader": f'RequestHeader set X-T yes "expr={TEST}"\nHeader set X-Saw "expr=%{{req:X-T}}"',
    "SetEnvIfExpr": f'SetEnvIfExpr "{TEST}" hit\nHeader always set X-Hit %{{hit}}e env=hit',
    "RewriteCond": f'RewriteEngine on\nRewriteCond expr "{TEST}"\nRewriteRule ^ - [E=hit:1]\n'
    "Header set X-Hit %{hit}e",
    "RewriteCond -U": "RewriteEngine on\nRewriteCond /secret/a.txt -U\nRewriteRule ^ - [E=hit:1]\n"
    "Header set X-Hit %{hit}e",
    "ErrorDocument": 'ErrorDocument 404 "%{base64:x}%{unescape:y}"\n'
    f'<If "{TEST}">\nErrorDocument 404 "may"\n</If>',
    "filter": f'FilterDeclare sub CONTENT_SET\nFilterProvider sub INCLUDES "{TEST}"\nFilterChain sub',
}
PAGE = "<!--#if expr=\"-A '/secret/a.txt'\" -->may<!--#else -->may not<!--#endif -->\n"
LEGACY = '<!--#if expr="-A /secret/a.txt" -->may<!--#else -->may not<!--#endif -->\n'
USERS = ("", "alice:curlew", "alice:wrong")
PATHS = ("/a.txt", "/dir/missing", "/dir/")


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    if not APACHE.present:
        pytest.skip("no apache2 on this machine: nothing to compare with")
    with tempfile.TemporaryDirectory(prefix="whimbrel-diff-") as folder:
        Path(folder).chmod(0o755)
        path = Path(folder, "site")
        documents(path)
        secret = path / "htdocs" / "secret"
        secret.mkdir()
        (secret / "a.txt").write_text("secret\n")
        (path / "bcrypt").write_text(BCRYPT)
        (path / "htdocs" / "page.shtml").write_text(PAGE)
        (path / "htdocs" / "legacy").mkdir()
        (path / "htdocs" / "legacy" / "page.shtml").write_text(LEGACY)
        date(path)
        yield path


def _site(body: str) -> GeneratedSite:
    return GeneratedSite(
        "LoadModule filter_module /usr/lib/apache2/modules/mod_filter.so\n"
        '<Directory "%ROOT%">\nRequire all granted\nOptions +Includes\n</Directory>\n'
        '<Directory "%ROOT%/secret">\nAuthType Basic\nAuthName x\nAuthUserFile "%BASE%/bcrypt"\n'
        "Require valid-user\n</Directory>\n"
        "AddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\n"
        f'<Directory "%ROOT%/legacy">\nSSILegacyExprParser on\n</Directory>\n{body}\n'
    )


def check_same(root: Path, body: str, paths: tuple[str, ...]) -> None:
    with ExitStack() as stack:
        site = _site(body)
        one, other = (stack.enter_context(ServerProcess(p, site, root)) for p in (APACHE, WHIMBREL))
        assert (one.started, other.started) == (True, True), other.output
        for path in paths:
            for user in USERS:
                request = Request(path, user=user)
                assert exchange(other.port, request) == exchange(one.port, request), (path, user, site.conf)
        assert "Traceback" not in other.output


@pytest.mark.parametrize("use", USES)
def test_conditions(root: Path, use: str) -> None:
    check_same(root, f'<Directory "%ROOT%">\n{USES[use]}\n</Directory>', PATHS)


def test_pages(root: Path) -> None:
    check_same(root, "", ("/page.shtml", "/legacy/page.shtml"))


def test_logs(root: Path) -> None:
    """A condition of a log is evaluated after the response."""
    lines = []
    for program in (APACHE, WHIMBREL):
        log = root.parent / f"{program.name}.log"
        site = _site(f'LogFormat "%U %u" short\nCustomLog "{log}" short "expr={TEST}"')
        with ServerProcess(program, site, root) as server:
            assert server.started, server.output
            for user in USERS:
                exchange(server.port, Request("/a.txt", user=user))
        lines.append(log.read_text())
    assert lines[0] == lines[1]
    assert lines[0].count("\n") == 1
