"""The comparison: each level can fail alone, and nothing that may vary fails one."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from tests.conformance.case import case_of
from tests.conformance.client import Reply
from tests.conformance.compare import (
    Levels,
    access_log_lines,
    compare_reply,
    count_matching,
    error_log_entries,
    error_log_matches,
    headers_match,
    lines_match,
    same_lines,
)
from tests.conformance.evaluate import Result, compare_logs, failed
from tests.conformance.multistatus import sort_multistatus
from tests.conformance.report import Tally, by_family, figures, table, tally, total

FULL, NO_BODY, NO_HEADERS, NOTHING = (
    Levels(True, True, True),
    Levels(True, True, False),
    Levels(True, False, False),
    Levels(False, False, False),
)
HEADERS = [
    ["Date", "@DATE@"],
    ["Server", "Apache/2.4.71 (Debian)"],
    ["Content-Length", "5"],
    ["Content-Type", "text/plain"],
]
EXPECTED = {"status": 200, "reason": "OK", "headers": HEADERS, "body": "hello"}


def reply(status: int = 200, body: bytes = b"hello", closed: bool | None = None, **changed: str) -> Reply:
    """A reply that agrees with EXPECTED, but for the given fields (an underscore is a hyphen)."""
    fields = {
        "Date": "today",
        "Server": "Whimbrel/0.1 (Unix)",
        "Content-Length": "5",
        "Content-Type": "text/plain",
    }
    fields |= {name.replace("_", "-"): value for name, value in changed.items()}
    return Reply(status, "OK", list(fields.items()), body, closed)


def levels(expected: dict[str, Any], actual: Reply) -> Levels:
    return compare_reply(expected, actual, str)


@pytest.mark.parametrize(
    ("expected", "actual", "result"),
    [
        (EXPECTED, reply(), FULL),
        (EXPECTED, reply(404), NOTHING),
        (EXPECTED, reply(body=b"hallo"), NO_BODY),
        (EXPECTED, reply(body=b""), NO_BODY),
        (EXPECTED, reply(Content_Type="text/html"), NO_HEADERS),
        (EXPECTED, reply(Content_Length="6"), NO_HEADERS),
        (EXPECTED, reply(ETag='"1"'), NO_HEADERS),
        (EXPECTED | {"headers": [*HEADERS, ["ETag", '"1"']]}, reply(), NO_HEADERS),
        (EXPECTED, reply(Date="x", Server="y", X_Pad="z"), FULL),
        (EXPECTED | {"closed": True}, reply(closed=True), FULL),
        (EXPECTED | {"closed": True}, reply(closed=False), NO_BODY),
        (EXPECTED | {"closed": False}, reply(closed=True), NO_BODY),
        (EXPECTED | {"framing": "varies", "headers": [["Content-Type", "text/plain"]]}, reply(), FULL),
        (EXPECTED | {"framing": "varies", "headers": [["Content-Type", "text/css"]]}, reply(), NO_HEADERS),
    ],
)
def test_levels_of_a_response(expected: dict[str, Any], actual: Reply, result: Levels) -> None:
    assert levels(expected, actual) == result


@pytest.mark.parametrize(
    ("body", "sent", "length", "result"),
    [
        ("by Apache/2.4.71 (Debian)", b"by Whimbrel/0.1 (Unix)", "22", FULL),
        ("by Apache/2.4.71 (Debian)", b"by somebody", "11", NO_HEADERS),
        ("at @DATE@", b"at noon", "7", FULL),
        ("at noon", b"at noon", "8", NO_HEADERS),
    ],
)
def test_a_length_may_vary_with_the_name_of_the_program(
    body: str, sent: bytes, length: str, result: Levels
) -> None:
    expected = {"status": 200, "headers": [["Content-Length", "25"]], "body": body}
    assert levels(expected, Reply(200, "OK", [("Content-Length", length)], sent)) == result


@pytest.mark.parametrize(
    ("recorded", "body", "agrees"),
    [
        ({"body": {"base64": "AP8="}}, b"\0\xff", True),
        ({"body": {"base64": "AP8="}}, b"\0\xfe", False),
        ({"body": {"latin1": "caf\xe9 @LEN@"}}, b"caf\xe9 5", True),
        ({"body": {"latin1": "caf\xe9"}}, b"cafe", False),
        (
            {"body_sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", "length": 5},
            b"hello",
            True,
        ),
        (
            {"body_sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", "length": 5},
            b"hallo",
            False,
        ),
        ({"decoded": "hello"}, gzip.compress(b"hello", mtime=0), True),
        ({"decoded": "hello"}, gzip.compress(b"hallo", mtime=0), False),
        ({"decoded": "hello"}, b"hello", False),
        (
            {"decoded_sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"},
            gzip.compress(b"hello", mtime=0),
            True,
        ),
        (
            {"decoded_sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"},
            gzip.compress(b"hallo", mtime=0),
            False,
        ),
        ({"body_omitted": "why"}, b"anything", True),
        ({"body_sha256": "0", "body_normalised": True}, b"anything", True),
    ],
)
def test_forms_of_a_body(recorded: dict[str, Any], body: bytes, agrees: bool) -> None:
    assert levels({"status": 200, "headers": [], **recorded}, Reply(200, "OK", [], body)) == (
        FULL if agrees else NO_BODY
    )


@pytest.mark.parametrize(
    ("actual", "result"),
    [
        ("HTTP/1.1 200 OK\r\nDate: now\r\n\r\nhello", FULL),
        ("HTTP/1.1 200 OK\r\nDate: now\r\n\r\nhallo", NO_HEADERS),
        ("HTTP/1.1 400 Bad Request\r\nDate: now\r\n\r\nhello", NOTHING),
        ("", NOTHING),
    ],
)
def test_everything_until_the_server_closes(actual: str, result: Levels) -> None:
    assert (
        levels({"raw": "HTTP/1.1 200 OK\r\nDate: @DATE@\r\n\r\nhello"}, Reply(raw=actual.encode())) == result
    )


def test_a_connection_without_response() -> None:
    closed = {"status": 0, "headers": [], "body": "", "error": "closed"}
    assert levels(closed, Reply(error="ConnectionResetError")) == FULL
    assert levels(closed, Reply(body=b"x")) == NO_BODY
    assert levels(closed, reply()) == NOTHING
    assert levels(EXPECTED, Reply(error="closed")) == NOTHING


@pytest.mark.parametrize(
    ("expected", "actual", "agrees"),
    [
        ([["Allow", "GET,POST"]], [["Allow", "POST, GET"]], True),
        ([["Allow", "GET,POST"]], [["Allow", "GET"]], False),
        ([["ETag", '"@INODE@-5-5af3"']], [["ETag", '"1f-5-5af3"']], True),
        ([["ETag", '"@INODE@-5-5af3"']], [["ETag", '"1f-6-5af3"']], False),
        ([["ETag", '"5-5af3"']], [["ETag", '"1f-5-5af3"']], False),
        ([["A", "1"], ["B", "2"]], [["b", "2"], ["a", "1"]], True),
        ([["Set-Cookie", "a"], ["Set-Cookie", "b"]], [["Set-Cookie", "b"], ["Set-Cookie", "a"]], False),
        ([["A", "1"], ["A", "1"]], [["A", "1"]], False),
    ],
)
def test_header_fields(expected: list[list[str]], actual: list[list[str]], agrees: bool) -> None:
    assert headers_match(expected, actual) is agrees


def test_boundary_of_byte_ranges() -> None:
    fields = [["Content-Type", "multipart/byteranges; boundary=@BOUNDARY@"]]
    expected = {"status": 206, "headers": fields, "body": "--@BOUNDARY@\r\nab"}
    sent = [("Content-Type", "multipart/byteranges; boundary=5f0")]
    assert levels(expected, Reply(206, "", list(sent), b"--5f0\r\nab")) == FULL
    assert levels(expected, Reply(206, "", list(sent), b"--5f0\r\nac")) == NO_BODY


def test_multistatus_in_any_order() -> None:
    one, two = (
        b"<D:response><D:href>/a</D:href></D:response>\n",
        b"<D:response><D:href>/b</D:href></D:response>\n",
    )
    assert (
        sort_multistatus(b"<D:multistatus>\n" + two + one + b"</D:multistatus>")
        == b"<D:multistatus>\n" + one + two + b"</D:multistatus>"
    )
    assert sort_multistatus(two + one) == one + two
    assert sort_multistatus(b"<p>b</p><p>a</p>") == b"<p>b</p><p>a</p>"
    spaces = b'<D:multistatus xmlns:ns%d="urn:b" xmlns:ns%d="urn:a"><ns%d:x/></D:multistatus>'
    assert (
        sort_multistatus(spaces % (0, 1, 0))
        == sort_multistatus(spaces % (1, 0, 1))
        != sort_multistatus(spaces % (0, 1, 1))
    )


def test_lines_in_any_order_and_in_one_order() -> None:
    assert same_lines(["a", "@PID@ b"], ["7 b", "a"]) and not lines_match(["a", "@PID@ b"], ["7 b", "a"])
    assert lines_match(["a", "@PID@ b"], ["a", "7 b"]) and not lines_match(["a"], ["a", "b"])
    assert not same_lines(["a"], ["a", "a"]) and not same_lines(["a", "a"], ["a", "b"])
    assert count_matching(["a", "a", "b"], ["b", "a", "c"]) == 2


def test_error_log_of_2_4_is_compared_by_code() -> None:
    recorded = ["[core:error] AH00126: Invalid URI", "[core:notice] AH00094: Command line: x"]
    assert error_log_matches(
        recorded, "[core:error] AH00126: other words\n[mpm:notice] AH00489: configured\n", "2.4"
    )
    assert not error_log_matches(recorded, "", "2.4")
    assert not error_log_matches(recorded, "AH00126: a\nAH00126: b\n", "2.4")
    assert not error_log_matches(recorded, "AH00127: a\n", "2.4")
    assert error_log_entries(recorded, "2.4") == ["AH00126"]


def test_error_log_of_2_2_is_compared_by_line() -> None:
    recorded = ["[error] [client 127.0.0.1] File does not exist: @DOCROOT@/x"]
    log = "[error] [client 127.0.0.1] File does not exist: @DOCROOT@/x\n"
    assert error_log_matches(recorded, log + "[notice] caught SIGTERM, shutting down\n", "2.2")
    assert not error_log_matches(recorded, log + log, "2.2")
    assert not error_log_matches(recorded, log.replace("/x", "/y"), "2.2")


def site_result(**answer: object) -> Result:
    record = {
        "id": "some-family-0001",
        "conf": "",
        "answers": {"2.4": {"started": True, "responses": [], **answer}},
    }
    return Result(case_of(record, "2.4"))


def test_logs_of_a_site() -> None:
    line = '127.0.0.1 - - [@TIME@] "GET / HTTP/1.1" 200 5'
    written = line.replace("@TIME@", "22/Nov/2026:12:00:00 +0000")
    good, bad = (site_result(error_log=["AH00126: x"], access_log=[line]) for _ in range(2))
    compare_logs(good, "AH00126: y", written + "\n")
    assert (good.log, good.access, good.access_expected, good.differences) == (True, 1, 1, [])
    compare_logs(bad, "", written.replace("200", "404"))
    assert (bad.log, bad.access, bad.access_expected) == (False, 0, 1)
    assert [one["about"] for one in bad.differences] == ["error log", "access log"]
    assert access_log_lines(written) == [line]


def test_tallies() -> None:
    result = site_result()
    for level in (FULL, NO_BODY, NO_HEADERS, NOTHING):
        result.add(level, "a", "b")
    assert len(result.differences) == 3
    assert tally(result) == Tally(cases=1, answers=4, status=3, headers=2, full=1)
    broken = failed(result.case, ValueError("x"))
    assert (tally(broken).failures, tally(broken).full, broken.failure) == (1, 0, "ValueError('x')")
    totals = by_family([result, broken])
    assert list(totals) == ["some-family"]
    assert total(totals.values()).percent == figures(totals)["ALL"]["percent"] == 20
    assert table(totals).splitlines()[-1].split() == ["ALL", "5", "60.0%", "40.0%", "20.0%", "-", "-"]
