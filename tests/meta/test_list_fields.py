"""Fields that are lists are read in all their lines, not in the first one alone (RFC 9110, 5.3)."""

from __future__ import annotations

import ast

import pytest

from tests.meta.tree import PACKAGE, sources, walk

LISTS = frozenset(
    "accept accept-charset accept-encoding accept-language accept-ranges allow cache-control connection "
    "content-encoding content-language expect forwarded if-match if-none-match keep-alive link pragma "
    "proxy-authenticate te trailer transfer-encoding upgrade vary via warning www-authenticate "
    "x-forwarded-for".split()
)
# files with `get` of other tables, or of tables whose names are known to be unique
OTHER_TABLES = frozenset(
    (
        "engine/log/error_log_format.py",
        "modules/proxy/mod_proxy_http/request_body.py",
        "modules/proxy/mod_proxy_http/response_head.py",
        "http/client/response_reader.py",
    )
)


def single_reads(tree: ast.Module) -> list[int]:
    """Return the lines of calls `get("NAME")` for a field that is a list."""
    return [
        node.lineno
        for node in walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and str(node.args[0].value).lower() in LISTS
    ]


@pytest.mark.parametrize("package", ["engine", "http", "modules", "server", "backends", "verify", "replay"])
def test_lists_are_read_in_all_their_lines(package: str) -> None:
    found = [
        f"{name}:{line}"
        for source in sources(f"src/whimbrel/{package}")
        if (name := source.path.relative_to(PACKAGE).as_posix()) not in OTHER_TABLES
        for line in single_reads(source.tree)
    ]
    assert not found, "read with get_list: " + ", ".join(found)


def test_the_first_line_alone_is_noticed() -> None:
    assert single_reads(ast.parse('x = r.headers_out.get("Vary")\ny = r.headers_out.get_list("Vary")\n')) == [
        1
    ]
