"""mod_usertrack.  Expected cookies are those of httpd 2.4.71."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.client import fetch
from tests.support.engine import build_engine

CONF = """
LoadModule usertrack_module modules/mod_usertrack.so
CookieTracking on
CookieExpires "1 days 2 hours"
<Location /ck1>
CookieTracking on
CookieStyle RFC2965
CookieName foo
CookieDomain .example.com
CookieSecure on
CookieHttpOnly on
CookieSameSite Lax
</Location>
<Location /ck2>
CookieName foo
</Location>
"""


def test_cookies(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, CONF, {"htdocs/a.txt": "", "htdocs/ck1": "", "htdocs/ck2": ""})
    plain = fetch(serving, "/a.txt").get("Set-Cookie") or ""
    assert re.fullmatch(
        r"Apache=[0-9a-f]+\.[0-9a-f]+; path=/; expires=\w{3}, \d\d-\w{3}-\d\d \d\d:\d\d:\d\d GMT", plain
    )
    second = fetch(serving, "/ck1").get("Set-Cookie2") or ""
    rest = "; path=/; max-age=93600; domain=.example.com; version=1; SameSite=Lax; Secure; HttpOnly"
    assert re.fullmatch(r"foo=[0-9a-f]+\.[0-9a-f]+" + re.escape(rest), second)


def test_known_visitors(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, CONF, {"htdocs/a.txt": ""})
    assert fetch(serving, "/a.txt", "Cookie: x=y; Apache=1").get("Set-Cookie") is None
    assert fetch(serving, "/a.txt", "Cookie: XApache=1").get("Set-Cookie") is not None
    assert fetch(serving, "/nope").get("Set-Cookie") is not None


def test_sections_replace_each_other(tmp_path: Path) -> None:
    assert fetch(build_engine(tmp_path, CONF, {"htdocs/ck2": ""}), "/ck2").get("Set-Cookie") is None
