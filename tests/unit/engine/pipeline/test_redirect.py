"""Internal redirects: ErrorDocument, FallbackResource and rewriting in a directory, and their limit."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import AccessSite

from whimbrel.engine.request import Connection
from whimbrel.testing.client import TestClient

HEADERS = "mpm_event authz_core dir headers rewrite"


def test_an_error_document_keeps_the_status_and_has_its_own_body(tmp_path: Path) -> None:
    answer = AccessSite(tmp_path, "ErrorDocument 404 /f.html\n").fetch("/none")
    assert answer.startswith("HTTP/1.1 404 Not Found\r\n") and answer.endswith("\r\n\r\npage\n")


def test_a_fallback_resource_answers_200(tmp_path: Path) -> None:
    answer = AccessSite(tmp_path, "FallbackResource /f.html\n").fetch("/none")
    assert answer.startswith("HTTP/1.1 200 OK\r\n") and answer.endswith("\r\n\r\npage\n")


def test_variables_of_the_first_request_get_a_prefix(tmp_path: Path) -> None:
    conf = """ErrorDocument 404 /f.html
RewriteEngine On
RewriteRule ^/none$ - [E=COLOUR:red]
Header always set X-Status "%{REDIRECT_STATUS}e"
Header always set X-Colour "%{REDIRECT_COLOUR}e"
Header always set X-Plain "%{COLOUR}e"
"""
    answer = AccessSite(tmp_path, conf, modules=HEADERS).fetch("/none")
    assert "\r\nX-Status: 404\r\n" in answer and "\r\nX-Colour: red\r\n" in answer
    assert "\r\nX-Plain: (null)\r\n" in answer


@pytest.mark.parametrize(("limit", "status"), [("", 500), ("LimitInternalRecursion 3", 500)])
def test_redirects_without_end_are_stopped(tmp_path: Path, limit: str, status: int) -> None:
    conf = f"""{limit}
<Directory "@DOCROOT@">
RewriteEngine On
RewriteRule ^(.*)$ /x$1
</Directory>
"""
    site = AccessSite(tmp_path, conf, modules=HEADERS)
    assert (site.status("/f.html"), site.codes()) == (status, ["AH00124"])


def test_a_redirect_target_is_a_get(tmp_path: Path) -> None:
    """The target of ErrorDocument is requested with GET, whatever the client's method was."""
    answer = AccessSite(tmp_path, "ErrorDocument 405 /in/f.html\n").fetch("/f.html", method="DELETE")
    assert answer.startswith("HTTP/1.1 405 ") and answer.endswith("\r\n\r\ninner\n")


def test_an_external_error_document_is_a_302(tmp_path: Path) -> None:
    answer = AccessSite(tmp_path, "ErrorDocument 404 http://other.test/gone\n").fetch("/none")
    assert answer.startswith("HTTP/1.1 302 Found\r\n")
    assert "\r\nLocation: http://other.test/gone\r\n" in answer


@pytest.mark.parametrize(
    ("conf", "lines"),
    [
        ("ErrorDocument 404 /f.html\n", "Content-Length: 3\r\nTransfer-Encoding: chunked"),
        ("FallbackResource /f.html\n", "Content-Length: 3\r\nTransfer-Encoding: chunked"),
        ("ErrorDocument 417 /f.html\n", "Expect: x\r\nContent-Length: 5"),
    ],
)
def test_a_connection_that_ends_does_so_after_a_redirect(tmp_path: Path, conf: str, lines: str) -> None:
    """The body of such a request is never read as a further request."""
    site = AccessSite(tmp_path, conf)
    client = TestClient(site.engine, Connection("127.0.0.1", 5000, "127.0.0.1", 8080))
    first = f"POST /none HTTP/1.1\r\n{lines}\r\nHost: localhost\r\n\r\n0\r\n\r\n"
    data = client.send(f"{first}GET /in/f.html HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert (data.count(b"HTTP/1.1 "), data.endswith(b"\r\n\r\npage\n"), client.closed) == (1, True, True)


def test_a_redirect_keeps_the_port_of_the_host_field(tmp_path: Path) -> None:
    """The port is that of the client's URL (SERVER_PORT of CGI); asked of apache2 with ErrorDocument."""
    conf = 'ErrorDocument 404 /f.html\nHeader always set X-Port "expr=%{SERVER_PORT}"\n'
    site = AccessSite(tmp_path, conf, modules=HEADERS)
    for path in ("/f.html", "/none"):
        request = f"GET {path} HTTP/1.1\r\nHost: localhost:1234\r\n\r\n".encode()
        client = TestClient(site.engine, Connection("127.0.0.1", 5000, "127.0.0.1", 8080))
        assert b"\r\nX-Port: 1234\r\n" in client.send(request)
