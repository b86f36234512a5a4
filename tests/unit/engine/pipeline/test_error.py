"""Failing requests, as recorded: failure named by the page, settings, early refusals, unread bodies."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tests.support.access_site import AccessSite
from tests.support.cached_site import Origin, OriginModules
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.base.dialect import V24
from whimbrel.config.load import load
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.modules import ALL
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads
from whimbrel.registry.phases import FIXUPS
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime

HOST = "Host: localhost\r\nConnection: close\r\n"
SHUT = """<Directory "@DOCROOT@">
AllowOverride All
ErrorDocument 500 "inner"
</Directory>
ErrorDocument 404 /f.html
<Files f.html>
Order deny,allow
Deny from all
</Files>
"""


def test_an_error_document_that_fails_too(tmp_path: Path) -> None:
    assert "<p>Additionally, a 404 Not Found\nerror was" in AccessSite(tmp_path, SHUT).fetch("/none")


def test_the_log_of_an_error_document_that_fails_too(tmp_path: Path) -> None:
    log = (
        "LoadModule log_config_module m/mod_log_config.so\nLoadModule logio_module m/mod_logio.so\n"
        'CustomLog access "%s %>s %b %X %O"\n'
    )
    site = AccessSite(tmp_path, log + SHUT)
    answers = [sent(site, f"GET /none HTTP/1.1\r\n{HOST}\r\n") for _ in range(3)]
    lines = site.engine.runtime.logs[str(tmp_path / "access")]  # type: ignore[attr-defined]
    assert [line.decode() for line in lines] == [f"404 403 - - {len(answer)}\n" for answer in answers]


def test_the_first_failure_is_named_in_2_2_too(tmp_path: Path) -> None:
    """Recorded of 2.2.34: the ErrorDocument itself is a bad request."""
    conf = "ErrorDocument 404 '/{;<%%\\'#a}'\n"
    answer = AccessSite(tmp_path, conf, version="2.2").fetch("/w20")
    assert answer.startswith("HTTP/1.1 404 ") and "<p>Additionally, a 404 Not Found\nerror was" in answer


def test_a_broken_htaccess_leaves_the_settings_as_they_were_before_the_folders(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, SHUT)
    (tmp_path / "htdocs/.htaccess").write_text("nonsense\n")
    answer = site.fetch("/in/")
    assert answer.startswith("HTTP/1.1 500 ") and "<title>500 Internal Server Error</title>" in answer


@pytest.mark.parametrize(
    ("size", "framing"), [(7762, "Content-Length: 8000"), (7763, "Transfer-Encoding: chunked")]
)
def test_the_length_of_a_long_page_is_not_known_when_it_begins(
    tmp_path: Path, size: int, framing: str
) -> None:
    """Recorded of 2.4.71: the page of a redirect to http://x.test/aaa... has 238 further bytes."""
    site = AccessSite(
        tmp_path, "LoadModule alias_module m/mod_alias.so\nRedirectMatch ^/r/(.*)$ http://x.test/$1\n"
    )
    assert f"\r\n{framing}\r\n" in site.fetch("/r/" + "a" * size)


def sent(site: AccessSite, data: str) -> str:
    """Return the whole response to these bytes."""
    return (
        TestClient(site.engine, Connection("127.0.0.1", 5000, "127.0.0.1", 8080))
        .send(data.encode())
        .decode("latin-1")
    )


@pytest.mark.parametrize(
    ("path", "close", "fields"),
    [
        ("/busy", "", ["Connection: close"]),
        ("/busy", "Connection: close\r\n", ["Connection: close"]),
        ("/gone", "", ["Transfer-Encoding: chunked"]),
        ("/gone", "Connection: close\r\n", ["Connection: close", "Transfer-Encoding: chunked"]),
    ],
)
def test_the_framing_of_an_error_document_without_length(
    tmp_path: Path, path: str, close: str, fields: list[str]
) -> None:
    """Asked of apache2: 503 ends the connection before its document is requested, 410 does not."""
    conf = (
        "LoadModule alias_module m/mod_alias.so\nLoadModule include_module m/mod_include.so\n"
        "Redirect 503 /busy\nRedirect 410 /gone\nErrorDocument 503 /l.shtml\nErrorDocument 410 /l.shtml\n"
        '<Directory "@DOCROOT@">\nOptions +Includes\nSetOutputFilter INCLUDES\n</Directory>\n'
    )
    site = AccessSite(tmp_path, conf)
    (tmp_path / "htdocs/l.shtml").write_text('<!--#echo var="X" -->' + 9000 * "x")
    head = sent(site, f"GET {path} HTTP/1.1\r\nHost: a\r\n{close}\r\n").partition("\r\n\r\n")[0]
    names = ("Content-Length", "Transfer-Encoding", "Connection")
    assert [line for line in head.split("\r\n") if line.startswith(names)] == fields


