"""Authorization within requests: sub-requests of conditions and of pages get apache2's decisions."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.differential.exchange import Request, exchange
from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.site import GeneratedSite, ServerProcess, documents

OPERANDS = ("/dir/b.txt", "/dir/missing", "/dir/sub/c.txt", "b.txt", "/a.txt", "/list/")
USES = (
    '<If "{test}">\nRequire all denied\n</If>',
    "Require expr {test}",
    "<RequireAll>\nRequire all granted\nRequire not expr {test}\n</RequireAll>",
    'Header always set X-Test yes "expr={test}"',
    'SetEnvIfExpr "{test}" hit\nHeader always set X-Hit %{{hit}}e env=hit',
    '<If "%{{IS_SUBREQ}} == \'true\'">\nRequire all denied\n</If>\nHeader always set X-T yes "expr={test}"',
    'Require expr %{{REQUEST_URI}} !~ /sub|missing/\nHeader always set X-Test yes "expr={test}"',
)
PATHS = ("/dir/b.txt", "/dir/missing", "/dir/", "/dir/sub/c.txt", "/a.txt", "/list/")
CASES = [(use, f"-{operator} '{operand}'") for use in USES for operator in "UF" for operand in OPERANDS]


def _site(use: str, test: str) -> GeneratedSite:
    body = use.format(test=test.replace("-F '/", "-F '%ROOT%/"))
    return GeneratedSite(
        f'<Directory "%ROOT%">\nRequire all granted\n</Directory>\n'
        f'<Directory "%ROOT%/dir">\n{body}\n</Directory>\n'
    )


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    if not APACHE.present:
        pytest.skip("no apache2 on this machine: nothing to compare with")
    with tempfile.TemporaryDirectory(prefix="whimbrel-diff-") as folder:
        Path(folder).chmod(0o755)
        path = Path(folder, "site")
        documents(path)
        yield path


@pytest.mark.parametrize(("use", "test"), CASES[::7])
def test_conditions_about_urls_and_files(root: Path, use: str, test: str) -> None:
    with ExitStack() as stack:
        site = _site(use, test)
        one, other = (stack.enter_context(ServerProcess(p, site, root)) for p in (APACHE, WHIMBREL))
        assert (one.started, other.started) == (True, True), other.output
        for path in PATHS:
            request = Request(path)
            assert exchange(other.port, request) == exchange(one.port, request), (path, site.conf)
