"""Connections of scheme handlers: routes, failures, names of addresses."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from tests.support.proxy_server import ProxyServer, answering, echo, run

from whimbrel.modules.proxy.mod_proxy.backend import printed
from whimbrel.testing.ports import free_port

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.mark.parametrize(
    ("address", "text"), [(("127.0.0.1", 80), "127.0.0.1:80"), (("::1", 8), "[::1]:8"), ("/s", "/s:0")]
)
def test_addresses_as_apr_prints_them(address: tuple[str, int] | str, text: str) -> None:
    assert printed(address) == text


def test_connections_are_used_again_unless_the_worker_forbids_it(tmp_path: Path) -> None:
    async def use(server: ProxyServer) -> int:
        for _ in range(4):
            assert (await server.get()).endswith(b"ok")
        return server.accepted

    assert run(tmp_path, answering(OK), use) == 1
    closing = "ProxyPass / http://127.0.0.1:@PORT@/ disablereuse=On\n"
    assert run(tmp_path, answering(OK), use, closing) == 4


@pytest.mark.parametrize(
    ("version", "lines"), [("2.4", ["AH00957", "AH01114"]), ("2.2", ["disabling worker"])]
)
def test_a_back_end_that_is_not_there_is_a_503(tmp_path: Path, version: str, lines: list[str]) -> None:
    async def use(server: ProxyServer) -> tuple[bytes, str]:
        answer = await server.get()
        logs = server.engine.runtime.logs  # type: ignore[attr-defined]
        return answer, b"".join(line for each in logs.values() for line in each).decode()

    answer, log = run(tmp_path, echo, use, f"ProxyPass / http://127.0.0.1:{free_port()}/\n", version)
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert all(line in log for line in lines)


@pytest.mark.parametrize(
    ("section", "path"),
    [
        ("", "/a%2fb"),
        ("<Location /other>\nServerSignature On\n</Location>\n", "/a%2fb"),
        ("<Location />\nServerSignature On\n</Location>\n", "/a%252fb"),
        ("<Proxy *>\nServerSignature On\n</Proxy>\n", "/a%252fb"),
        ("<VirtualHost *>\nProxyPass / http://127.0.0.1:@PORT@/\n</VirtualHost>\n", ""),
    ],
)
def test_encoded_slashes_stay_where_no_section_applies(tmp_path: Path, section: str, path: str) -> None:
    """AllowEncodedSlashes is not merged; recorded from httpd 2.4.71."""

    async def use(server: ProxyServer) -> list[str]:
        await server.get("/a%2fb")
        return [head.split(" ")[1] for head in server.heads]

    conf = f"AllowEncodedSlashes NoDecode\nProxyPass / http://127.0.0.1:@PORT@/\n{section}"
    assert run(tmp_path, answering(OK), use, conf) == ([path] if path else [])


def test_a_line_about_the_connection_names_the_back_end(tmp_path: Path) -> None:
    async def use(server: ProxyServer) -> str:
        await server.get()
        logs = server.engine.runtime.logs  # type: ignore[attr-defined]
        return b"".join(line for each in logs.values() for line in each).decode()

    answer = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\n")
    log = run(tmp_path, answer, use, "LogLevel info\nProxyPass / http://127.0.0.1:@PORT@/\n")
    assert re.search(r"\[http:info\] .*\[remote 127\.0\.0\.1:\d+\] AH01587: Invalid Content-Length", log)


def test_hosts_that_are_blocked_are_refused(tmp_path: Path) -> None:
    async def use(server: ProxyServer) -> tuple[bytes, int]:
        return await server.get(), server.accepted

    conf = "ProxyBlock 127.0.0.1\nProxyPass / http://127.0.0.1:@PORT@/\n"
    answer, accepted = run(tmp_path, echo, use, conf)
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert accepted == 0


def test_requests_of_one_url_go_to_the_sockets_that_their_rules_name(tmp_path: Path) -> None:
    async def use(server: ProxyServer) -> list[bytes]:
        async def socket(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while await reader.read(4096):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 2\r\n\r\nso")

        async with await asyncio.start_unix_server(socket, tmp_path / "S"):
            return [(await server.get(f"/{at}/x"))[-2:] for _ in range(4) for at in "tsh"]

    conf = (
        "LoadModule rewrite_module m/mod_rewrite.so\nProxyPass /t http://127.0.0.1:@PORT@/\n"
        f"RewriteEngine On\nRewriteRule ^/s/(.*) unix:{tmp_path}/S|http://127.0.0.1:@PORT@/$1 [P]\n"
        f'<Location /h>\nSetHandler "proxy:unix:{tmp_path}/S|http://127.0.0.1:@PORT@/"\n</Location>\n'
    )
    assert run(tmp_path, answering(OK), use, conf) == [b"ok", b"so", b"so"] * 4


def test_a_connection_is_logged_with_its_address(tmp_path: Path) -> None:
    """The line of apache2 2.4.71, whose scheme is in lower case."""

    async def use(server: ProxyServer) -> str:
        await server.get()
        logs = server.engine.runtime.logs  # type: ignore[attr-defined]
        return b"".join(line for each in logs.values() for line in each).decode()

    log = run(tmp_path, answering(OK), use, "LogLevel proxy:debug\nProxyPass / http://127.0.0.1:@PORT@/\n")
    found = re.search(
        r"AH02824: (\w+): connection established with (127\.0\.0\.1:\d+) \((127\.0\.0\.1:\d+)\)", log
    )
    assert found is not None and found[1] == "http" and found[2] == found[3]
