"""Checks of status lines and fields, in the words of mod_wsgi 4.9.4."""

from __future__ import annotations

import pytest

from whimbrel.modules.wsgi.mod_wsgi_process.response import checked_headers, checked_status


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("OK", "status code is not a 3 digit integer"),
        ("20 OK", "status code is not a 3 digit integer"),
        ("2000 OK", "status code is not a 3 digit integer"),
        ("200", "no space following status code"),
        ("200OK", "no space following status code"),
        ("200 a\tb", "control character present in reason phrase"),
        (b"200 OK", "expected unicode object, value of type bytes found"),
        ("200 €", "unicode object contains non latin-1 characters"),
    ],
)
def test_wrong_status_lines(value: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        checked_status(value)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (["a", "b"], "list of tuple values expected for headers, value of type list found"),
        (("a", "b", "c"), "tuple of length 2 expected for header, length is 3"),
        (("", "b"), "header name is empty"),
        (("a b", "c"), "space character present in header name"),
        (("a\n", "c"), "control character present in header name"),
        (("a", "b\r\nc"), "carriage return/line feed character present in header value"),
        (("a", 5), "expected unicode object, value of type int found"),
    ],
)
def test_wrong_fields(header: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        checked_headers([header])


def test_right_values() -> None:
    assert checked_status("200 OK") == b"200 OK"
    assert checked_status("200 ") == b"200 "
    assert checked_headers([("A", "é")]) == [(b"A", b"\xe9")]
