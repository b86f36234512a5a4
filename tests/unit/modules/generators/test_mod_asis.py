"""mod_asis. Expected responses are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.modules.asked import ask, engine

CONF = "LoadModule asis_module modules/mod_asis.so\nAddHandler send-as-is asis"


@pytest.mark.parametrize(
    ("text", "status", "length", "body"),
    [
        ("Status: 404 Not Here\nContent-Type: text/x-a\n\nbody\n", 404, "5", "body\n"),
        ("Location: http://x.test/\n\nmoved\n", 200, "6", "moved\n"),
        ("Status: 301 Now where\nLocation: /b.txt\n\n<p>\n", 200, "2", "B\n"),
        ("no headers at all\n", 200, "0", ""),
        ("", 200, "0", ""),
        ("Content-Type: text/plain\r\n\r\ncrlf\r\n", 200, "6", "crlf\r\n"),
        ("Status: 204 None\n\nignored\n", 204, None, ""),
    ],
)
def test_answers(text: str, status: int, length: str | None, body: str, tmp_path: Path) -> None:
    serving = engine(tmp_path, CONF, {"htdocs/a.asis": text, "htdocs/b.txt": "B\n"})
    reply = ask(serving, "/a.asis")
    assert (reply.status, reply.get("Content-Length"), reply.body) == (status, length, body)


def test_other_methods_get_the_file(tmp_path: Path) -> None:
    serving = engine(tmp_path, CONF, {"htdocs/a.asis": "X: 1\n\nx"})
    assert ask(serving, "/a.asis", method="POST", body="x").body == "X: 1\n\nx"
    assert ask(serving, "/nope.asis").status == 404
