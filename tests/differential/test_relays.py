"""Random answers of back ends, hostile ones among them: clients and back ends see the same bytes, and the
access log has the same lines, with relayed requests as on the general path.

WHIMBREL_RELAY_SEEDS: the number of runs of each kind.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.fastcgi_application import record as records
from tests.support.proxy_server import ProxyServer
from whimbrel.backends.fastcgi import END_STDIN, RecordType
from whimbrel.engine.engine import GENERAL_PATH
from whimbrel.server.http1.relay import Relayer

SEEDS = int(os.environ.get("WHIMBREL_RELAY_SEEDS", "4"))
REQUESTS = 80
PAUSE = 0.004  # seconds in which both servers see what a back end does after its answer
DATE = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
_LENGTH = re.compile(rb"(?i)\r\nContent-Length: (\d+)\r\n")
_CHUNKED = re.compile(rb"(?i)\r\nTransfer-Encoding: chunked\r\n")
_NOW = re.compile(rb"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} 20\d\d [\d:]{8} GMT")
_TIME = re.compile(rb"\[[^\]]*\]")
CONF = """
LogFormat "%h %t \\"%r\\" %>s %b %B %{X-N}o %{Date}o \\"%{User-Agent}i\\" %X" all
CustomLog log all
LogFormat "%t %r %>s %b" short
CustomLog short short
ProxyTimeout 1
"""
SHORT = CONF.replace("CustomLog log all\n", "")
Play = Callable[[random.Random], "tuple[list[bytes], bool]"]  # pieces of an answer, and the connection's end


def head(*lines: str, body: bytes = b"ok", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    fields = "".join([f"{line}\r\n" for line in ("Content-Type: text/plain", *lines)])
    return f"HTTP/1.1 200 OK\r\n{DATE}{fields}Content-Length: {size}\r\n\r\n".encode() + body


A = head("X-N: 1")
HTTP_ANSWERS = [
    *[A] * 40,
    *[head("X-N: 2", "Set-Cookie: a=b")] * 3,
    head("X-N: 1", body=b"no"),
    head("X-N: 1", body=b"longer"),
    A.replace(DATE.encode(), b""),
    A.replace(DATE.encode(), b"Date: Sun, 06 Nov 1994 08:49:38 GMT\r\n"),
    A.replace(DATE.encode(), b"Date: Mon, 06 Nov 1994 08:49:37 GMT\r\n"),  # not a Monday
    A.replace(DATE.encode(), b"Date: never\r\n"),
    A.replace(DATE.encode(), b"date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
    A.replace(DATE.encode(), DATE.encode() * 2),
    A.replace(b"Sun, 06 Nov 1994 08:49:37 GMT\r\n", b"Sun, 06 Nov 1994 08:49\r\nX: y\r\n"),
    head("X-N: 1", 'Warning: 199 - "x" "Sun, 06 Nov 1994 08:49:37 GMT"'),
    A + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged",
    A + A,
    b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + A,
    b"HTTP/1.1 100 Continue\r\n\r\n" + A,
    A.replace(b"200 OK", b"404 Not Found"),
    A.replace(b"200 OK", b"200 Fine"),
    A.replace(b"HTTP/1.1", b"HTTP/1.0"),
    A.replace(b"200 OK", b"204 No Content"),
    head("X-N: 1", "Connection: close"),
    head("X-N: 1", "Connection: X-N"),
    head("X-N: 1", "Transfer-Encoding: chunked"),
    head("X-N: 1", "Content-Length: 3"),
    head("X-N: 1", length=-1),
    head("X N: 1", "broken"),
    head("Location: http://127.0.0.1/x"),
    b"HTTP/1.1 200 OK\r\nX-N: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX-N: 1\r\n\r\nuntil the end",
    b"\0\xff garbage\r\n\r\n",
    b"",
]


def http_answer(dice: random.Random) -> tuple[list[bytes], bool]:
    """Return an answer that came before, often in pieces, cut, or with a connection that ends."""
    data = dice.choice(HTTP_ANSWERS)
    ends = dice.random() < 0.06 or b"until the end" in data or not data or b"garbage" in data
    if dice.random() < 0.08:
        data, ends = data[: dice.randrange(len(data) + 1)], True
    if dice.random() < 0.15 and len(data) > 1:
        at = dice.randrange(1, len(data))
        return [data[:at], data[at:]], ends
    return [data], ends


PHP = b"X-Powered-By: x\r\nContent-Type: text/html\r\n\r\nhello"
STDOUT, STDERR, END = RecordType.STDOUT, RecordType.STDERR, RecordType.END_REQUEST
FINISH = records(END, b"\0" * 8)
FASTCGI_ANSWERS = [
    *[records(STDOUT, PHP) + FINISH] * 30,
    *[records(STDOUT, PHP + b"more") + records(STDOUT, b"") + FINISH] * 3,
    *[records(STDOUT, PHP[:10]) + records(STDOUT, PHP[10:]) + FINISH] * 3,
    *[records(STDOUT, PHP + bytes(size)) + FINISH for size in (1, 8, 300, 5000)],
    *[records(STDOUT, PHP.removesuffix(b"hello")) + FINISH] * 3,
    records(STDOUT, PHP.replace(b"\r\n", b"\n")) + FINISH,
    records(STDOUT, PHP.replace(b"\r\n\r\n", b"\r\n\n\r\n\r\n")) + FINISH,
    records(STDOUT, PHP.replace(b"hello", b"other")) + FINISH,
    records(STDOUT, b"Status: 404 No\r\n" + PHP) + FINISH,
    records(STDOUT, b"Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n" + PHP) + FINISH,
    records(STDOUT, b"Dat\re: Sun, 06 Nov 1994 08:49:37 GMT\r\n" + PHP) + FINISH,
    records(STDOUT, b"Location: /x\r\n" + PHP) + FINISH,
    records(STDOUT, b"Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n" + PHP) + FINISH,
    records(STDOUT, b"Content-Length: 2\r\n" + PHP) + FINISH,
    records(STDOUT, b"A: \0b\r\n" + PHP) + FINISH,
    records(STDERR, b"warning") + records(STDOUT, PHP) + FINISH,
    records(STDOUT, PHP) + records(STDERR, b"warning") + FINISH,
    records(STDOUT, PHP) + records(STDOUT, b"") + records(STDOUT, b"late") + FINISH,
    records(STDOUT, PHP) + FINISH + records(STDOUT, b"forged"),
    records(STDOUT, PHP) + FINISH + FINISH,
    records(STDOUT, b"") + records(STDOUT, PHP) + FINISH,
    records(STDOUT, b"no head") + FINISH,
    records(STDOUT, PHP).replace(b"\1", b"\2", 1) + FINISH,
    records(RecordType.PARAMS, b"x") + records(STDOUT, PHP) + FINISH,
    records(STDOUT, PHP),
    FINISH,
    b"garbage",
    b"",
]


def fastcgi_answer(dice: random.Random) -> tuple[list[bytes], bool]:
    """Return the same for FastCGI, where the application closes each connection."""
    data = dice.choice(FASTCGI_ANSWERS)
    if dice.random() < 0.08:
        data = data[: dice.randrange(len(data) + 1)]
    if dice.random() < 0.15 and len(data) > 1:
        at = dice.randrange(1, len(data))
        return [data[:at], data[at:]], True
    return [data], True


async def response(reader: asyncio.StreamReader) -> tuple[bytes, bool]:
    """Return one response, interim ones before it, and True if the connection is still open."""
    data = b""
    try:
        while True:
            top = await reader.readuntil(b"\r\n\r\n")
            data += top
            if top[9:10] != b"1":
                break
        length = _LENGTH.search(top)
        if top[9:12] in (b"204", b"304"):
            return data, True
        if _CHUNKED.search(top):
            while (size := await reader.readline()) and int(size, 16):
                data += size + await reader.readexactly(int(size, 16) + 2)
            return data + size + await reader.readline(), True
        if length is not None:
            return data + await reader.readexactly(int(length[1])), True
        return data + await reader.read(), False
    except asyncio.IncompleteReadError as problem:
        return data + problem.partial, False


async def play(server: ProxyServer, dice: random.Random, path: str) -> list[bytes]:
    """Send requests on connections that stay open; return what the client gets."""
    requests = [f"GET {path} HTTP/1.1\r\nHost: front\r\n{more}\r\n" for more in ("", "User-Agent: x\r\n")]
    out, wire = [], None
    for _ in range(REQUESTS):
        data = dice.choice([requests[0], *requests]).encode()
        reader, writer = wire = wire or await server.connect()
        writer.write(data)
        found, is_open = await response(reader)
        out.append(_NOW.sub(b"now", found))
        await asyncio.sleep(PAUSE)
        if not is_open or dice.random() < 0.02:
            writer.close()
            wire = None
    if wire is not None:
        wire[1].close()
    return out


class Application:
    """A FastCGI application on a Unix socket, called with no request of HTTP."""

    def __init__(self, dice: random.Random, answers: Play) -> None:
        self._dice, self._answers = dice, answers

    async def __call__(self, *_arguments: Any) -> None:
        raise AssertionError

    async def serve(
        self, seen: list[str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Answer one request; *seen* gets its bytes but for the client's port."""
        data = await reader.readuntil(END_STDIN)
        seen.append(re.sub(r"(REMOTE_PORT)\d+", r"\1", data.decode("latin-1")))
        pieces, _ends = self._answers(self._dice)
        try:
            for piece in pieces:
                writer.write(piece)
                if len(pieces) > 1:
                    await asyncio.sleep(PAUSE / 2)
        finally:
            writer.close()


