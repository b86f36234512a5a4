"""mod_data.  Expected responses are those of httpd 2.4.71."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

CONF = (
    "LoadModule data_module modules/mod_data.so\nSetOutputFilter DATA\n"
    "AddType 'text/html; charset=x y' .html\n"
)
BIG = "abc\n" * 100_000
FILES = {
    "htdocs/a.txt": "small words\n",
    "htdocs/e.txt": "",
    "htdocs/x": "untyped",
    "htdocs/b.html": "b",
    "htdocs/big.txt": BIG,
}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/a.txt", "data:text/plain;base64,c21hbGwgd29yZHMK"),
        ("/e.txt", "data:text/plain;base64,"),
        ("/x", "data:;base64,dW50eXBlZA=="),
        ("/b.html", "data:text/html;charset=x;base64,Yg=="),
        ("/big.txt", "data:text/plain;base64," + base64.b64encode(BIG.encode()).decode()),
    ],
)
def test_urls(tmp_path: Path, path: str, body: str) -> None:
    reply = fetch(build_engine(tmp_path, CONF, FILES), path)
    assert reply.body == body
    assert (reply.get("Content-Length"), reply.get("Content-Type")) == (str(len(body)), "text/plain")


def test_a_url_has_no_ranges(tmp_path: Path) -> None:
    assert fetch(build_engine(tmp_path, CONF, FILES), "/a.txt", "Range: bytes=0-3").status == 200


def test_redirected_requests_are_left_alone(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, CONF + "ErrorDocument 404 /a.txt\n", FILES)
    assert fetch(engine, "/none").body == "small words\n"
