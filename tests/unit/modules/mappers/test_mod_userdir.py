"""mod_userdir. Expected responses are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch_all

LOAD = "LoadModule userdir_module modules/mod_userdir.so\n"
FILES = {
    "home/joe/public_html/x.txt": "JX",
    "home/ann/www/a.txt": "AW",
    "home/ann/public_html/a.txt": "AP",
    "users/bob/b.txt": "B",
}


@pytest.mark.parametrize(
    ("conf", "path", "status", "text"),
    [
        ("UserDir @/home/*/public_html", "/~joe/x.txt", 200, "JX"),
        ("UserDir @/home/*/public_html", "/%7ejoe/x.txt", 200, "JX"),
        ("UserDir @/home/*/public_html", "/~../x", 404, ""),
        ("UserDir @/home/*/public_html", "/~", 404, ""),
        ("UserDir @/users", "/~bob/b.txt", 200, "B"),
        ("UserDir disabled", "/~joe/x.txt", 404, ""),
        ("UserDir @/home/*/www @/home/*/public_html", "/~ann/a.txt", 200, "AW"),
        ("UserDir @/home/*/www @/home/*/public_html", "/~joe/x.txt", 200, "JX"),
        ("UserDir @/home/*/public_html\nUserDir disabled joe", "/~joe/x.txt", 404, ""),
        ("UserDir @/home/*/public_html\nUserDir disabled\nUserDir enabled JOE", "/~joe/x.txt", 200, "JX"),
        ("UserDir @/home/*/public_html\nAlias /~joe/ @/users/bob/", "/~joe/b.txt", 200, "B"),
    ],
)
def test_directories(conf: str, path: str, status: int, text: str, tmp_path: Path) -> None:
    reply = fetch_all(tmp_path, LOAD + conf, [path], FILES)[0]
    assert reply.status == status
    assert status != 200 or reply.body == text


def test_redirects(tmp_path: Path) -> None:
    first, here = fetch_all(
        tmp_path, LOAD + "UserDir http://users.test/*/home", ["/~joe/x.txt", "/~./x"], FILES
    )
    assert (first.status, first.get("Location")) == (302, "http://users.test/joe/x.txt")
    assert here.status == 404


@pytest.mark.parametrize("pattern", ["http://users.test/*", "@/none/* http://users.test/*"])
def test_redirect_to_a_url_that_ends_with_the_user(pattern: str, tmp_path: Path) -> None:
    reply = fetch_all(tmp_path, f"{LOAD}UserDir {pattern}", ["/~joe/x.txt"], FILES)[0]
    assert (reply.status, reply.get("Location")) == (302, "http://users.test/joe/x.txt")
