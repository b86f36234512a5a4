"""Requests that the handler refuses before an application is asked. Statuses and lines: mod_wsgi.c,
wsgi_hook_handler.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from tests.support.engine import build_engine

from whimbrel.engine.request import Connection
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime

CONF = """LoadModule wsgi_module modules/mod_wsgi.so
WSGIScriptAlias /w "@/htdocs/app.wsgi"
WSGIScriptAlias /none "@/htdocs/none.wsgi"
WSGIScriptAlias /in "@/htdocs/in"
AddHandler wsgi-script .wsgi
"""
FILES = {"htdocs/app.wsgi": "raise SystemError\n", "htdocs/in/x": ""}


@pytest.mark.parametrize(
    ("path", "field", "status", "line"),
    [
        (
            "/w",
            "Transfer-Encoding: gzip, chunked",
            501,
            "Unexpected value for Transfer-Encoding of 'gzip, chunked' supplied. Only 'chunked' supported.",
        ),
        (
            "/w",
            "Transfer-Encoding: chunked",
            411,
            "Received request requiring chunked transfer encoding, but",
        ),
        ("/none", "Content-Length: 0", 404, "Target WSGI script not found or unable to stat"),
        ("/in/", "Content-Length: 0", 403, "Attempt to invoke directory as WSGI application"),
        ("/app.wsgi", "Content-Length: 0", 403, "Options ExecCGI is off in this directory"),
    ],
)
def test_what_no_application_is_asked_for(
    tmp_path: Path, path: str, field: str, status: int, line: str
) -> None:
    engine = build_engine(tmp_path, CONF, FILES)
    client = TestClient(engine, Connection("127.0.0.1", 5000, "127.0.0.1", 8080))
    answer = client.send(f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{field}\r\n\r\n0\r\n\r\n".encode())
    assert int(answer.split(b" ")[1]) == status
    written = b"".join(cast("FakeRuntime", engine.runtime).logs.get(f"{tmp_path}/logs/error_log", []))
    assert line.encode() in written
