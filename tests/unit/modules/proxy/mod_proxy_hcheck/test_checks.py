"""Health checks against servers on the loopback. Requests and log lines are those of httpd 2.4.71."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from tests.support.balancers import balancing
from tests.support.tls_backend import TlsBackend

from whimbrel.modules.proxy.mod_proxy.model import define_worker
from whimbrel.modules.proxy.mod_proxy_hcheck.checks import HealthChecker, request_bytes

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: b\r\n\r\nok"


@pytest.mark.parametrize(
    ("method", "line"),
    [
        ("OPTIONS", "OPTIONS * HTTP/1.0"),
        ("HEAD", "HEAD /base//h?x HTTP/1.0"),
        ("GET11", "GET /base//h?x HTTP/1.1"),
        ("OPTIONS11", "OPTIONS * HTTP/1.1"),
    ],
)
def test_requests(method: str, line: str) -> None:
    request, name = request_bytes(define_worker("http://127.0.0.1:81/base"), method, "/h?x")
    assert request.decode() == f"{line}\r\nHost: 127.0.0.1:81\r\n\r\n" and name == line.partition(" ")[0]


def check(
    root: Path, parameters: str, answers: list[bytes | None], more: str = "", scheme: str = "http"
) -> tuple[Any, list[str]]:
    """Return the state of a member after a check for each of *answers*, None for a closed port; and its
    status after each.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    conf = (
        "LogLevel info\nProxyHCExpr has {%{HC_BODY} =~ /ok/ && hc('body') == 'ok' && resp('X-A') == 'b'}\n"
        f"<Proxy balancer://cl>\nBalancerMember {scheme}://127.0.0.1:{port} {parameters} "
        "hcinterval=100ms\n</Proxy>"
    )
    engine, _ = balancing(root, conf, more=f"proxy_hcheck {more}")
    words: list[str] = []

    async def run() -> Any:
        checker = HealthChecker(engine)
        [(_, balancer)] = checker.members
        [member] = balancer.members
        for answer in answers:

            async def serve(reader: Any, writer: Any, answer: bytes = answer or b"") -> None:
                await reader.read(1000)
                writer.write(answer)
                writer.close()

            server = None
            if answer is not None:
                server = await asyncio.start_server(serve, "127.0.0.1", port)
            member.state.updated = 0.0
            await checker.scan()
            while checker.running:
                await asyncio.sleep(0.005)
            words.append(member.state.words)
            if server is not None:
                server.close()
                await server.wait_closed()
        return engine

    return asyncio.run(run()), words


GOOD, BAD = "Init Ok ", "Init HcFl "


@pytest.mark.parametrize(
    ("parameters", "answers", "words"),
    [
        ("hcmethod=GET hcuri=/h", [OK, None, OK], [GOOD, BAD, GOOD]),
        ("hcmethod=TCP hcfails=2", [None, None, OK], [GOOD, BAD, GOOD]),
        ("hcmethod=TCP hcpasses=2", [None, OK, OK], [BAD, BAD, GOOD]),
        ("hcmethod=GET", [OK.replace(b"200", b"500"), OK.replace(b"200", b"301")], [BAD, GOOD]),
        ("hcmethod=HEAD", [OK[:-2], b"garbage\r\n\r\n", b""], [GOOD, BAD, BAD]),
        ("hcmethod=GET hcexpr=has", [OK, OK.replace(b"X-A: b", b"X-A: c")], [GOOD, BAD]),
        ("hcmethod=NONE", [None], [GOOD]),
    ],
)
def test_results(parameters: str, answers: list[bytes | None], words: list[str], tmp_path: Path) -> None:
    assert check(tmp_path, parameters, answers)[1] == words


def test_log_lines(tmp_path: Path) -> None:
    engine, _ = check(tmp_path, "hcmethod=GET", [None, OK])
    text = "".join(line.decode() for lines in engine.runtime.logs.values() for line in lines)
    assert "(111)Connection refused: AH00957: HCOH: attempt to connect to 127.0.0.1:" in text
    assert "AH03303: Threaded Health check DISABLING http://127.0.0.1:" in text
    assert "AH03302: Threaded Health check ENABLING http://127.0.0.1:" in text


CPONG, OTHER = b"AB\0\1\x09", b"AB\0\1\x05"
AWAITED = "AH01014: ajp_handle_cping_cpong: awaited CPONG, received 5 "
FAILED = "AH01012: ajp_handle_cping_cpong: ajp_ilink_receive failed"


@pytest.mark.parametrize("scheme", ["ajp", "http"])
def test_cping(tmp_path: Path, scheme: str) -> None:
    """Apache2 2.4.71 sends a CPing to members of every protocol."""
    answers = [CPONG, OTHER, CPONG, CPONG[:3], None]
    engine, words = check(tmp_path, "hcmethod=cping", answers, "proxy_ajp", scheme)
    assert words == [GOOD, BAD, GOOD, BAD, BAD]
    text = "".join(line.decode() for lines in engine.runtime.logs.values() for line in lines)
    assert AWAITED in text and FAILED in text and "AH00897" not in text
    assert "AH00957: HCCPING: attempt to connect to 127.0.0.1:" in text


def test_a_member_that_does_not_pong_in_time(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        conf = (
            f"<Proxy balancer://cl>\nBalancerMember ajp://127.0.0.1:{silent.getsockname()[1]} "
            "hcmethod=CPING hcinterval=100ms ping=50ms\n</Proxy>"
        )
        engine, _ = balancing(tmp_path, conf, more="proxy_hcheck proxy_ajp")

        async def run() -> str:
            checker = HealthChecker(engine)
            member = checker.members[0][1].members[0]
            member.state.updated = 0.0
            await checker.scan()
            async with asyncio.timeout(5):
                while checker.running:
                    await asyncio.sleep(0.005)
            return str(member.state.words)

        assert asyncio.run(run()) == BAD


def test_a_long_body_is_not_read_to_its_end(tmp_path: Path) -> None:
    long = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1_000_000
    assert check(tmp_path, "hcmethod=GET", [long])[1] == [GOOD]


@pytest.mark.parametrize(
    ("settings", "words", "code"),
    [
        ("SSLProxyEngine On\nSSLProxyCheckPeerName Off\nSSLProxyCheckPeerExpire Off", GOOD, ""),
        ("SSLProxyEngine On\nSSLProxyCheckPeerExpire Off", BAD, "AH02411"),
        ("SSLProxyEngine Off", BAD, "AH01961"),
    ],
)
def test_a_member_with_tls(tmp_path: Path, settings: str, words: str, code: str) -> None:
    """The checks of its certificate are those of requests."""
    with TlsBackend(tmp_path) as backend:
        conf = (
            f"LogLevel info\n{settings}\n<Proxy balancer://cl>\nBalancerMember https://127.0.0.1:"
            f"{backend.port} hcmethod=GET hcinterval=100ms\n</Proxy>"
        )
        engine, _ = balancing(tmp_path, conf, more="proxy_hcheck ssl")

        async def run() -> str:
            checker = HealthChecker(engine)
            [(_, balancer)] = checker.members
            [member] = balancer.members
            member.state.updated = 0.0
            await checker.scan()
            while checker.running:
                await asyncio.sleep(0.005)
            return str(member.state.words)

        assert asyncio.run(run()) == words
    text = "".join(line.decode() for lines in engine.runtime.logs.values() for line in lines)
    assert code in text