@pytest.mark.parametrize(
    ("target", "uri"), [("/%00", "/"), ("/f.html%00", "/f.html"), ("/a%00b%41", "/a"), ("/a%2fb%00", "/a/b")]
)
def test_a_uri_ends_at_a_nul(tmp_path: Path, target: str, uri: str) -> None:
    """Asked of apache2."""
    answer = AccessSite(tmp_path, 'ErrorDocument 404 "[%{REQUEST_URI}]"\n').fetch(target)
    assert answer.startswith("HTTP/1.1 404 ") and answer.endswith(f"\r\n\r\n[{uri}]")


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ("\r\n" * 12 + "GET / HTTP/1.0\r\n\r\n", "|/||400|localhost"),
        (" / HTTP/1.0\r\n\r\n", "|/||400|localhost"),
        ("GET http:///f.html HTTP/1.0\r\n\r\n", "GET|/f.html||200|"),
        ("GET http:///none HTTP/1.1\r\nHost: q\r\n\r\n", "GET|/none||404|"),
        ("GET /f.html HTTP/1.1\r\nHost:\r\n\r\n", "GET|/f.html||400|localhost"),
    ],
)
def test_empty_methods_and_host_names_are_logged_as_such(tmp_path: Path, data: str, line: str) -> None:
    """Asked of apache2."""
    log = 'LoadModule log_config_module m/mod_log_config.so\nCustomLog access "%m|%U|%q|%>s|%V"\n'
    site = AccessSite(tmp_path, log + "UseCanonicalName Off\n")
    sent(site, data)
    lines = site.engine.runtime.logs[str(tmp_path / "access")]  # type: ignore[attr-defined]
    assert [text.decode() for text in lines] == [line + "\n"]


def test_2_2_refuses_a_bad_length_when_the_body_is_read(tmp_path: Path) -> None:
    """Recorded of 2.2.34: the handler of files discards the body."""
    site = AccessSite(tmp_path, "", version="2.2")
    answer = sent(site, f"GET /f.html HTTP/1.1\r\nContent-Length: abc\r\n{HOST}\r\n")
    assert answer.startswith("HTTP/1.1 400 ") and "\r\nContent-Length:" not in answer


@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_a_refused_head_ends_the_connection_whatever_the_error_document_says(
    tmp_path: Path, version: str
) -> None:
    """Recorded of 2.2.34."""
    answer = sent(
        AccessSite(tmp_path, "ErrorDocument 400 http://x.test/e400\n", version=version),
        "GET / HTTP/1.1\r\n\r\n",
    )
    assert (
        answer.startswith("HTTP/1.1 302 ")
        and "\r\nLocation: http://x.test/e400\r\n" in answer
        and "\r\nConnection: close\r\n" in answer
    )


def test_an_expectation_that_is_refused_ends_the_connection_without_a_word(tmp_path: Path) -> None:
    answer = sent(AccessSite(tmp_path, ""), "GET / HTTP/1.1\r\nHost: localhost\r\nExpect: nope\r\n\r\n")
    assert answer.startswith("HTTP/1.1 417 ") and "\r\nConnection:" not in answer


@pytest.mark.parametrize(
    ("data", "body"),
    [
        ("GET  /d// HTTP/1.1\n\n", "bad |GET  /d// HTTP/1.1\n|"),
        (f"GET /a HTTP/1.1\r\nX A: b\r\n{HOST}\r\n", "bad /a|GET /a HTTP/1.1|GET"),
    ],
)
def test_what_of_a_line_is_known_to_expressions(tmp_path: Path, data: str, body: str) -> None:
    site = AccessSite(tmp_path, 'ErrorDocument 400 "bad %{REQUEST_URI}|%{THE_REQUEST}|%{REQUEST_METHOD}"\n')
    assert sent(site, data).endswith("\r\n\r\n" + body)


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://a..b/f.html", 400),
        ("http://a_b/f.html", 200),
        ("http://localhost/f.html", 200),
        ("/f.html", 200),
    ],
)
def test_host_names_of_lines_without_a_version(tmp_path: Path, target: str, status: int) -> None:
    answer = sent(AccessSite(tmp_path, "HttpProtocolOptions Allow0.9\n"), f"GET {target}\r\n")
    assert ("<title>400 Bad Request</title>" in answer, answer == "page\n") == (status == 400, status == 200)


