"""Canonical URLs of HTTP back ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.proxy_server import ProxyServer, echo, run

from whimbrel.modules.proxy.mod_proxy_http.canonical import BadAuthority, split_authority


@pytest.mark.parametrize(
    ("rest", "parts"),
    [
        ("//Host/a/b", ("host", 0, "a/b")),
        ("//u:p@h:81", ("h", 81, "")),
        ("//[::1]:8/x", ("::1", 8, "x")),
        ("/h", "Malformed URL"),
        ("//h:0/", "Invalid host/port"),
        ("//123/", "Invalid host/port"),
        ("//u%x:p@h/", "Bad %-escape in URL (username)"),
    ],
)
def test_authority(rest: str, parts: object) -> None:
    if isinstance(parts, str):
        with pytest.raises(BadAuthority) as caught:
            split_authority(rest)
        assert str(caught.value) == parts
    else:
        assert split_authority(rest) == parts


@pytest.mark.parametrize(
    ("rest", "shown"),
    [
        ("/h/p", "/h/p"),
        ("//h:0/p?q", "//h:0"),
        ("//u@h:0/p", "//u"),
        ("//u:p@h:0/p", "//u"),
        ("//u:%@h/p", "//u"),
    ],
)
def test_the_log_shows_what_httpd_has_not_cut(rest: str, shown: str) -> None:
    with pytest.raises(BadAuthority) as caught:
        split_authority(rest)
    assert caught.value.rest == shown


def test_paths_are_encoded_and_queries_kept(tmp_path: Path) -> None:
    async def use(server: ProxyServer) -> str:
        await server.get("/a%20b/%7e?x=%20&y")
        return server.heads[0].partition("\r\n")[0]

    assert run(tmp_path, echo, use) == "GET /a%20b/~?x=%20&y HTTP/1.1"
