"""mod_speling. Expected responses are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.modules.mappers.mod_speling import (
    BASENAME,
    EXTRA,
    MISCAPITALIZED,
    MISSING,
    MISTYPED,
    TRANSPOSED,
    distance,
)

LOAD = "LoadModule speling_module modules/mod_speling.so\nCheckSpelling On\n"
FILES = {
    f"htdocs/{name}": "x" for name in ("readme.txt", "foo.html", "foo.htm", "abcdef.txt", "Dir/File.html")
}


@pytest.mark.parametrize(
    ("asked", "there", "reason"),
    [
        ("README.TXT", "readme.txt", MISCAPITALIZED),
        ("raedme", "readme", TRANSPOSED),
        ("redme", "readme", MISSING),
        ("readmee", "readme", EXTRA),
        ("readmx", "readme", MISTYPED),
        ("rdme", "readme", BASENAME),
    ],
)
def test_distance(asked: str, there: str, reason: int) -> None:
    assert distance(asked, there) == reason


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/README.TXT", "/readme.txt"),
        ("/redme.txt", "/readme.txt"),
        ("/reamde.txt", "/readme.txt"),
        ("/dir/File.html", "/Dir/File.html"),
        ("/foo.htlm", "/foo.html"),
        ("/abcdefg.txt?x=1", "/abcdef.txt?x=1"),
        ("/Readme.TXT/extra", "/readme.txt/extra"),
    ],
)
def test_redirects(path: str, location: str, tmp_path: Path) -> None:
    reply = fetch(build_engine(tmp_path, LOAD, FILES), path)
    assert (reply.status, reply.get("Location")) == (301, f"http://localhost{location}")


def test_choices(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, LOAD, FILES)
    reply = fetch(serving, "/foo", "Referer: http://ref.test/p")
    assert reply.status == 300
    assert '<li><a href="/foo.htm">/foo.htm</a> (common basename)\n' in reply.body
    assert (
        "Please consider informing the owner of the referring page <tt>http://ref.test/p</tt> about the "
        "broken link.\n" in reply.body
    )
    assert [fetch(serving, "/zzz").status, fetch(serving, "/redme.txt", method="POST", body="x").status] == [
        404,
        404,
    ]


def test_case_only(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, LOAD + "CheckCaseOnly On", FILES)
    assert [fetch(serving, p).status for p in ("/README.TXT", "/redme.txt", "/abcdef.tx")] == [301, 404, 300]


def test_a_section_takes_nothing_from_outer_ones(tmp_path: Path) -> None:
    """mod_speling has no merge; recorded from httpd 2.4.71."""
    conf = LOAD + "<Location /README.TXT>\nCheckCaseOnly Off\n</Location>\n"
    assert fetch(build_engine(tmp_path, conf, FILES), "/README.TXT").status == 404


def test_no_basenames(tmp_path: Path) -> None:
    assert fetch(build_engine(tmp_path, LOAD + "CheckBasenameMatch Off", FILES), "/foo").status == 404
