"""Bodies of requests to HTTP back ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.support.proxy_server import ProxyServer, echo, run
from tests.support.site import load_module_lines

from whimbrel.testing.ports import free_port

BIG = bytes(range(256)) * 1000
PASS = "ProxyPass / http://127.0.0.1:@PORT@/\n"


def chunks(data: bytes, size: int = 7000) -> bytes:
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


@pytest.mark.parametrize(
    ("field", "body", "data", "conf", "framing"),
    [
        ("Content-Length: 3", b"abc", b"abc", "", "Content-Length: 3"),
        ("Content-Length: 256000", BIG, BIG, "", "Content-Length: 256000"),
        ("Transfer-Encoding: chunked", chunks(b"abc"), b"abc", "", "Content-Length: 3"),
        ("Transfer-Encoding: chunked", chunks(BIG), BIG, "", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", chunks(BIG), BIG, "SetEnv proxy-sendcl 1", "Content-Length: 256000"),
        ("Content-Length: 0", b"", b"", "", "Content-Length: 0"),
    ],
)
def test_framing(tmp_path: Path, field: str, body: bytes, data: bytes, conf: str, framing: str) -> None:
    async def use(server: ProxyServer) -> tuple[bytes, str]:
        answer = await server.get("/x", field, method="POST", body=body)
        return answer.partition(b"\r\n\r\n")[2].partition(b"\r\n\r\n")[2], server.heads[0]

    echoed, head = run(tmp_path, echo, use, f"{conf}\n{PASS}")
    assert echoed == data
    assert f"\r\n{framing}\r\n" in head


@pytest.mark.parametrize("version", ["2.2", "2.4"])
@pytest.mark.parametrize("conf", ["", "SetEnv proxy-sendcl 1"])
def test_the_next_member_of_a_balancer_receives_the_whole_body(
    tmp_path: Path, version: str, conf: str
) -> None:
    names = ["proxy_balancer", *(["slotmem_shm", "lbmethod_byrequests"] if version == "2.4" else [])]
    members = f"BalancerMember http://127.0.0.1:{free_port()} loadfactor=9\nBalancerMember http://127.0.0.1:@PORT@\n"
    conf += (
        f"\n{load_module_lines(names)}<Proxy balancer://b>\n{members}</Proxy>\nProxyPass / balancer://b/\n"
    )

    async def by_length(server: ProxyServer) -> bytes:
        return await server.get("/x", "Content-Length: 256000", method="POST", body=BIG)

    async def chunked(server: ProxyServer) -> bytes:
        return await server.get("/x", "Transfer-Encoding: chunked", method="POST", body=chunks(BIG))

    for use in (by_length, chunked):
        assert run(tmp_path, echo, use, conf, version).endswith(BIG)


def test_continue_comes_from_the_back_end(tmp_path: Path) -> None:
    async def use(server: ProxyServer) -> bytes:
        reader, writer = await server.connect()
        writer.write(
            b"POST /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\n"
            b"Content-Length: 1\r\n\r\n"
        )
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert "Expect: 100-continue" in server.heads[0]
        writer.write(b"q")
        answer = await reader.read()
        writer.close()
        return answer

    assert run(tmp_path, echo, use).endswith(b"q")


def test_a_refusal_before_the_body_reaches_the_client(tmp_path: Path) -> None:
    async def refuse(_head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")

    async def use(server: ProxyServer) -> bytes:
        reader, writer = await server.connect()
        writer.write(b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n" + BIG)
        answer = await reader.readuntil(b"no")
        writer.close()
        return answer

    assert run(tmp_path, refuse, use).startswith(b"HTTP/1.1 413 Too Large\r\n")
