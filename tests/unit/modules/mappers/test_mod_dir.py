"""mod_dir. Every expected response is recorded from httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.modules.asked import answers, ask, engine

from whimbrel.base.errors import ConfigError

FILES = {"htdocs/d/a.txt": "x", "htdocs/fb.html": "FB", "htdocs/e/index.html": "I"}


def test_slash(tmp_path: Path) -> None:
    bare, query, escaped = answers(
        tmp_path, "", ["/d", "/d?x=1", "/a%26b;c"], {**FILES, "htdocs/a&b;c/x": ""}
    )
    assert (bare.status, bare.get("Location")) == (301, "http://localhost/d/")
    assert query.get("Location") == "http://localhost/d/?x=1"
    assert escaped.get("Location") == "http://localhost/a&b;c/"


def test_no_slash(tmp_path: Path) -> None:
    bare, listed = answers(
        tmp_path,
        "DirectorySlash Off\n<Directory @/htdocs>\nOptions Indexes\n</Directory>",
        ["/d", "/d/"],
        FILES,
    )
    assert (bare.status, listed.status) == (200, 200)
    assert bare.body == listed.body


def test_careful_clients_are_not_redirected(tmp_path: Path) -> None:
    serving = engine(tmp_path, "BrowserMatch Careful redirect-carefully", FILES)
    assert ask(serving, "/d", method="POST", body="x").status == 301
    assert ask(serving, "/d", "User-Agent: Careful", method="POST", body="x").status != 301
    assert ask(serving, "/d", "User-Agent: Careful").status == 301


def test_index(tmp_path: Path) -> None:
    first, second, none = answers(
        tmp_path, "DirectoryIndex none.html a.txt /fb.html", ["/d/", "/e/?q", "/d/none/"], FILES
    )
    assert (first.status, first.body, first.get("Content-Type")) == (200, "x", "text/plain")
    assert second.body == "FB"
    assert none.status == 404


def test_disabled_index(tmp_path: Path) -> None:
    (refused,) = answers(tmp_path, "DirectoryIndex disabled", ["/e/"], FILES)
    assert refused.status == 403
    (fine,) = answers(tmp_path, "DirectoryIndex disabled index.html", ["/e/"], FILES)
    assert fine.body == "I"


@pytest.mark.parametrize(
    ("word", "status"),
    [("on", 302), ("permanent", 301), ("temp", 302), ("seeother", 303), ("307", 307), ("off", 200)],
)
def test_redirect_to_the_index(tmp_path: Path, word: str, status: int) -> None:
    (found,) = answers(tmp_path, f"DirectoryIndexRedirect {word}", ["/e/?q"], FILES)
    assert found.status == status
    assert found.get("Location") == (None if status == 200 else "http://localhost/e/index.html")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("DirectoryIndexRedirect bogus", "DirectoryIndexRedirect ON|OFF|permanent|temp|seeother|3xx"),
        ("DirectoryIndexRedirect -1", "DirectoryIndexRedirect ON|OFF|permanent|temp|seeother|3xx"),
        ("DirectoryIndexRedirect 200", "DirectoryIndexRedirect only accepts values between 300 and 399"),
        ("DirectorySlash no", "DirectorySlash must be On or Off"),
        ("FallbackResource /a /b", "FallbackResource takes one argument, Set a default handler"),
    ],
)
def test_refused(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        engine(tmp_path, line)
    assert caught.value.reason == reason


def test_fallback(tmp_path: Path) -> None:
    replies = answers(
        tmp_path, "FallbackResource /fb.html", ["/d/", "/nope", "/nope/x?a=b", "/d/none", "/e/", "/d"], FILES
    )
    assert [(r.status, r.body) for r in replies[:5]] == [(200, "FB")] * 4 + [(200, "I")]
    assert replies[5].status == 301


def test_fallback_off_and_missing(tmp_path: Path) -> None:
    conf = "FallbackResource /fb.html\n<Location /d>\nFallbackResource disabled\n</Location>"
    inner, outer = answers(tmp_path, conf, ["/d/none", "/none"], FILES)
    assert (inner.status, outer.status) == (404, 200)
    (endless,) = answers(tmp_path, "FallbackResource /nofb.html", ["/nope"], FILES)
    assert endless.status == 500


def test_a_handler_keeps_the_fallback_away(tmp_path: Path) -> None:
    (kept,) = answers(
        tmp_path, "<Location />\nFallbackResource /fb.html\nSetHandler bar\n</Location>", ["/nope"], FILES
    )
    assert kept.status == 404


def test_a_handler_of_the_folder(tmp_path: Path) -> None:
    conf = "<Directory @/htdocs/e>\nSetHandler server-status\nDirectoryCheckHandler On\n</Directory>"
    (status,) = answers(tmp_path, conf, ["/e/?auto"], FILES)
    assert status.body.startswith("localhost\nServerVersion: ")


def test_refusals_of_the_index_are_passed_on(tmp_path: Path) -> None:
    conf = "<Files secret.html>\nRequire all denied\n</Files>\nDirectoryIndex secret.html other.html\n"
    conf += "<Directory @/htdocs>\nOptions Indexes\n</Directory>"
    (refused,) = answers(tmp_path, conf, ["/d/"], {**FILES, "htdocs/d/secret.html": "s"})
    assert refused.status == 403
    (other,) = answers(
        tmp_path, conf, ["/d/"], {**FILES, "htdocs/d/secret.html": "s", "htdocs/d/other.html": "o"}
    )
    assert other.body == "o"


def test_old_index_names(tmp_path: Path) -> None:
    (named,) = answers(
        tmp_path, "DirectoryIndex disabled", ["/e/"], {**FILES, "htdocs/e/disabled": "D"}, "2.2"
    )
    assert named.body == "D"
