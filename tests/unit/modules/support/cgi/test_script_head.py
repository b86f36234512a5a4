"""Heads of programs.  Expected responses are those of httpd 2.4.71 and 2.2.34."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import error_log, fetch
from tests.support.scripts import build_cgi_engine, script, script_request

from whimbrel.modules.support.cgi.script_head import ScriptHead


@pytest.mark.parametrize(
    ("field", "status", "line"),
    [
        ("Status: 404", 404, None),
        ("Status: 299", 299, "299 "),
        ("Status: 999 Hm", 999, "999 Hm"),
        ("Status: 404Foo", 404, None),
        ("Status: 404 Bar", 404, "404 Bar"),
        ("status:204 x", 204, "204 x"),
        ("Status: abc", 0, None),
        ("Status: 99", 99, None),
        ("Status: 200 a\tb", 200, "200 a\tb"),
        ("Status: 200 a\x01b", 200, None),
        ("Status: 2\r00 a\0b", 200, "200 a"),
    ],
)
def test_status(field: str, status: int, line: str | None, tmp_path: Path) -> None:
    r = script_request(tmp_path)
    head = ScriptHead(r, "cgi")
    assert head.line(field) is None
    assert head.line("") == 0
    assert (r.status, r.status_line) == (status, line)


@pytest.mark.parametrize("version", ["2.4", "2.2"])
def test_a_date_that_cannot_be_read_is_reported(tmp_path: Path, version: str) -> None:
    text = script("Content-Type: text/plain\\nLast-Modified: junk\\n\\n")
    engine = build_cgi_engine(tmp_path, {"a.cgi": text}, "LogLevel info\n", version)
    assert fetch(engine, "/a.cgi").get("Last-Modified") is None
    line = "[client 127.0.0.1:50000] AH10247: Ignored invalid header value: Last-Modified: 'junk'\n"
    assert (line in error_log(engine)) is (version == "2.4")


def test_tables(tmp_path: Path) -> None:
    r = script_request(tmp_path)
    head = ScriptHead(r, "cgi")
    for line in (
        "Location: /x",
        "ETag: q",
        "X-D: 1",
        "Set-Cookie: a=1",
        "X-D: 2",
        "Set-Cookie: b=2",
        "Last-Modified: Sun, 13 Sep 2020 12:26:40 GMT",
    ):
        assert head.line(line) is None
    assert head.line("") == 0
    assert r.headers_out.items() == [
        ("Location", "/x"),
        ("ETag", "q"),
        ("Last-Modified", "Sun, 13 Sep 2020 12:26:40 GMT"),
    ]
    assert r.err_headers_out.items() == [("X-D", "1, 2"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]


def test_etag_is_a_field_like_others_in_the_old_version(tmp_path: Path) -> None:
    r = script_request(tmp_path, "2.2")
    head = ScriptHead(r, "cgi")
    head.line("ETag: q")
    head.line("")
    assert r.err_headers_out.items() == [("ETag", "q")]


def test_errors_are_noted_for_error_documents(tmp_path: Path) -> None:
    r = script_request(tmp_path)
    assert ScriptHead(r, "cgi").line("a <b> line that is longer than thirty characters") == 500
    assert (
        r.notes["error-notes"]
        == "malformed header from script 'a.cgi': Bad header: a &lt;b&gt; line that is longer than"
    )
    assert ScriptHead(script_request(tmp_path), "cgi").ended() == 500
    assert ScriptHead(script_request(tmp_path), "cgi").timed_out() == 504
    assert ScriptHead(script_request(tmp_path, "2.2"), "cgi").timed_out() == 500


@pytest.mark.parametrize("filtered", [False, True])
def test_conditions_are_ignored_where_a_filter_makes_the_content(tmp_path: Path, filtered: bool) -> None:
    r = script_request(tmp_path)
    r.headers_in.set("If-None-Match", "*")
    r.no_local_copy = filtered
    head = ScriptHead(r, "cgi")
    head.line("ETag: q")
    assert head.line("") == (0 if filtered else 304)


def test_names_stay_as_the_program_writes_them(tmp_path: Path) -> None:
    r = script_request(tmp_path)
    head = ScriptHead(r, "cgi")
    for line in ("etag: a", "ETag: b", "CONTENT-RANGE: c", "set-cookie: d=1", "Set-Cookie: e=2"):
        assert head.line(line) is None
    assert head.line("") == 0
    assert r.headers_out.items() == [("etag", "b"), ("CONTENT-RANGE", "c")]
    assert r.err_headers_out.items() == [("set-cookie", "d=1"), ("Set-Cookie", "e=2")]
