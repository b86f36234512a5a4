"""Requests and answers that come again."""

from __future__ import annotations

import asyncio
import random
import re
from pathlib import Path

import pytest
from tests.support.proxy_server import ProxyServer, answering, echo, run

from whimbrel.engine.engine import GENERAL_PATH
from whimbrel.modules.proxy.mod_proxy_http.relay import MAX_HEAD
from whimbrel.modules.support.backend_relay import MAX_RELAYS, MAX_SEEN, MAX_SENT, NOTE

DATE = re.compile(rb"(?m)^Date: .*\r\n")
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nok"


async def several(server: ProxyServer, count: int, *fields: str) -> list[bytes]:
    return [await server.get("/x", *fields) for _ in range(count)]


def test_equal_requests_get_equal_answers_and_are_prepared(tmp_path: Path) -> None:
    async def use(server: ProxyServer) -> None:
        answers = await several(server, 8)
        assert len({answer.partition(b"\r\nServer")[2] for answer in answers}) == 1
        assert len(set(server.heads)) == 1
        assert len(server.heads) == 8
        assert server.accepted == 1
        assert len(server.engine.prepared._entries) == 1
        plan = next(iter(server.engine.plans.by_host.values()))
        assert len(plan.notes[NOTE]) == 1

    run(tmp_path, answering(ANSWER), use)


