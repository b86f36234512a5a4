"""Heads of nph- scripts over HTTP/2.  Expected answers are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.scripts import script_request

from whimbrel.modules.support.cgi.script_head import FIELD_COST, MAX_HEAD, NphHead


def test_the_status_line_and_the_fields_are_the_script_s(tmp_path: Path) -> None:
    r = script_request(tmp_path)
    head = NphHead(r, "cgi")
    lines = ["HTTP/1.1 203 Non", "X-A: b", "Content-Type: text/x", "Status: 500", "bad line", ""]
    assert [head.line(line) for line in lines] == [None, None, None, None, None, 0]
    assert (r.status, r.content_type) == (203, "text/x")
    assert (r.headers_out.get("X-A"), r.headers_out.get("Status")) == ("b", "500")


@pytest.mark.parametrize("field", ["Connection: close", "Transfer-Encoding: chunked", "Keep-Alive: 5"])
def test_fields_of_the_connection_are_left_out(field: str, tmp_path: Path) -> None:
    r = script_request(tmp_path)
    head = NphHead(r, "cgi")
    assert [head.line(line) for line in ("HTTP/1.0 200", field, "")] == [None, None, 0]
    assert r.headers_out.get(field.partition(":")[0]) is None


@pytest.mark.parametrize("line", ["Content-Type: text/x", "HTTP/1.1 99 x", "HTTP/1.1", ""])
def test_without_a_status_line_it_fails(line: str, tmp_path: Path) -> None:
    assert NphHead(script_request(tmp_path), "cgi").line(line) == 500


def test_an_interim_response_is_skipped(tmp_path: Path) -> None:
    r = script_request(tmp_path)
    head = NphHead(r, "cgi")
    lines = ["HTTP/1.1 100 Continue", "X-A: interim", "", "HTTP/1.1 200 OK", "X-B: c", ""]
    assert [head.line(line) for line in lines] == [None, None, None, None, None, 0]
    assert (r.status, r.headers_out.get("X-A"), r.headers_out.get("X-B")) == (200, None, "c")


def test_interim_responses_without_end_are_bounded(tmp_path: Path) -> None:
    head = NphHead(script_request(tmp_path), "cgi")
    answers = [head.line(line) for _ in range(MAX_HEAD // FIELD_COST + 1) for line in ("HTTP/1.1 100", "")]
    assert answers[-1] == 500
    assert set(answers[:-1]) == {None}


def test_the_head_is_bounded(tmp_path: Path) -> None:
    head = NphHead(script_request(tmp_path), "cgi")
    assert head.line("HTTP/1.1 200 OK") is None
    answers = [head.line("X: " + "y" * 997) for _ in range(MAX_HEAD // 1000 + 1)]
    assert answers[-1] == 500
