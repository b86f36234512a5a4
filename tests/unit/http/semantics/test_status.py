"""Status lines: which codes each version has, and their phrases."""

from __future__ import annotations

from http import HTTPStatus

import pytest

from whimbrel.http.semantics.status import known, reason, status_line

OF_2_2 = {
    *range(100, 103),
    *range(200, 208),
    *range(300, 306),
    307,
    *range(400, 418),
    *range(422, 425),
    426,
    *range(500, 508),
    510,
}
"""The codes with a line in 2.2 (http_protocol.c)."""
SINCE_2_4 = {103, 208, 226, 308, 421, 428, 429, 431, 451, 508, 511}
OTHER_WORDS = {
    False: {413: "Request Entity Too Large", 414: "Request-URI Too Long"},
    True: {
        401: "Authorization Required",
        408: "Request Time-out",
        413: "Request Entity Too Large",
        414: "Request-URI Too Large",
        501: "Method Not Implemented",
        503: "Service Temporarily Unavailable",
        504: "Gateway Time-out",
    },
}
"""Phrases of httpd that are not those of the RFCs."""


def test_the_codes_of_each_version() -> None:
    assert {code for code in range(1000) if known(code, version22=True)} == OF_2_2
    assert {code for code in range(1000) if known(code)} == OF_2_2 | SINCE_2_4


@pytest.mark.parametrize("version22", [True, False])
@pytest.mark.parametrize("code", sorted(OF_2_2 | SINCE_2_4))
def test_the_phrase_of_each_code(code: int, version22: bool) -> None:
    phrase = OTHER_WORDS[version22].get(code)
    if phrase is None:
        phrase = "Requested Range Not Satisfiable" if code == 416 else HTTPStatus(code).phrase
    if version22 and code in SINCE_2_4:
        assert status_line(code, version22=True) == "500 Internal Server Error"
        assert reason(code, version22=True) == "Internal Server Error"
    else:
        assert status_line(code, version22=version22) == f"{code} {phrase}"
        assert reason(code, version22=version22) == phrase