def test_an_answer_that_comes_in_pieces_is_whole(tmp_path: Path) -> None:
    """Wherever it is cut: within the status line, the head, its end, the body."""
    cuts = [len(ANSWER)] * 12 + [1, 12, 40, ANSWER.index(b"\r\n\r\n") + 2, len(ANSWER) - 2, len(ANSWER) - 1]
    left = list(cuts)

    async def answer(_head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        at = left.pop(0)
        writer.write(ANSWER[:at])
        await writer.drain()
        await asyncio.sleep(0.01)
        writer.write(ANSWER[at:])

    async def use(server: ProxyServer) -> list[bytes]:
        async with asyncio.timeout(5):
            return await several(server, len(cuts))

    answers = run(tmp_path, answer, use)
    assert [one.startswith(b"HTTP/1.1 200 OK\r\n") and one.endswith(b"\r\n\r\nok") for one in answers] == [
        True
    ] * len(cuts)


def test_another_answer_to_an_equal_request_is_passed_on(tmp_path: Path) -> None:
    """Behind many equal ones; its head need not be one that has come before."""
    values = [b"1"] * 12 + [b"2", b"1", b"3", b"3", b"1"]
    left = list(values)

    async def answer(_head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(ANSWER.replace(b"X-A: 1", b"X-A: " + left.pop(0)))

    async def use(server: ProxyServer) -> list[bytes]:
        async with asyncio.timeout(5):
            return await several(server, len(values))

    answers = run(tmp_path, answer, use)
    assert [found[1] for one in answers if (found := re.search(rb"X-A: (\d)", one))] == values
    assert all(one.endswith(b"\r\n\r\nok") for one in answers)


def test_other_fields_are_another_request(tmp_path: Path) -> None:
    async def use(server: ProxyServer) -> list[bool]:
        await several(server, 5)
        answers = [await server.get("/x", f"X-N: {number}") for number in (1, 1, 1, 2)]
        return [
            f"X-N: {number}".encode() in answer for number, answer in zip((1, 1, 1, 2), answers, strict=True)
        ]

    assert run(tmp_path, echo, use) == [True] * 4


def test_a_variable_takes_the_general_way(tmp_path: Path) -> None:
    async def use(server: ProxyServer) -> None:
        await several(server, 4)
        await server.get("/x", "X-Close: 1")
        assert "Connection: close" in server.heads[-1]

    conf = "SetEnvIf X-Close 1 proxy-nokeepalive\nProxyPass / http://127.0.0.1:@PORT@/\n"
    run(tmp_path, answering(ANSWER), use, conf)


def test_bounds_are_those_of_the_documentation() -> None:
    assert (MAX_RELAYS, MAX_SEEN, MAX_SENT, MAX_HEAD) == (256, 64, 16384, 2048)


def test_an_absolute_target_replaces_host_for_its_request_alone(tmp_path: Path) -> None:
    async def use(server: ProxyServer) -> list[str]:
        for _ in range(4):
            for target in ("/x", "http://other.example/x"):
                await server.get(target)
        return [head.partition("X-Forwarded-Host: ")[2].partition("\r\n")[0] for head in server.heads]

    assert run(tmp_path, answering(ANSWER), use) == ["client.example", "other.example"] * 4


def test_forward_requests_are_not_those_of_reverse_proxies(tmp_path: Path) -> None:
    async def use(server: ProxyServer) -> list[bool]:
        site = f"127.0.0.1:{server.port}"
        for _ in range(4):
            for target in ("/x", f"http://{site}/x"):
                head = f"GET {target} HTTP/1.1\r\nHost: {site}\r\nConnection: close\r\n\r\n"
                await server.send(head.encode())
        return ["X-Forwarded-For" in head for head in server.heads]

    conf = "ProxyRequests On\nProxyPass / http://127.0.0.1:@PORT@/\n"
    assert run(tmp_path, answering(ANSWER), use, conf) == [True, False] * 4


def test_an_interim_answer_is_no_answer(tmp_path: Path) -> None:
    async def use(server: ProxyServer) -> list[bool]:
        answers = [await server.get(f"/{number}") for number in range(6)]
        return [f"X-N: {number}\r\n".encode() in answer for number, answer in enumerate(answers)]

    async def answer(head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = int(head.split()[1][1:])
        early = b"HTTP/1.1 103 Early Hints\r\n\r\n"
        rest = b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nX-N: %d\r\nContent-Length: 0\r\n\r\n" % number
        if number < 3:
            writer.write(early + rest)
        else:
            writer.write(early)
            await asyncio.sleep(0.05)
            writer.write(rest)

    assert run(tmp_path, answer, use) == [True] * 6


def test_a_post_without_body_is_sent_once(tmp_path: Path) -> None:
    async def use(server: ProxyServer) -> list[bytes]:
        answers = [await server.get(method="POST") for _ in range(5)]
        assert len(server.heads) == 5
        return [answer[9:12] for answer in answers]

    count = 0

    async def answer(_head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        if count == 5:
            raise ConnectionError
        writer.write(ANSWER)

    assert run(tmp_path, answer, use) == [b"200"] * 4 + [b"502"]


SETTINGS = """
SetEnvIf X-Flag (.+) FLAG=$1
RequestHeader set X-Env %{FLAG}e env=FLAG
Header set X-Env %{FLAG}e env=FLAG
ProxyPreserveHost On
ProxyRequests On
ErrorDocument 404 /a/x
ProxyPass /a http://127.0.0.1:@PORT@/a
"""


METHODS = ("GET", "GET", "HEAD", "POST")


def random_requests(port: int) -> list[bytes]:
    rnd, requests = random.Random(20), []
    for _ in range(24):
        site = rnd.choice(["", "", "", "http://other.example", f"http://127.0.0.1:{port}"])
        line = f"{rnd.choice(METHODS)} {site}/{rnd.choice('aab')}/x{rnd.choice(['', '?q'])}"
        fields = rnd.choice([[], [], ["X-Flag: 1"], ["Connection: X-A", "x-a: 1"]])
        lines = [f"{line} HTTP/1.1", "Host: one", "Connection: close", *fields]
        requests.append("\r\n".join([*lines, "", ""]).encode())
    return rnd.choices(requests, k=150)


def test_equal_requests_send_and_return_the_bytes_of_the_general_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def use(server: ProxyServer) -> tuple[list[str], list[bytes]]:
        answers = [await server.send(request) for request in random_requests(server.port)]
        port = str(server.port)
        heads = [head.replace(port, "PORT") for head in server.heads]
        return heads, [DATE.sub(b"", answer).replace(port.encode(), b"PORT") for answer in answers]

    async def answer(head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(ANSWER[:-2] if head[:4] == b"HEAD" else ANSWER)

    found = run(tmp_path, answer, use, SETTINGS)
    monkeypatch.setenv(GENERAL_PATH, "1")
    assert run(tmp_path, answer, use, SETTINGS) == found
