"""Responses of HTTP back ends: BackendError alone; any split gives the same responses, body and fault.

The first byte selects the options and the method.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tests.fuzz.answers import check_reader
from whimbrel.http.client.response_reader import ResponseReader
from whimbrel.http.client.response_rules import RULES_22, RULES_24, BadHeaderPolicy

COVERED = (
    "http/client/response_reader.py",
    "http/client/head_lines.py",
    "http/client/answer.py",
    "http/http1/chunked.py",
)
TOKENS = (
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 101 \r\n",
    b"Content-Length: 5\r\n",
    b"\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"5\r\nabcde\r\n0\r\n\r\n",
    b"Connection: close\r\n",
    b"\n",
    b"\n ",
    b" : ",
    b"\0",
)
RULES = tuple(
    dataclasses.replace(rules, bad_header=policy, field_size=size)
    for rules in (RULES_24, RULES_22)
    for policy in BadHeaderPolicy
    for size in (8192, 40)
)
METHODS = ("GET", "HEAD", "CONNECT")


def seeds() -> Sequence[bytes]:
    answers = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\n0\r\nT: u\r\n\r\nHTTP/1.1 ",
        b"HTTP/1.0 404 Not Found\r\nX: a\r\n b\r\n\tc\r\n\r\nuntil the end",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
        b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\0",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\nTransfer-Encoding: gzip\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nContent-Length: 3\r\n"
        b"Connection: close\r\n\r\nfffffffffffffffff\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\nX : y\r\n: z\r\n\r\nbody",
        b"\r\nHTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 204 No\r\n\r\nrest",
        b"<html>a page of HTTP/0.9",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 9000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\nA: b\n\nc",
        b"HTTP/1.1 200\r\n" + b"A: b\r\n" * 200 + b"\r\n",
    ]
    return [bytes([switches]) + answer for answer in answers for switches in (0, 6)]


def run(data: bytes) -> None:
    switches = data[0] if data else 0
    rules = RULES[switches % len(RULES)]
    method = METHODS[switches // len(RULES) % len(METHODS)]
    check_reader(lambda: ResponseReader(rules, method, "/x", "127.0.0.1:80"), data[1:])
