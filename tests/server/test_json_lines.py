"""CustomLog FILE whimbrel_json: one JSON object a line, whatever bytes clients send, cached responses too.

Expected: the values of httpd's own items, in a log with the format of httpd beside it.
"""

from __future__ import annotations

import json
import random
import re
from datetime import datetime

from tests.server.conftest import ServerProcess

REQUESTS = 400
EXTRA = """StartServers 1
ServerLimit 1
MaxRequestWorkers 25
ThreadsPerChild 25
HttpProtocolOptions Unsafe
LogFormat "%a\\t%u\\t%v\\t%p\\t%r\\t%m\\t%H\\t%>s\\t%B\\t%{Referer}i\\t%{User-Agent}i" oracle
CustomLog logs/oracle oracle
CustomLog logs/access.json whimbrel_json
Redirect /gone http://localhost/
ErrorDocument 404 /index.html
"""
KEYS = ["client", "user", "server", "port", "request", "method", "protocol", "status", "bytes", "referer"]
KEYS.append("user_agent")
NAMED = {"n": b"\n", "r": b"\r", "t": b"\t", "v": b"\v", "b": b"\b"}


def head(chance: random.Random) -> bytes:
    """Return a head whose target and fields have any bytes but those that end a line."""

    def noise(count: int, without: bytes) -> bytes:
        allowed = [byte for byte in range(256) if byte not in without]
        return bytes(chance.choices(allowed, k=count))

    target = chance.choice([b"/", b"/index.html", b"/none", b"/gone/", b"/%22%5c%80"])
    if chance.random() < 0.5:
        target += b"?" + noise(chance.randrange(12), b"\r\n\0 \t\v\f#")
    fields = b""
    for name in (b"Referer", b"User-Agent", b"Referer"):
        if chance.random() < 0.6:
            value = chance.choice([noise(chance.randrange(20), b"\r\n\0"), "café €".encode(), b'"\\"}', b"-"])
            fields += name + b": " + value + b"\r\n"
    return b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + fields + b"\r\n"


def text_of(item: bytes, key: str) -> object:
    """Return the value of an item as JSON has it: its bytes without httpd's escapes."""
    if key in ("port", "status", "bytes"):
        return int(item)
    if item == b"-":
        return None
    plain = re.sub(
        rb"\\(x[0-9a-f]{2}|.)",
        lambda found: (
            bytes([int(found[1][1:], 16)]) if len(found[1]) == 3 else NAMED.get(found[1].decode(), found[1])
        ),
        item,
        flags=re.DOTALL,
    )
    return plain.decode("utf-8", "backslashreplace")


def test_each_line_is_an_object_with_httpds_values(server: ServerProcess) -> None:
    (server.root / "conf/extra.conf").write_text(EXTRA)
    server.start()
    chance = random.Random(40)
    heads = [head(chance) for _ in range(REQUESTS // 2)]
    for data in [*heads, *heads]:  # the second time from the cache
        server.ask(data)
    plain = server.root / "logs/oracle"
    written = server.root / "logs/access.json"
    server.wait_for(lambda: written.read_bytes().count(b"\n") == REQUESTS, 60)
    lines = written.read_bytes().split(b"\n")[:-1]
    expected = plain.read_bytes().split(b"\n")[:-1]
    assert len(expected) == REQUESTS
    assert all(line.isascii() for line in lines)
    for line, oracle in zip(lines, expected, strict=True):
        found = json.loads(line)
        assert datetime.fromisoformat(found.pop("time")).year >= 2026
        assert 0 <= found.pop("duration_us") < 60_000_000
        values = dict(zip(KEYS, oracle.split(b"\t"), strict=True))
        for key, item in values.items():
            if item == b"-" and found[key] == "-":
                continue  # a field of one hyphen: httpd's line does not tell it from none
            assert found[key] == text_of(item, key), (key, line, oracle)
        assert list(found) == KEYS


def test_a_format_of_that_name_is_followed(server: ServerProcess) -> None:
    (server.root / "conf/extra.conf").write_text(
        'CustomLog logs/access.json whimbrel_json\nLogFormat "own %>s" whimbrel_json\n'
    )
    server.start()
    server.get()
    written = server.root / "logs/access.json"
    server.wait_for(written.read_bytes)
    assert written.read_bytes() == b"own 200\n"
