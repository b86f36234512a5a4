"""Lines of the errors of OpenSSL: texts of apache2 2.4.71 with OpenSSL 3."""

from __future__ import annotations

import ssl

import pytest

from whimbrel.modules.ssl.mod_ssl.library_errors import library_line, library_text


def reason_of(reason: str) -> ssl.SSLError:
    problem = ssl.SSLError(1, "text")
    problem.reason = reason
    return problem


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (reason_of("WRONG_VERSION_NUMBER"), "0A00010B:SSL routines::wrong version number"),
        (ssl.SSLError("record length mismatch"), "0A0000D5:SSL routines::record length mismatch"),
        (Exception([("SSL routines", "", "http request")]), "0A00009C:SSL routines::http request"),
        (Exception("something new"), "SSL routines::something new"),
        (Exception(), "SSL routines::"),
    ],
)
def test_text_of_an_error(problem: Exception, text: str) -> None:
    assert library_text(problem) == f"SSL Library Error: error:{text}"


def test_annotations() -> None:
    assert library_line("no shared cipher").endswith(
        "error:0A0000C1:SSL routines::no shared cipher"
        " -- Too restrictive SSLCipherSuite or using DSA server certificate?"
    )
