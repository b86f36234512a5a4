"""Effects of Header lines on a response.  Every expected field is that of httpd 2.4.71 for the same lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.client import Reply, fetch
from tests.support.engine import build_engine

TAG = '"1-5af3107a40000"'
PAGE = "text/html; charset=iso-8859-1"


def both(root: Path, conf: str) -> tuple[Reply, Reply]:
    """Return the responses for a file of one byte and for a missing one; the variable E is set."""
    serving = build_engine(root, f"SetEnv E ev\n{conf}", {"htdocs/a.txt": "x"})
    return fetch(serving, "/a.txt", "X-Foo: abc", "x-bar: 1", "Y-X-: 3"), fetch(serving, "/nope")


@pytest.mark.parametrize(
    ("conf", "found", "missing"),
    [
        ("Header set Content-Type text/x\nHeader always set Content-Type text/y", "text/x", "text/y"),
        ("Header edit Content-Type plain foo", "text/foo", PAGE),
        ("Header unset Content-Type", None, PAGE),
        ("Header append Content-Type foo\nHeader add Content-Type bar", "text/plain", PAGE),
        ("Header always edit Content-Type plain foo", "text/foo", PAGE),
        ("Header always unset Content-Type", None, None),
        ("Header setifempty Content-Type x/y\nHeader merge Content-Type z/z", "x/y", PAGE),
        ("Header always set Content-Type a/b early", "text/plain", PAGE),
    ],
)
def test_content_type(tmp_path: Path, conf: str, found: str | None, missing: str | None) -> None:
    fine, absent = both(tmp_path, conf)
    assert (fine.status, absent.status) == (200, 404)
    assert (fine.all("Content-Type"), absent.all("Content-Type")) == (
        [found] if found else [],
        [missing] if missing else [],
    )


@pytest.mark.parametrize(
    ("conf", "values"),
    [
        (
            "Header append X-A 1\nHeader append X-A 2\nHeader merge X-A 2\nHeader merge X-A 3\nHeader merge "
            'X-A "1, 2"',
            ["1, 2, 3, 1, 2"],
        ),
        ("Header always add X-A 1\nHeader add X-A 2\nHeader set X-A 3\nHeader always unset X-A", ["3"]),
        ("Header set X-A: v2\nHeader add x-a v3\nHeader set X-A v4", ["v4"]),
        ("Header set X-A b early\nHeader set X-A c", ["c"]),
        ("Header set X-A b env=e", ["b"]),
        ("Header set X-A b env=!nope", ["b"]),
        ("Header set X-A b env=nope", []),
        ('Header set X-A "%{HTTPS}s %{E}e %{F}e 50%%"', ["(null) ev (null) 50%"]),
        ("Header echo ^X-\nHeader set X-A 1", ["1"]),
        ("Header edit X-A a b", []),
    ],
)
def test_values(tmp_path: Path, conf: str, values: list[str]) -> None:
    assert both(tmp_path, conf)[0].all("X-A") == values


@pytest.mark.parametrize(
    ("conf", "value"),
    [
        ("Header edit* Etag ^. y", "y" * 17),
        (r'Header edit ETag "^(.)(.)" "$2%{E}e$1&\$1"', '1ev"&$1-5af3107a40000"'),
        ("Header unset ETag", None),
    ],
)
def test_edited(tmp_path: Path, conf: str, value: str | None) -> None:
    fine, _absent = both(tmp_path, conf)
    assert fine.get("ETag") == value


def test_an_edited_header_comes_last(tmp_path: Path) -> None:
    fine, _absent = both(tmp_path, 'Header edit* ETag ^"" b')
    assert [name for name, _ in fine.headers] == [
        "Last-Modified",
        "Accept-Ranges",
        "Content-Length",
        "ETag",
        "Content-Type",
    ]
    assert fine.get("ETag") == TAG


def test_echo_takes_the_case_of_the_expression(tmp_path: Path) -> None:
    fine, absent = both(tmp_path, "Header echo ^X-")
    assert (fine.get("X-Foo"), fine.get("x-bar"), absent.get("X-Foo")) == ("abc", None, None)


def test_times(tmp_path: Path) -> None:
    fine, _absent = both(tmp_path, 'Header set X-T %tx%Dx\nHeader set X-L "%l %i %b"')
    assert re.fullmatch(r"t=\d{16}xD=\d+x", fine.get("X-T") or "")
    assert re.fullmatch(r"l=[\d.]+/[\d.]+/[\d.]+ i=\d+ b=\d+", fine.get("X-L") or "")


def test_control_characters_end_the_request(tmp_path: Path) -> None:
    fine, absent = both(tmp_path, 'Header set X-W "a\\nb"\nHeader always set X-Ok 1')
    assert (fine.status, fine.get("X-Ok"), fine.get("X-W"), absent.status) == (500, "1", None, 404)
    fine, absent = both(tmp_path, 'Header always set X-W "a\\nb"')
    assert [(r.status, r.headers, r.body) for r in (fine, absent)] == [
        (500, [("Content-Length", "0")], "")
    ] * 2
    assert both(tmp_path, 'Header set "X W" a')[0].status == 500
    assert both(tmp_path, 'Header set X-Y "a\tb\xe9"')[0].get("X-Y") == "a\tb\xe9"


def test_request_headers(tmp_path: Path) -> None:
    conf = (
        "RequestHeader set X-Foo new\nRequestHeader unset x-bar\nRequestHeader edit Y-X- 3 33\nHeader "
        "echo (?i)^[xy]-"
    )
    fine, _absent = both(tmp_path, conf)
    assert (fine.get("X-Foo"), fine.get("x-bar"), fine.get("Y-X-")) == ("new", None, "33")


def test_an_empty_match_ends_the_editing(tmp_path: Path) -> None:
    """httpd loops forever here."""
    fine, _absent = both(tmp_path, 'Header edit* ETag "[a-f]*" <$0>')
    assert fine.get("ETag") == f"<>{TAG}"


def test_edit_of_22_leaves_the_content_type_alone(tmp_path: Path) -> None:
    """Recorded from 2.2.34: ``Header edit Content-Type plain html`` next to the same for other fields."""
    serving = build_engine(
        tmp_path,
        "Header set X-A plain\nHeader edit X-A plain html\nHeader edit Content-Type plain html",
        {"htdocs/a.txt": "x"},
        "2.2",
    )
    fine = fetch(serving, "/a.txt")
    assert (fine.get("X-A"), fine.get("Content-Type")) == ("html", "text/plain")


@pytest.mark.parametrize(
    "line",
    [
        "RequestHeader set Content-Type text/x",
        "RequestHeader set Content-Type text/x early",
        "RequestHeader unset Content-Type",
        "RequestHeader edit Content-Type plain foo",
        "RequestHeader setifempty Content-Type text/x",
        "RequestHeader append Content-Type text/x",
        "RequestHeader add Content-Type text/x",
        'RequestHeader set Content-Type "expr=%{req:X-Foo}"',
    ],
)
def test_request_fields_leave_the_type_of_the_response(tmp_path: Path, line: str) -> None:
    """The type may name a handler (CVE-2024-43204)."""
    fine, absent = both(tmp_path, line)
    assert (fine.all("Content-Type"), absent.all("Content-Type")) == (["text/plain"], [PAGE])


def test_a_type_that_a_field_sets_early_selects_no_handler(tmp_path: Path) -> None:
    conf = 'LoadModule status_module x/mod_status.so\nHeader set Content-Type "expr=%{req:X-CT}" early'
    serving = build_engine(tmp_path, conf, {"htdocs/name": "x"})
    reply = fetch(serving, "/name", "X-CT: server-status")
    assert (reply.status, reply.body, reply.all("Content-Type")) == (200, "x", ["server-status"])
