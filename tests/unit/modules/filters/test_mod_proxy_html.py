"""mod_proxy_html in the engine: where the filter acts, fields, framing."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("lxml", reason="lxml is not installed")

from tests.support.client import decoded_body, error_log, fetch
from tests.support.engine import build_engine

LOAD = "LoadModule proxy_html_module modules/mod_proxy_html.so\n"
BOTH = f"{LOAD}LoadModule xml2enc_module modules/mod_xml2enc.so\n"
ON = "ProxyHTMLEnable On\nProxyHTMLLinks a href\nProxyHTMLURLMap /app/ /new/\n"
FORCED = f"{ON}SetEnv PROXY_HTML_FORCE 1\n"
PAGE = "<html><body><a href=/app/x>\xe4</a></body></html>"
FILES = {
    "htdocs/p.html": PAGE,
    "htdocs/two.html": "<p",
    "htdocs/big.html": f"<html><body>{'<p>x</p>' * 60_000}",
}


def test_a_forced_document_is_mapped(tmp_path: Path) -> None:
    reply = fetch(build_engine(tmp_path, BOTH + FORCED, FILES), "/p.html")
    assert reply.body == '<html><body><a href="/new/x">\xc3\xa4</a></body></html>'
    assert reply.get("Content-Type") == "text/html;charset=utf-8"
    assert reply.get("Content-Length") == str(len(reply.body))


def test_a_file_that_is_not_proxied_is_converted_only(tmp_path: Path) -> None:
    reply = fetch(build_engine(tmp_path, BOTH + ON, FILES), "/p.html")
    assert reply.body == PAGE.replace("\xe4", "\xc3\xa4")


def test_nothing_happens_without_links(tmp_path: Path) -> None:
    conf = f"{LOAD}ProxyHTMLEnable On\nSetEnv PROXY_HTML_FORCE 1"
    assert fetch(build_engine(tmp_path, conf, FILES), "/p.html").body == PAGE


def test_short_documents_pass(tmp_path: Path) -> None:
    assert fetch(build_engine(tmp_path, BOTH + FORCED, FILES), "/two.html").body == "<p"


def test_a_large_document_is_sent_in_chunks(tmp_path: Path) -> None:
    reply = fetch(build_engine(tmp_path, BOTH + FORCED, FILES), "/big.html")
    assert reply.get("Transfer-Encoding") == "chunked"
    assert decoded_body(reply) == FILES["htdocs/big.html"] + "</body></html>"


@pytest.mark.parametrize(
    ("charset", "status", "body"),
    [
        ("iso-8859-1", 200, '<html><body><a href="/new/x">\xe4</a></body></html>'),
        ("us-ascii", 500, None),
        ("klingon", 200, '<html><body><a href="/new/x">\xc3\xa4</a></body></html>'),
    ],
)
def test_charsets_of_the_output(tmp_path: Path, charset: str, status: int, body: str | None) -> None:
    reply = fetch(build_engine(tmp_path, f"{BOTH}{FORCED}ProxyHTMLCharsetOut {charset}", FILES), "/p.html")
    assert reply.status == status
    assert body is None or (reply.body, reply.get("Content-Type")) == (body, f"text/html;charset={charset}")


def test_a_large_document_ends_early_where_its_last_bytes_fail(tmp_path: Path) -> None:
    files = {"htdocs/p.html": f"<html><body>{'<p>x</p>' * 2000}\xe4"}
    reply = fetch(build_engine(tmp_path, f"{BOTH}{FORCED}ProxyHTMLCharsetOut us-ascii", files), "/p.html")
    assert reply.get("Transfer-Encoding") == "chunked"
    assert "<p>x</p>" in reply.body and not reply.body.endswith("\r\n0\r\n\r\n")


def test_without_xml2enc_a_warning_is_logged(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, LOAD + FORCED, FILES)
    assert fetch(engine, "/p.html").get("Content-Type") == "text/html;charset=utf-8"
    assert "AH01422: No i18n support found.  Install mod_xml2enc if required" in error_log(engine)


def test_a_repeated_response_comes_from_the_cache(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, BOTH + FORCED, FILES)
    assert fetch(engine, "/p.html") == fetch(engine, "/p.html") == fetch(engine, "/p.html")


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_methods(tmp_path: Path, method: str) -> None:
    reply = fetch(build_engine(tmp_path, BOTH + FORCED, FILES), "/p.html", method=method)
    assert reply.get("Content-Type") == "text/html;charset=utf-8"


def test_fields_end_at_the_element_that_xml2enc_cuts(tmp_path: Path) -> None:
    fields = [f'<meta http-equiv="X-{name}" content="1">' for name in "AB"]
    cut = '<meta http-equiv="Content-Type" content="text/html; charset=utf-8">'
    page = f"<html><head>{fields[0]}{cut}{fields[1]}</head><body>x</body></html>"
    conf = f"{FORCED}ProxyHTMLMeta On\n"
    for load, second in ((BOTH, None), (LOAD, "1")):
        reply = fetch(build_engine(tmp_path, load + conf, {"htdocs/m.html": page}), "/m.html")
        assert (reply.get("X-A"), reply.get("X-B")) == ("1", second)
