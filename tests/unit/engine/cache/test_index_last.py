"""Last responses of connections that have had their number of requests: cached apart from all others."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.support.engine import start_engine
from tests.support.site import MTIME

from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.http.syntax.line_reader import HeadLimits
from whimbrel.testing.client import TestClient

MOST = 3
CONF = f"""
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule log_config_module modules/mod_log_config.so
LoadModule setenvif_module modules/mod_setenvif.so
Listen 127.0.0.1:8080
ServerName localhost
DocumentRoot "@/htdocs"
MaxKeepAliveRequests {MOST}
LogFormat "%X %k %r %>s %{{Keep-Alive}}o %{{Connection}}o" count
CustomLog logs/access_log count
<VirtualHost *:8080>
    ServerName localhost
</VirtualHost>
<VirtualHost *:8080>
    ServerName more.test
    MaxKeepAliveRequests 5
</VirtualHost>
<VirtualHost *:8080>
    ServerName none.test
    KeepAlive Off
</VirtualHost>
<VirtualHost *:8080>
    ServerName env.test
    BrowserMatch old nokeepalive
</VirtualHost>
"""


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    (tmp_path / "htdocs").mkdir()
    (tmp_path / "logs").mkdir()
    (tmp_path / "htdocs/a.txt").write_text("text\n")
    os.utime(tmp_path / "htdocs/a.txt", (MTIME, MTIME))
    (tmp_path / "httpd.conf").write_text(CONF.replace("@", str(tmp_path)))
    return start_engine(tmp_path, "httpd.conf")


def head(host: str, number: int, path: str = "/a.txt") -> bytes:
    fields = f"Host: {host}\r\nUser-Agent: old\r\nCookie: {number}\r\n"
    return f"GET {path} HTTP/1.1\r\n{fields}\r\n".encode()


def responses(engine: Engine, heads: list[bytes]) -> list[bytes]:
    """The responses to requests on one connection, until it closes, without their dates."""
    client = TestClient(engine, Connection("127.0.0.1", 4000, "127.0.0.1", 8080))
    answers = [client.send(each) for each in heads if not client.closed]
    return [re.sub(rb"\r\nDate: [^\r]+", b"", each) for each in answers]


@pytest.mark.parametrize("path", ["/a.txt", "/missing-{}", "/"])
@pytest.mark.parametrize("host", ["localhost", "more.test", "none.test", "env.test"])
def test_each_response_of_a_connection_is_that_of_the_first_one(engine: Engine, host: str, path: str) -> None:
    first, first_lines = None, None
    for connection in range(6):
        heads = [head(host, 10 * connection + n, path.format(10 * connection + n)) for n in range(7)]
        logs: dict[str, list[bytes]] = engine.runtime.logs  # type: ignore[attr-defined]
        logs.clear()
        found = responses(engine, heads)
        written = next(lines for name, lines in logs.items() if name.endswith("access_log"))
        lines = [line.replace(each.split(b" ")[1], b"/") for line, each in zip(written, heads, strict=False)]
        assert len(lines) == len(found)
        first, first_lines = first or found, first_lines or lines
        assert (found, lines) == (first, first_lines)
        assert b"Connection: close" in found[-1] and b"Connection: close" not in b"".join(found[:-1])


def test_the_last_response_comes_from_the_cache(engine: Engine) -> None:
    index = engine.response_cache.index("127.0.0.1", 8080)
    for number in range(3):
        responses(engine, [head("localhost", n + 10 * number) for n in range(7)])
    assert len(index.last.by_key) == 1
    for served in range(MOST + 3):
        connection = Connection("127.0.0.1", 4000, "127.0.0.1", 8080, served=served)
        hit = index.lookup(connection, head("localhost", 99), HeadLimits(), None)
        assert hit is not None
        entry = hit[0]
        assert entry.template.close is (served >= MOST)
        # the entry itself refuses other connections
        connection.served = MOST if served < MOST else MOST - 1
        assert not entry.is_valid(connection, None)


def test_last_responses_are_bounded_and_dropped_with_the_others(engine: Engine) -> None:
    for number in range(3):
        responses(engine, [head("localhost", n + 10 * number) for n in range(7)])
    index = engine.response_cache.index("127.0.0.1", 8080)
    assert index.last in set(engine.response_cache.indexes())
    engine.response_cache.clear()
    assert not index.last.by_key and not index.last.by_head
