"""The cookie that holds a session, as the installed httpd sends it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import MODULES, AccessSite, session_fields

from whimbrel.base.errors import ConfigError

LOADED = MODULES["2.4"] + " session session_cookie auth_form request"
LOGOUT = "Session On\n<Location /out>\nAuthName z\nSetHandler form-logout-handler\n</Location>\n"
TWO = LOGOUT + "SessionCookieName sess\nSessionCookieName2 s2 path=/;Secure\n"


@pytest.mark.parametrize(
    ("cookie", "sent", "second"),
    [
        ("s2=a=b&z-user=u", ["sess=a=b;HttpOnly;Secure;Version=1"], ["s2=a=b;path=/;Secure"]),
        ("s2=z-user=u", ["sess=;Max-Age=0;"] * 2, ["s2=;Max-Age=0;path=/;Secure"] * 2),
        ("", ["sess=;Max-Age=0;"] * 2, ["s2=;Max-Age=0;path=/;Secure"] * 2),
    ],
)
def test_cookies_of_a_changed_session(
    tmp_path: Path, cookie: str, sent: list[str], second: list[str]
) -> None:
    answer = AccessSite(tmp_path, TWO, "2.4", LOADED).fetch(
        "/out", headers=f"Cookie: {cookie}\r\n" if cookie else ""
    )
    assert (session_fields(answer, "Set-Cookie"), session_fields(answer, "Set-Cookie2")) == (sent, second)


def test_a_removed_cookie_is_read_anew_each_time(tmp_path: Path) -> None:
    site = AccessSite(
        tmp_path,
        "Session On\nSessionCookieName sess\nSessionCookieRemove On\nSessionMaxAge 70\n",
        "2.4",
        LOADED,
    )
    answer = site.fetch(headers="Cookie: sess=a=b\r\n")
    assert session_fields(answer, "Set-Cookie") == ["sess=expiry=N;Max-Age=70;HttpOnly;Secure;Version=1"]
    assert session_fields(answer, "Cache-Control") == ["no-cache, private"] * 2


def test_an_error_document_goes_on_with_the_session(tmp_path: Path) -> None:
    conf = (
        "Session On\nSessionCookieName sess path=/\nSessionMaxAge 70\nErrorDocument 404 /f.html\n"
        "<Location /f.html>\nSessionMaxAge 50\n</Location>\n"
    )
    answer = AccessSite(tmp_path, conf, "2.4", LOADED).fetch("/none", headers="Cookie: sess=a=b\r\n")
    assert answer.startswith("HTTP/1.1 404 ")
    assert (session_fields(answer, "Set-Cookie"), session_fields(answer, "Cache-Control")) == (
        ["sess=a=b&expiry=N;Max-Age=50;path=/"],
        [],
    )


@pytest.mark.parametrize(
    "line", ["SessionCookieName", "SessionCookieName a=b", "SessionCookieName2", "SessionCookieName2 a&b"]
)
def test_names_that_are_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigError, match=f"{line.split()[0]} cannot be empty, or contain '=' or '&'."):
        AccessSite(tmp_path, line + "\n", "2.4", LOADED)