def outcome(root: Path, seed: int, answer: Any, conf: str, path: str, wish: bytes) -> tuple[Any, int]:
    """Return what clients, back end and logs see, and the number of relayed requests."""
    relayed = 0
    send = Relayer.finish_relay

    def counted(self: Relayer, exchange: Any, response: bytes) -> None:
        nonlocal relayed
        relayed += 1
        send(self, exchange, response)

    async def main() -> Any:
        async with asyncio.timeout(60), ProxyServer(root, answer, conf) as server:
            if isinstance(answer, Application):
                await asyncio.start_unix_server(partial(answer.serve, server.heads), str(root / "a.sock"))
            clients = await play(server, random.Random(seed + 1), path)
            await asyncio.sleep(0.02)
            logs = [_TIME.sub(b"", line) for lines in server.engine.runtime.logs.values() for line in lines]
            seen = [text.replace(str(server.port), "PORT") for text in server.heads]
            return clients, seen, [line for line in logs if wish in line]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Relayer, "finish_relay", counted)
        return asyncio.run(main()), relayed


def compare(root: Path, seed: int, answers: Play, conf: str, path: str, serve: Any) -> int:
    """Compare both paths; return the number of relayed requests."""
    found, count = outcome(root, seed, serve(random.Random(seed), answers), conf, path, b"GET")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(GENERAL_PATH, "1")
        wanted, none = outcome(root, seed, serve(random.Random(seed), answers), conf, path, b"GET")
    assert none == 0
    for left, right in zip(found, wanted, strict=True):
        for number, (one, other) in enumerate(zip(left, right, strict=False)):
            assert one == other, number
        assert len(left) == len(right)
    return count


