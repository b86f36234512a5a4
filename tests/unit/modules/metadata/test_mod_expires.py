"""mod_expires.  Expected responses are those of httpd 2.4.71."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError
from whimbrel.modules.metadata.mod_expires import parse_code

CONF = "LoadModule expires_module modules/mod_expires.so\nExpiresActive on\n"
FILES = {"htdocs/a.txt": "A", "htdocs/b.html": "B", "htdocs/d/x.txt": "D"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("A600", ("A", 600)),
        ("M-5", ("M", -5)),
        ("access plus 1 month 2 days", ("A", 32 * 86400)),
        ("modification 1 year", ("M", 365 * 86400)),
        ("now plus 5 minutes 3 s", ("A", 303)),
        ("A10x", ("A", 10)),
        ("access", ("A", 0)),
        ("Access plus 1 day", ("A", 0)),
    ],
)
def test_codes(text: str, code: tuple[str, int]) -> None:
    assert parse_code(text) == code


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("base plus 3 weeks", "unrecognised <base> 'base'"),
        ("access plus 1 month 2", "missing <type>"),
        ("access plus -1 days", "numeric value expected <num> '-1'"),
        ("access plus 1 century", "unrecognised <type>'century'"),
    ],
)
def test_bad_codes(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"bad expires code, {reason}")):
        parse_code(text)


def test_fields(tmp_path: Path) -> None:
    serving = build_engine(
        tmp_path, CONF + "ExpiresByType text/* A60\nExpiresByType text/html A1\nExpiresDefault M600", FILES
    )
    found = [fetch(serving, path).get("Cache-Control") for path in ("/a.txt", "/b.html", "/d", "/nope")]
    assert found == ["max-age=60", "max-age=1", "max-age=1", None]


def test_past_is_now(tmp_path: Path) -> None:
    reply = fetch(build_engine(tmp_path, CONF + "ExpiresDefault M600", FILES), "/a.txt")
    assert reply.get("Cache-Control") == "max-age=0"
    assert reply.get("Expires") is not None


def test_wildcards_count_in_their_own_section_only(tmp_path: Path) -> None:
    conf = CONF + "ExpiresByType text/* A60\n<Location /d>\nExpiresDefault A120\n</Location>"
    assert fetch(build_engine(tmp_path, conf, FILES), "/d/x.txt").get("Cache-Control") == "max-age=120"


def test_own_expires_stays(tmp_path: Path) -> None:
    reply = fetch(
        build_engine(tmp_path, CONF + 'ExpiresDefault A60\nHeader set Cache-Control "public"', FILES),
        "/a.txt",
    )
    assert reply.all("Cache-Control") == ["public"]


def test_no_fields_of_a_412(tmp_path: Path) -> None:
    reply = fetch(build_engine(tmp_path, CONF + "ExpiresDefault A60", FILES), "/a.txt", 'If-Match: "q"')
    assert (reply.status, reply.get("Expires"), reply.get("Cache-Control")) == (412, None, None)
