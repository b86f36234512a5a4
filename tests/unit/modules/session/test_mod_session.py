"""Sessions: stored, sent and logged as by the installed httpd."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import MODULES, AccessSite, session_fields

from whimbrel.modules.session.mod_session import Session, decode, encode

LOADED = MODULES["2.4"] + " session session_cookie"
COOKIE = "Session On\nSessionCookieName sess path=/\n"


def asked(
    root: Path, conf: str, cookie: str = "", path: str = "/f.html"
) -> tuple[list[str], list[str], list[str]]:
    """Return Set-Cookie, Cache-Control and the codes logged."""
    site = AccessSite(root, conf, "2.4", LOADED)
    answer = site.fetch(path, headers=f"Cookie: {cookie}\r\n" if cookie else "")
    return session_fields(answer, "Set-Cookie"), session_fields(answer, "Cache-Control"), site.codes()


PRIVATE = ["no-cache, private"]


@pytest.mark.parametrize(
    ("conf", "cookie", "sent"),
    [
        ("", "", []),
        ("", "sess=a=b", []),
        ("SessionMaxAge 60\n", "", ["sess=expiry=N;Max-Age=60;path=/"]),
        ("SessionMaxAge 60\n", "sess=k=v%20w&expiry=1", ["sess=expiry=N;Max-Age=60;path=/"]),
        (
            "SessionMaxAge 60\n",
            "sess=k=v w+x&expiry=99999999999999999",
            ["sess=k=v+w+x&expiry=N;Max-Age=60;path=/"],
        ),
        ("SessionMaxAge 100\nSessionExpiryUpdateInterval 50\n", "", []),
        ("SessionMaxAge 100\nSessionExpiryUpdateInterval 50\n", "sess=k=1", []),
    ],
)
def test_what_is_saved(tmp_path: Path, conf: str, cookie: str, sent: list[str]) -> None:
    assert asked(tmp_path, COOKIE + conf, cookie) == (sent, PRIVATE, [])


@pytest.mark.parametrize(("ahead", "saved"), [(80, False), (20, True)])
def test_an_expiry_is_moved_by_an_interval_at_least(tmp_path: Path, ahead: int, saved: bool) -> None:
    site = AccessSite(tmp_path, COOKIE + "SessionMaxAge 100\nSessionExpiryUpdateInterval 50\n", "2.4", LOADED)
    answer = site.fetch(headers=f"Cookie: sess=expiry={int((site.runtime.now() + ahead) * 1_000_000)}\r\n")
    assert bool(session_fields(answer, "Set-Cookie")) is saved


def test_two_cookies_of_the_name_begin_anew(tmp_path: Path) -> None:
    sent, _, codes = asked(tmp_path, COOKIE + "SessionMaxAge 60\n", "sess=k=v; sess=u=z")
    assert (sent, codes) == (["sess=expiry=N;Max-Age=60;path=/"], ["AH00011"])


@pytest.mark.parametrize(
    ("conf", "codes"),
    [
        ("Session On\n", ["AH01815", "AH01815"]),
        (COOKIE + "SessionMaxAge -5\n", ["AH01819"]),
        ("SessionCookieName sess\n", []),
        (COOKIE + "LogLevel debug\nSessionInclude /in\n", ["AH01814", "AH01814"]),
        (COOKIE + "LogLevel debug\nSessionExclude /f\n", ["AH01814", "AH01814"]),
    ],
)
def test_no_session(tmp_path: Path, conf: str, codes: list[str]) -> None:
    sent, _, logged = asked(tmp_path, conf)
    assert (sent, [code for code in logged if code in ("AH01814", "AH01815", "AH01819")]) == ([], codes)


def test_a_header_changes_the_session(tmp_path: Path) -> None:
    conf = COOKIE + "SessionHeader X-Sess\n<Location /f.html>\nSetHandler send-as-is\n</Location>\n"
    site = AccessSite(tmp_path, conf, "2.4", LOADED + " asis")
    (tmp_path / "htdocs/f.html").write_text(
        "X-Sess: A=7&b=&c=d%20e&=8&zz\nContent-Type: text/plain\n\nbody\n"
    )
    answer = site.fetch(headers="Cookie: sess=q=r&a=5&b=1\r\n")
    assert (session_fields(answer, "X-Sess"), session_fields(answer, "Set-Cookie")) == (
        [],
        ["sess=q=r&a=7&c=d+e;path=/"],
    )


@pytest.mark.parametrize(
    ("before", "said", "after"),
    [
        ("", "a=1%262=3&b=&c=d%20e", "a=1%262%3d3&c=d+e"),
        ("q=r&a=5&zz", "A=7&=8", "q=r&a=7"),
        ("", "a==b&e=%zz&f=%00g", "a=%3db"),
        ("", "h%3d=%c3%a9&i*j-k._~!=/@", "h%3d=%c3%a9&i*j-k._%7e%21=%2f%40"),
        ("k=v", "k=", ""),
        ("k=v w&x=1", "", "k=v+w&x=1"),
        ("", "=c=d", "c=d"),
        ("", "expiry=99999999999999999999999&a=b", "a=b&expiry=9223372036854775807"),
        ("", "expiry=x&a=b&Expiry=7", "a=b&Expiry=7"),
    ],
)
def test_text(before: str, said: str, after: str) -> None:
    session = Session()
    decode(session, before)
    decode(session, said)
    assert encode(session) == after


def test_values() -> None:
    session = Session()
    session.set("a", "1")
    assert (session.get("A"), session.dirty) == ("1", True)
    session.set("a", None)
    assert session.get("a") is None
