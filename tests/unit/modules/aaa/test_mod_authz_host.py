"""Require forward-dns: log lines about names, as in httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import AccessSite


def test_names_without_an_address_are_told(tmp_path: Path) -> None:
    site = AccessSite(
        tmp_path,
        "LogLevel warn authz_host:debug\n<Location />\nRequire forward-dns nosuch.invalid localhost "
        "other.invalid\n</Location>\n",
    )
    assert site.status() == 200
    assert site.codes() == ["AH03356", "AH03355"]
    assert site.status(source="127.0.0.9") == 403
    assert site.codes() == ["AH03356", "AH03355", "AH03356", "AH01630"]


@pytest.mark.parametrize(
    ("words", "status", "codes"),
    [
        ("#x", 403, ["AH10120"]),
        ("localhost #x", 200, ["AH10121"]),
        ("a #localhost", 403, ["AH10121"]),
        ("a# localhost", 403, ["AH10121"]),
    ],
)
def test_comments_end_the_names(tmp_path: Path, words: str, status: int, codes: list[str]) -> None:
    site = AccessSite(tmp_path, f"<Location />\nRequire host {words}\n</Location>\n")
    assert site.status() == status
    assert [code for code in site.codes() if code != "AH01630"] == codes
