"""Heads of responses whose content is filtered.  Expected responses are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import Reply, fetch
from tests.support.engine import build_engine

from whimbrel.engine.connection import Connection
from whimbrel.testing.client import TestClient

MODULES = ("filter", "case_filter", "include", "expires", "headers")
LOAD = "".join(f"LoadModule {name}_module m/mod_{name}.so\n" for name in MODULES)
FILES = {"htdocs/a.txt": "words", "htdocs/a.html": "<b>", "htdocs/err.html": "error"}
MATCH = "If-None-Match: *"
PAST = "If-Unmodified-Since: Sat, 01 Jan 2000 00:00:00 GMT"


def ask(root: Path, conf: str, path: str, *lines: str, method: str = "GET") -> Reply:
    return fetch(build_engine(root, LOAD + conf + "\n", FILES), path, *lines, method=method)


def test_page_for_an_unsatisfiable_range_of_a_filtered_file(tmp_path: Path) -> None:
    conf = "SetOutputFilter CASEFILTER\nErrorDocument 416 /err.html"
    reply = ask(tmp_path, conf, "/a.txt", "Range: bytes=99-")
    assert (reply.status, reply.get("Content-Length"), reply.body) == (416, "5", "ERROR")


@pytest.mark.parametrize("path", ["/a.txt", "/a.html"])
def test_includes_of_another_type_prevents_etags_and_conditions(tmp_path: Path, path: str) -> None:
    conf = "<Directory />\nOptions +Includes\n</Directory>\nAddOutputFilterByType INCLUDES text/html"
    reply = ask(tmp_path, conf, path, PAST)
    assert (reply.status, reply.get("ETag")) == (200, None)


def test_fields_of_a_304_that_header_sets(tmp_path: Path) -> None:
    reply = ask(tmp_path, "Header set Content-Type a/b", "/a.txt", MATCH)
    assert (reply.status, reply.get("Content-Type")) == (304, "a/b")
    assert ask(tmp_path, "", "/a.txt", MATCH).get("Content-Type") is None


def test_failed_condition_does_not_expire(tmp_path: Path) -> None:
    conf = "ExpiresActive On\nExpiresDefault A60"
    found = [ask(tmp_path, conf, "/a.txt", *lines).get("Cache-Control") for lines in ((), (MATCH,), (PAST,))]
    assert found == ["max-age=60", "max-age=60", None]


@pytest.mark.parametrize(
    ("conf", "sent"),
    [
        ("", True),
        ("SetOutputFilter CASEFILTER", False),
        ("AddOutputFilterByType CASEFILTER text/html", False),
        ("FilterDeclare up CONTENT_SET\nFilterProvider up CASEFILTER true\nFilterChain up", True),
    ],
)
def test_digest_only_before_filters_of_the_resource(tmp_path: Path, conf: str, sent: bool) -> None:
    reply = ask(tmp_path, f"ContentDigest On\n{conf}", "/a.txt")
    assert (reply.get("Content-MD5") is not None) is sent


def test_options_has_no_length_before_its_filters(tmp_path: Path) -> None:
    reply = ask(tmp_path, 'Header set X-L "expr=(%{resp:Content-Length})"', "/a.txt", method="OPTIONS")
    assert (reply.get("X-L"), reply.get("Content-Length")) == ("()", "0")


def test_last_modified_of_a_document_without_any(tmp_path: Path) -> None:
    conf = "<Directory />\nOptions +Includes\nSetOutputFilter INCLUDES\nSSILastModified On\n</Directory>"
    assert ask(tmp_path, conf, "/a.txt", method="OPTIONS").get("Last-Modified") is not None


@pytest.mark.parametrize(
    ("version", "expect", "closes"),
    [("1.0", "100-continue", True), ("1.0", "", False), ("1.1", "100-continue", True)],
)
def test_a_connection_whose_client_awaits_100_ends(
    version: str, expect: str, closes: bool, tmp_path: Path
) -> None:
    client = TestClient(build_engine(tmp_path, "", FILES), Connection("127.0.0.1", 50000, "127.0.0.1", 80))
    head = f"GET /a.txt HTTP/{version}\r\nHost: h\r\nConnection: keep-alive\r\nExpect: {expect}\r\n\r\n"
    assert (b"Connection: close" in client.send(head.encode())) is closes


def test_force_no_vary_takes_effect_before_the_first_element(tmp_path: Path) -> None:
    conf = f"{LOAD}LoadModule env_module m/mod_env.so\nSetEnv force-no-vary 1\nOptions +Includes\n"
    page = '<!--#echo var="force-response-1.0" --> <!--#include virtual="/b.html" -->'
    files = {"htdocs/a.html": page, "htdocs/b.html": '<!--#echo var="force-response-1.0" -->'}
    serving = build_engine(tmp_path, f"{conf}SetOutputFilter INCLUDES", files)
    assert fetch(serving, "/a.html").body == "1 1"
