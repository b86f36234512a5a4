"""mod_cgid, where it differs from mod_cgi. Numbers and messages are those of httpd 2.4.71."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from tests.support.client import decoded_body, error_log, fetch
from tests.support.scripts import CGI, build_cgi_engine, script

CGID = CGI.replace("cgi_module modules/mod_cgi.so", "cgid_module modules/mod_cgid.so")


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/off/a.cgi", 403, "AH01262: stderr from "),
        ("/no.cgi", 404, "AH01264: stderr from "),
        ("/fail.cgi", 500, "\noops\n"),
        (
            "/lost.cgi",
            500,
            "(2)No such file or directory: AH01241: exec of '@/htdocs/lost.cgi' failed",
        ),
    ],
)
def test_messages(path: str, status: int, code: str, tmp_path: Path) -> None:
    files = {"off/a.cgi": script("x"), "fail.cgi": "#!/bin/sh\necho oops >&2\n", "lost.cgi": "#!/no/such\n"}
    serving = build_cgi_engine(
        tmp_path, files, '<Directory "@/htdocs/off">\nOptions -ExecCGI\n</Directory>', base=CGID
    )
    assert fetch(serving, path).status == status
    assert code.replace("@", str(tmp_path)) in "\n" + error_log(serving)


def test_heads_are_traced(tmp_path: Path) -> None:
    serving = build_cgi_engine(
        tmp_path, {"a.cgi": script(r"Status: 404 Gone\n\nx\n")}, "LogLevel trace4", base=CGID
    )
    fetch(serving, "/a.cgi")
    found = error_log(serving)
    for text in ("(592): @Headers from script 'a.cgi':", "(595): @  Status: 404 Gone"):
        assert re.search(re.escape(text).replace("@", r"\[client [^]]*\] "), found), text
    assert "Status line from script 'a.cgi': 404 Gone" in found


def test_timeout(tmp_path: Path) -> None:
    serving = build_cgi_engine(
        tmp_path, {"a.cgi": "#!/bin/sh\nsleep 5\n"}, "CGIDScriptTimeout 100ms", base=CGID
    )
    assert fetch(serving, "/a.cgi").status == 504
    assert "AH01220" not in error_log(serving)


def test_an_answer_does_not_wait_for_standard_error(tmp_path: Path) -> None:
    """httpd's daemon passes the error log to programs: a child that keeps it open delays nothing, and its
    output is logged.
    """
    lines = (
        "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\nx'\n(exec >/dev/null; sleep 5; echo late >&2) &\n"
    )
    serving = build_cgi_engine(tmp_path, {"a.cgi": lines}, base=CGID)
    begin = time.monotonic()
    assert decoded_body(fetch(serving, "/a.cgi")) == "x"
    assert time.monotonic() - begin < 5
