"""Heads of requests to HTTP back ends; expected values from apache2 and the recorded cases."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.proxy_server import ProxyServer, echo, run

from whimbrel.base.product import VERSION
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.proxy.mod_proxy_http.request_head import clear_connection

FORWARDED = ["X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: client.example", "X-Forwarded-Server: front"]


def sent(root: Path, *fields: str, conf: str = "", version: str = "2.4", method: str = "GET") -> list[str]:
    """Return the lines of the head that the back end gets; its port is @."""

    async def use(server: ProxyServer) -> list[str]:
        await server.get("/x", *fields, method=method)
        return server.heads[0].replace(str(server.port), "@").split("\r\n")[:-2]

    found: list[str] = run(
        root, echo, use, conf and f"{conf}\nProxyPass / http://127.0.0.1:@PORT@/\n", version
    )
    return found


@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_host_is_the_back_ends_and_the_client_is_named(tmp_path: Path, version: str) -> None:
    assert sent(tmp_path, version=version) == [
        "GET /x HTTP/1.1",
        "Host: 127.0.0.1:@",
        *FORWARDED,
        "Connection: Keep-Alive",
    ]


def test_fields_of_the_connection_stay_here(tmp_path: Path) -> None:
    fields = ("Keep-Alive: 3", "TE: trailers", "Trailer: x", "Upgrade: h2c", "Proxy-Connection: x", "X-A: b")
    assert sent(tmp_path, *fields)[2:] == ["X-A: b", *FORWARDED, "Connection: Keep-Alive"]


def test_fields_that_connection_lists_stay_here() -> None:
    fields = Headers([("Connection", "a b;c, D"), ("A", "1"), ("b", "2"), ("C", "3"), ("d", "4"), ("e", "5")])
    clear_connection(fields, version22=False)
    assert fields.items() == [("e", "5")]


@pytest.mark.parametrize(
    ("conf", "line"),
    [
        ("ProxyPreserveHost On", "Host: client.example"),
        ("ProxyVia On", "Via: 1.1 front"),
        ("ProxyVia Full", f"Via: 1.1 front (Whimbrel/{VERSION})"),
        ("RequestHeader set X-A b", "X-A: b"),
        ("SetEnv proxy-nokeepalive 1", "Connection: close"),
    ],
)
def test_settings_change_the_head(tmp_path: Path, conf: str, line: str) -> None:
    assert line in sent(tmp_path, conf=conf)


def test_no_forwarded_fields(tmp_path: Path) -> None:
    assert sent(tmp_path, conf="ProxyAddHeaders Off")[2:] == ["Connection: Keep-Alive"]


def test_force_proxy_request_1_0(tmp_path: Path) -> None:
    lines = sent(tmp_path, conf="SetEnv force-proxy-request-1.0 1")
    assert lines[0] == "GET /x HTTP/1.0"
    assert not any(line.startswith("Connection") for line in lines)


def test_a_field_that_is_none_is_not_sent(tmp_path: Path) -> None:
    async def use(server: ProxyServer) -> tuple[bytes, list[str]]:
        return await server.get("/x"), server.heads

    conf = 'RequestHeader set "X Y" b\nProxyPass / http://127.0.0.1:@PORT@/\n'
    answer, heads = run(tmp_path, echo, use, conf)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert heads == []
