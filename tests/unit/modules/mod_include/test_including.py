"""Documents that include themselves: bounded, with httpd's words."""

from __future__ import annotations

import time
from pathlib import Path

from tests.unit.modules.asked import ask, engine

from whimbrel.modules.mod_include.including import MOST_DOCUMENTS

CONF = ("LoadModule include_module modules/mod_include.so\n<Directory @/htdocs>\nOptions +Includes\nAddType text/html .shtml\n"
        "AddOutputFilter INCLUDES .shtml\n</Directory>\n")
ERROR = "[an error occurred while processing this directive]"


def loop(times: int) -> str:
    return "x" + '<!--#include virtual="/loop.shtml" -->' * times


def test_one_loop_ends_at_the_limit_of_nesting(tmp_path: Path) -> None:
    """As recorded from httpd 2.4.71: eleven documents, one message."""
    serving = engine(tmp_path, CONF, {"htdocs/loop.shtml": loop(1)})
    assert unchunked(ask(serving, "/loop.shtml").body) == "x" * 11 + ERROR
    lines = b"".join(line for lines in serving.runtime.logs.values() for line in lines).decode()
    assert "AH00125: Request exceeded the limit of 10 subrequest nesting levels due to probable configuration error." in lines
    assert 'unable to include "/loop.shtml" in parsed file' in lines
    assert "subrequest setup returned 500" in lines


def test_two_loops_are_followed_to_the_end(tmp_path: Path) -> None:
    """httpd's answer has 106,495 bytes."""
    body = ask(engine(tmp_path, CONF, {"htdocs/loop.shtml": loop(2)}), "/loop.shtml").body
    assert len(unchunked(body)) == 106_495


def test_more_of_them_are_bounded(tmp_path: Path) -> None:
    start = time.process_time()
    body = unchunked(ask(engine(tmp_path, CONF, {"htdocs/loop.shtml": loop(9)}), "/loop.shtml").body)
    documents = len(body.replace(ERROR, ""))
    assert documents * 9 >= MOST_DOCUMENTS >= documents
    assert time.process_time() - start < 30


def unchunked(body: str) -> str:
    out = ""
    while body:
        size, _, body = body.partition("\r\n")
        out, body = out + body[:int(size, 16)], body[int(size, 16) + 2:]
    return out