def http(dice: random.Random, answers: Play) -> Any:
    async def answer(_head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pieces, ends = answers(dice)
        for piece in pieces:
            writer.write(piece)
            if len(pieces) > 1:
                await asyncio.sleep(PAUSE / 2)
        if ends:
            raise ConnectionError

    return answer


@pytest.mark.parametrize("conf", [CONF, SHORT], ids=["fields", "short"])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_http_answers(tmp_path: Path, seed: int, conf: str) -> None:
    text = conf + "ProxyPass / http://127.0.0.1:@PORT@/\n"
    count = compare(tmp_path, seed, http_answer, text, "/x?y", http)
    assert (count > 3) is (conf is SHORT)  # %{Date}o and %X are no values of a head


@pytest.mark.parametrize("seed", range(SEEDS))
def test_fastcgi_answers(tmp_path: Path, seed: int) -> None:
    page = tmp_path / "htdocs" / "x.php"
    page.parent.mkdir()
    page.write_text("")
    os.utime(page, (1_600_000_000, 1_600_000_000))
    text = (
        f'LoadModule proxy_fcgi_module modules/mod_proxy_fcgi.so\n{SHORT}<Directory "{tmp_path}/htdocs">\n'
        f'Require all granted\nSetHandler "proxy:unix:{tmp_path}/a.sock|fcgi://localhost"\n</Directory>\n'
    )
    assert compare(tmp_path, seed, fastcgi_answer, text, "/x.php?y", Application) > 3
