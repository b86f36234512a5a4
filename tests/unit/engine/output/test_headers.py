"""The head of a finished response: persistence, framing and fields, as httpd's ap_set_keepalive and header
filter decide.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import AccessSite

from whimbrel.engine.request import Connection
from whimbrel.testing.client import TestClient

MODULES = "mpm_event authz_core dir mime setenvif headers"
TYPES = "TypesConfig /dev/null\nAddType text/html .html\n"


def fields(site: AccessSite, head: str) -> dict[str, str]:
    """Return the fields of the response to *head*, its status line under ""; on a new connection."""
    client = TestClient(site.engine, Connection("127.0.0.1", 5000, "127.0.0.1", 8080))
    lines = client.send(head.encode()).decode("latin-1").partition("\r\n\r\n")[0].split("\r\n")
    return {"": lines[0]} | {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}


# configuration, version and fields of the request, Connection and Keep-Alive of the response
PERSISTENCE = {
    "1.1": ("", "1.1", "", None, None),
    "1.1, close": ("", "1.1", "Connection: close\r\n", "close", None),
    "1.1, asked for": ("", "1.1", "Connection: keep-alive\r\n", "Keep-Alive", "timeout=5, max=100"),
    "1.0": ("", "1.0", "", "close", None),
    "1.0, asked for": ("", "1.0", "Connection: keep-alive\r\n", "Keep-Alive", "timeout=5, max=100"),
    "off": ("KeepAlive Off", "1.1", "", "close", None),
    "no limit": ("MaxKeepAliveRequests 0", "1.1", "Connection: keep-alive\r\n", "Keep-Alive", "timeout=5"),
    "nokeepalive": ("SetEnvIf Request_URI . nokeepalive", "1.1", "", "close", None),
}


@pytest.mark.parametrize("case", PERSISTENCE)
def test_persistence(tmp_path: Path, case: str) -> None:
    conf, version, more, connection, keep_alive = PERSISTENCE[case]
    site = AccessSite(tmp_path, TYPES + conf + "\n", modules=MODULES)
    found = fields(site, f"GET /f.html HTTP/{version}\r\nHost: localhost\r\n{more}\r\n")
    assert (found.get("connection"), found.get("keep-alive")) == (connection, keep_alive)


GET = "GET /f.html HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_a_head_request_has_the_fields_of_get_and_no_body(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, TYPES, modules=MODULES)
    got, head = fields(site, GET), fields(site, GET.replace("GET", "HEAD"))
    assert {**head, "date": ""} == {**got, "date": ""}
    assert site.fetch("/f.html", method="HEAD").endswith("\r\n\r\n")


def test_a_304_has_the_validators_and_no_fields_of_a_body(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, TYPES, modules=MODULES)
    found = fields(site, GET.replace("\r\n\r\n", f"\r\nIf-None-Match: {fields(site, GET)['etag']}\r\n\r\n"))
    assert found[""] == "HTTP/1.1 304 Not Modified" and "etag" in found
    assert not {"content-type", "content-length", "transfer-encoding"} & found.keys()


@pytest.mark.parametrize(
    ("conf", "kind"),
    [
        ("", "text/html"),
        ("AddDefaultCharset utf-8", "text/html; charset=utf-8"),
        ("AddDefaultCharset On", "text/html; charset=iso-8859-1"),
        ("AddDefaultCharset utf-8\nAddCharset koi8-r .html", "text/html; charset=koi8-r"),
        ("AddDefaultCharset utf-8\nAddType image/x-none .html", "image/x-none"),
    ],
)
def test_the_default_charset_is_added_to_text(tmp_path: Path, conf: str, kind: str) -> None:
    assert fields(AccessSite(tmp_path, f"{TYPES}{conf}\n", modules=MODULES), GET)["content-type"] == kind


def test_environment_variables_change_version_and_vary(tmp_path: Path) -> None:
    conf = 'Header set Vary "Cookie"\nSetEnvIf User-Agent old {}\n'
    old = GET.replace("\r\n\r\n", "\r\nUser-Agent: old\r\n\r\n")
    site = AccessSite(tmp_path, TYPES + conf.format("force-response-1.0 downgrade-1.0"), modules=MODULES)
    assert (fields(site, GET)[""], fields(site, old)[""]) == ("HTTP/1.1 200 OK", "HTTP/1.0 200 OK")
    site = AccessSite(tmp_path, TYPES + conf.format("force-no-vary"), modules=MODULES)
    assert (fields(site, GET).get("vary"), fields(site, old).get("vary")) == ("Cookie", None)


def test_vary_names_each_field_once(tmp_path: Path) -> None:
    conf = 'Header add Vary "Cookie, accept"\nHeader add Vary "Accept"\n'
    assert fields(AccessSite(tmp_path, TYPES + conf, modules=MODULES), GET)["vary"] == "Cookie,accept"


def test_languages_of_fields_join_those_of_the_file(tmp_path: Path) -> None:
    conf = 'DefaultLanguage nl\nHeader always set Content-Language "xx, NL"\n'
    assert fields(AccessSite(tmp_path, TYPES + conf, modules=MODULES), GET)["content-language"] == "nl,xx"


def test_a_client_cannot_claim_another_version_to_get_invalid_fields(tmp_path: Path) -> None:
    """httpd answers HTTP/2.0 in a request line with HTTP/1.1."""
    site = AccessSite(tmp_path, TYPES + 'Header set X-B "expr=%{unescape:a%01}"\n', modules=MODULES)
    assert fields(site, GET.replace("HTTP/1.1", "HTTP/2.0"))[""] == "HTTP/1.1 500 Internal Server Error"


@pytest.mark.parametrize(("more", "words"), [("", ""), ("Range: bytes=0-1\r\n", "a 206 Partial Content")])
def test_the_500_for_an_invalid_field_ends_the_connection(tmp_path: Path, more: str, words: str) -> None:
    conf = 'Header set X-B "expr=%{unescape:a%01}"\n'
    site = AccessSite(tmp_path, TYPES + conf, modules=MODULES)
    client = TestClient(site.engine, Connection("127.0.0.1", 5000, "127.0.0.1", 8080))
    answer = client.send(GET.replace("\r\n\r\n", f"\r\n{more}\r\n").encode()).decode("latin-1")
    head, _, page = answer.partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 500 ") and "\r\nConnection: close\r\n" in head
    assert "Content-Length" not in head and "Transfer-Encoding" not in head
    assert page.startswith("<!DOCTYPE") and ("Additionally, " in page) == bool(words) and words in page


def test_http_0_9_has_no_head(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, TYPES + "HttpProtocolOptions Unsafe Allow0.9\n", modules=MODULES)
    client = TestClient(site.engine, Connection("127.0.0.1", 5000, "127.0.0.1", 8080))
    assert client.send(b"GET /f.html\r\n") == b"page\n"


def test_modules_do_not_replace_the_server_field(tmp_path: Path) -> None:
    """Recorded of 2.4.71."""
    conf = "LoadModule headers_module m/mod_headers.so\nServerTokens Prod\nHeader set Server mine\n"
    assert "\r\nServer: Whimbrel\r\n" in AccessSite(tmp_path, conf).fetch()