CHUNKED = f"Transfer-Encoding: chunked\r\n{HOST}"


@pytest.mark.parametrize(
    ("line", "more", "status", "measured"),
    [
        ("GET /f.html", "", 400, False),  # the body is read before the file is sent
        ("GET /none", "", 400, False),  # and before the page that says there is none
        (
            "GET /f.html",
            "Content-Length: 5\r\n",
            200,
            True,
        ),  # the connection closes in any case: the body is not validated
        ("GET /none", "Content-Length: 5\r\n", 404, True),
        ("TRACE /f.html", "", 413, True),  # statuses that end the connection leave the body unread
        ("GET /%zz", "", 400, True),
    ],
)
def test_a_bad_body_where_it_matters(
    tmp_path: Path, line: str, more: str, status: int, measured: bool
) -> None:
    answer = sent(AccessSite(tmp_path, ""), f"{line} HTTP/1.1\r\n{more}{CHUNKED}\r\n-1\r\n")
    assert (int(answer.split(" ")[1]), "\r\nContent-Length: " in answer) == (status, measured)


def test_an_error_document_of_a_status_that_ends_the_connection_reads_no_body(tmp_path: Path) -> None:
    conf = "LoadModule alias_module m/mod_alias.so\nRedirect 500 /r\nErrorDocument 500 /f.html\n"
    answer = sent(AccessSite(tmp_path, conf), f"POST /r HTTP/1.1\r\n{CHUNKED}\r\n-1\r\n")
    assert answer.startswith("HTTP/1.1 500 ") and answer.endswith("\r\n\r\npage\n")


@pytest.mark.parametrize("is_http2", [False, True])
def test_a_body_that_the_error_document_cannot_read(tmp_path: Path, is_http2: bool) -> None:
    """The body is read for the ErrorDocument only; the page names the first failure twice."""
    conf = "<Location /in>\nRequire all denied\n</Location>\nErrorDocument 403 /f.html\n"
    engine = AccessSite(tmp_path, conf).engine
    client = TestClient(engine, Connection("127.0.0.1", 5000, "127.0.0.1", 8080, is_http2=is_http2))
    answer = client.send(f"POST /in/f.html HTTP/1.1\r\n{CHUNKED}\r\n-1\r\n".encode()).decode()
    assert answer.startswith("HTTP/1.1 403 ") and "a 403 Forbidden\nerror was encountered" in answer


def test_an_error_document_for_a_bad_body(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, "ErrorDocument 400 /f.html\n")
    answer = sent(site, f"POST /f.html HTTP/1.1\r\n{CHUNKED}\r\n-1\r\n")
    assert answer.startswith("HTTP/1.1 400 ") and answer.endswith("\r\n\r\npage\n")
    assert "\r\nConnection: close\r\n" in answer


@pytest.mark.parametrize(("said", "status"), [("bytes=100-", 416), ("bytes=0-1", 200)])
def test_max_ranges_none_still_tells_of_ranges_that_cannot_be_met(
    tmp_path: Path, said: str, status: int
) -> None:
    assert AccessSite(tmp_path, "MaxRanges none\n").status("/f.html", headers=f"Range: {said}\r\n") == status


class _Failing(OriginModules):
    """All modules, with a hook of fix-ups that returns *status*."""

    def __init__(self, status: int) -> None:
        super().__init__(Origin())
        self.status = status

    def __getitem__(self, name: str) -> Module:
        if name != "core":
            return super().__getitem__(name)
        hook = Hook(FIXUPS, lambda _: CompiledHook(lambda _r: self.status, Reads.UNCACHEABLE), Order.FIRST)
        return dataclasses.replace(ALL[name], hooks=(*ALL[name].hooks, hook))


@pytest.mark.parametrize(("given", "status"), [(99, 500), (600, 500), (1000, 500), (503, 503), (404, 404)])
def test_a_status_that_is_none_is_a_500(tmp_path: Path, given: int, status: int) -> None:
    """http_request.c, ap_die: AH01579."""
    options = build_engine(tmp_path, "", {"htdocs/a.txt": "a"}).configuration.options
    runtime = FakeRuntime()
    engine = Engine(load(options, _Failing(given), V24), runtime)
    assert fetch(engine, "/a.txt").status == status
    written = b"".join(line for lines in runtime.logs.values() for line in lines).decode()
    assert (f"AH01579: Invalid response status {given}" in written) is (given != status)
