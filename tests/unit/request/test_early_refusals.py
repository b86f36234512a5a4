"""Requests that are refused early, and bodies that nobody needs: as apache2 2.4.71 answers them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.modules.access import Site

from whimbrel.request.record import Connection
from whimbrel.testing.wire import Client

HOST = "Host: localhost\r\nConnection: close\r\n"


def sent(site: Site, data: str) -> str:
    """The whole answer to these bytes."""
    return Client(site.engine, Connection("127.0.0.1", 5000, "127.0.0.1", 8080)).send(data.encode()).decode("latin-1")


@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_a_refused_head_ends_the_connection_whatever_the_error_document_says(tmp_path: Path, version: str) -> None:
    """Of 2.2.34 it is recorded."""
    answer = sent(Site(tmp_path, "ErrorDocument 400 http://x.test/e400\n", version=version), "GET / HTTP/1.1\r\n\r\n")
    assert answer.startswith("HTTP/1.1 302 ") and "\r\nLocation: http://x.test/e400\r\n" in answer and "\r\nConnection: close\r\n" in answer


@pytest.mark.parametrize(("data", "body"), [
    ("GET  /d// HTTP/1.1\n\n", "bad |GET  /d// HTTP/1.1\n|"),
    (f"GET /a HTTP/1.1\r\nX A: b\r\n{HOST}\r\n", "bad /a|GET /a HTTP/1.1|GET"),
])
def test_what_of_a_line_is_known_to_expressions(tmp_path: Path, data: str, body: str) -> None:
    site = Site(tmp_path, 'ErrorDocument 400 "bad %{REQUEST_URI}|%{THE_REQUEST}|%{REQUEST_METHOD}"\n')
    assert sent(site, data).endswith("\r\n\r\n" + body)


@pytest.mark.parametrize(("target", "status"), [
    ("http://a..b/f.html", 400), ("http://a_b/f.html", 200), ("http://localhost/f.html", 200), ("/f.html", 200),
])
def test_host_names_of_lines_without_a_version(tmp_path: Path, target: str, status: int) -> None:
    answer = sent(Site(tmp_path, "HttpProtocolOptions Allow0.9\n"), f"GET {target}\r\n")
    assert ("<title>400 Bad Request</title>" in answer, answer == "page\n") == (status == 400, status == 200)


CHUNKED = f"Transfer-Encoding: chunked\r\n{HOST}"


@pytest.mark.parametrize(("line", "more", "status", "measured"), [
    ("GET /f.html", "", 400, False),  # the body is read before the file is sent
    ("GET /none", "", 400, False),  # and before the page that says there is none
    ("GET /f.html", "Content-Length: 5\r\n", 200, True),  # the connection ends in any case: nobody looks at the body
    ("GET /none", "Content-Length: 5\r\n", 404, True),
    ("TRACE /f.html", "", 413, True),  # statuses that end the connection leave the body unread
    ("GET /%zz", "", 400, True),
])
def test_a_bad_body_where_it_matters(tmp_path: Path, line: str, more: str, status: int, measured: bool) -> None:
    answer = sent(Site(tmp_path, ""), f"{line} HTTP/1.1\r\n{more}{CHUNKED}\r\n-1\r\n")
    assert (int(answer.split(" ")[1]), "\r\nContent-Length: " in answer) == (status, measured)


@pytest.mark.parametrize(("said", "status"), [("bytes=100-", 416), ("bytes=0-1", 200)])
def test_max_ranges_none_still_tells_of_ranges_that_cannot_be_met(tmp_path: Path, said: str, status: int) -> None:
    assert Site(tmp_path, "MaxRanges none\n").status("/f.html", headers=f"Range: {said}\r\n") == status
