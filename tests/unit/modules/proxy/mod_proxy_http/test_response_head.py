"""Heads of answers for clients."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.proxy_server import ProxyServer, answering, run

from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.proxy.mod_proxy_http.response_head import _without_old_warnings, canonical_date

DATE = "Sun, 06 Nov 1994 08:49:37 GMT"


def received(root: Path, answer: str, conf: str = "", version: str = "2.4") -> list[str]:
    """Return the lines of the head that the client gets."""

    async def use(server: ProxyServer) -> list[str]:
        return (await server.get("/x")).decode("latin-1").partition("\r\n\r\n")[0].split("\r\n")

    text = conf and f"{conf}\nProxyPass / http://127.0.0.1:@PORT@/\n"
    found: list[str] = run(root, answering(answer.encode("latin-1")), use, text, version)
    return found


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("Sunday, 06-Nov-94 08:49:37 GMT", DATE),
        ("Sun Nov  6 08:49:37 1994", DATE),
        (DATE, DATE),
        ("soon", "soon"),
    ],
)
def test_dates_have_one_form(text: str, date: str) -> None:
    assert canonical_date(text) == date


def test_date_server_and_reason_are_the_back_ends(tmp_path: Path) -> None:
    answer = f"HTTP/1.1 200 Fine\r\nServer: b/1\r\nDate: {DATE}\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nok"
    assert received(tmp_path, answer) == [
        "HTTP/1.1 200 Fine",
        f"Date: {DATE}",
        "Server: b/1",
        "X-A: 1",
        "Content-Length: 2",
        "Connection: close",
    ]


@pytest.mark.parametrize("version", ["2.2", "2.4"])
@pytest.mark.parametrize(
    ("line", "sent"),
    [("404", "404 "), ("299", "299 "), ("200 ", "200 "), ("299 Odd", "299 Odd"), ("099 x", "099 x")],
)
def test_reason_phrases_are_those_of_the_back_end(tmp_path: Path, line: str, sent: str, version: str) -> None:
    answer = f"HTTP/1.1 {line}\r\nContent-Length: 2\r\n\r\nok"
    assert received(tmp_path, answer, version=version)[0] == f"HTTP/1.1 {sent}"


def test_interim_responses_keep_their_reason_phrase(tmp_path: Path) -> None:
    final = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    for line, sent in (("102 Please Wait", "102 Please Wait"), ("103", "103 "), ("150 Odd", "150 Odd")):
        assert received(tmp_path, f"HTTP/1.1 {line}\r\n\r\n{final}")[0] == f"HTTP/1.1 {sent}"


def test_fields_of_the_connection_stay_here(tmp_path: Path) -> None:
    answer = (
        "HTTP/1.1 200 OK\r\nConnection: keep-alive, X-B\r\nX-B: 1\r\nKeep-Alive: 1\r\nUpgrade: h2c\r\n"
        "Proxy-Authenticate: x\r\nTrailer: y\r\nX-C: 2\r\nContent-Length: 0\r\n\r\n"
    )
    lines = received(tmp_path, answer)
    assert lines[3:] == ["X-C: 2", "Content-Length: 0", "Connection: close"]


def test_locations_and_cookies_are_mapped(tmp_path: Path) -> None:
    conf = "ProxyPassReverse /a/ http://back/b/\nProxyPassReverseCookiePath /b/ /a/"
    answer = (
        "HTTP/1.1 302 Found\r\nSet-Cookie: x=1; path=/b/\r\nLocation: http://back/b/c\r\n"
        "Content-Length: 0\r\n\r\n"
    )
    lines = received(tmp_path, answer, conf)
    assert "Location: http://client.example/a/c" in lines
    assert lines[-2:] == ["Set-Cookie: x=1; path=/a/", "Connection: close"]


def test_warnings_with_another_date_are_removed() -> None:
    other = '"Sun, 06 Nov 1994 08:49:38 GMT"'
    fields = Headers([("Date", DATE), ("Warning", f'110 a "b" {other}, 111 c "d" "{DATE}", 112 e "f"')])
    kept = [f'111 c "d" "{DATE}"', '112 e "f"']
    assert _without_old_warnings(fields).get_all("Warning") == kept


@pytest.mark.parametrize(
    ("conf", "status", "page"),
    [("ProxyErrorOverride On", "404 Not Found", True), ("ProxyErrorOverride On 500", "404 Nope", False)],
)
def test_error_override(tmp_path: Path, conf: str, status: str, page: bool) -> None:
    answer = "HTTP/1.1 404 Nope\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nno"
    lines = received(tmp_path, answer, conf)
    assert ("Content-Type: text/html; charset=iso-8859-1" in lines) is page
    assert lines[0].startswith("HTTP/1.1 404")
