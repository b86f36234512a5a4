"""mod_alias. Every expected response is recorded from httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch_all
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError
from whimbrel.modules.mappers.mod_alias import alias_length

FILES = {"htdocs/d/a.txt": "x", "htdocs/d/b/c.txt": "C", "files/f.txt": "F", "files/d/a.txt": "FA"}
OPEN = "<Directory @>\nOptions Indexes FollowSymLinks\n</Directory>\n"


@pytest.mark.parametrize(
    ("conf", "path", "status", "body"),
    [
        ("Alias /d @/files", "/d/f.txt", 200, "F"),
        ("Alias /d @/files", "/d//f.txt", 200, "F"),
        ("Alias /d @/files", "/D/f.txt", 404, None),
        ("Alias /d @/files", "/df.txt", 404, None),
        ("Alias /d files", "/d/f.txt", 200, "F"),
        ("Alias /d/ @/files/d/", "/d/a.txt", 200, "FA"),
        ("Alias //d @/files/d/", "/d/a.txt", 200, "FA"),
        ("Alias d @/files", "/d/a.txt", 200, "x"),
        ("<Location /d>\nAlias @/files/f.txt\n</Location>", "/d/anything", 200, "F"),
        ("<Location /d>\nAlias @/files/d\nAliasPreservePath On\n</Location>", "/d/a.txt", 200, "FA"),
        (
            "<LocationMatch ^/d>\nAlias @/files/f.txt\nAliasPreservePath On\n</LocationMatch>",
            "/d/a.txt",
            200,
            "F",
        ),
        ("AliasMatch ^/(d)/(.*) @/files/$1/$2", "/d/a.txt", 200, "FA"),
        ('AliasMatch ^/d/([a-z]*) "@/files/d/$1\\.txt"', "/d/a.txt", 200, "FA"),
        ('AliasMatch ^/d/([a-z]*) "@/files/d/$1\\.txt"', "/d/", 404, None),
        ("Alias /d @/files\nRedirect 410 /d/f.txt", "/d/f.txt", 410, None),
    ],
)
def test_aliases(tmp_path: Path, conf: str, path: str, status: int, body: str | None) -> None:
    (reply,) = fetch_all(tmp_path, OPEN + conf, [path], FILES)
    assert reply.status == status
    assert body is None or reply.body == body


@pytest.mark.parametrize(
    ("conf", "path", "status", "location"),
    [
        ("Redirect /d /x\nRedirectRelative On", "/d/zz?q=1", 302, "/x/zz?q=1"),
        ("Redirect /d http://x/new", "/d/zz?", 302, "http://x/new/zz?"),
        ("RedirectMatch ^/d/(.*) http://x/$1", "/d/?", 302, "http://x/?"),
        # recorded from httpd 2.4.71: apr_uri_parse and apr_uri_unparse
        ("RedirectMatch ^/d/(.*) https://x:443/$1", "/d/a", 302, "https://x/a"),
        ("RedirectMatch ^/d/(.*) http://x:y/$1?q", "/d/a", 302, "http://x"),
        ("RedirectMatch ^/d/(.*) http://x:8y/$1?q", "/d/a", 302, "http://x:8y"),
        ("RedirectMatch ^/d/(.*) http://[::1]:80/$1", "/d/a", 302, "http://%5b::1%5d/a"),
        ("RedirectMatch ^/d/(.*) ldap://x:389/$1", "/d/a", 302, "ldap://x/a"),
        ("RedirectMatch ^/d/(.*) ws://x:80/$1", "/d/a", 302, "ws://x:80/a"),
        ("RedirectMatch ^/d/(.*) 1x:/$1", "/d/a", 500, None),
        ("Redirect /d http://x/?y=1", "/d/x%20y%3fz?", 302, "http://x/?y=1/x%20y%3fz"),
        ("Redirect /d http://x/?y=1", "/d/x%20y%3fz?a=b", 302, "http://x/?y=1/x%20y%3fz"),
        ("Redirect permanent /d /q/", "/d/a%26b;c=d", 301, "http://localhost/q//a&b;c=d"),
        ("Redirect /d //h/p", "/d//a.txt", 302, "http://localhost//h/p/a.txt"),
        ("Redirect 303 /d http://x/", "/da", 404, None),
        (
            "RedirectMatch ^/(d)/(.*) /q/$1?$2&%20\nRedirectRelative On",
            "/d/x%20y%3fz?a=b",
            302,
            "/q/d?x y?z&%20",
        ),
        (
            r'RedirectMatch "^/(d)/(.*)" "http://x/a b/\$1%2f$0%"',
            "/d/x%20y%3fz?a=b",
            302,
            "http://x/a%20b/$1%252f/d/x%20y?z%",
        ),
        (
            r'RedirectMatch "^/(d)/(.*)" "http://x/a b/\$1%2f$0%"',
            "/d/a.txt",
            302,
            "http://x/a%20b/$1%252f/d/a.txt%25",
        ),
        ("RedirectMatch 301 ^/d(.*) notaurl$1", "/d/a.txt", 500, None),
        ("RedirectMatch 404 ^/d", "/da", 404, None),
        ("RedirectTemp /d http://x/", "/d", 302, "http://x/"),
        ("RedirectPermanent /d http://x/", "/d/1", 301, "http://x//1"),
        ("Redirect 499 /d", "/d/a.txt", 500, None),
        ("<Location /d>\nRedirect gone /d/a.txt\n</Location>", "/d/a.txt", 410, None),
        ("<Location /d>\nRedirect gone /d/a.txt\n</Location>", "/d/zz?q=1", 404, None),
        ("<Directory @/htdocs>\nRedirect gone\n</Directory>", "/d/zz", 410, None),
        ("<Location /d>\nRedirect 302 /x\n</Location>", "/d/zz?q=1", 302, "http://localhost/x?q=1"),
        ("<Location /d>\nRedirect foo\n</Location>", "/d/zz", 500, None),
        (
            "<Location /d>\nRedirect /d/a.txt /y\nRedirect /x\n</Location>",
            "/d/a.txt",
            302,
            "http://localhost/x",
        ),
        (
            "<Directory @/htdocs>\nRedirect /d /x\nRedirectRelative On\n</Directory>\nRedirect /d /yy",
            "/d/zz?q=1",
            302,
            "http://localhost/yy/zz?q=1",
        ),
    ],
)
def test_redirects(tmp_path: Path, conf: str, path: str, status: int, location: str | None) -> None:
    (reply,) = fetch_all(tmp_path, OPEN + conf, [path], FILES)
    assert (reply.status, reply.get("Location")) == (status, location)


def test_redirect_in_htaccess(tmp_path: Path) -> None:
    (reply,) = fetch_all(
        tmp_path, "", ["/d/a.txt?b"], {**FILES, "htdocs/d/.htaccess": "Redirect 307 /d/a.txt /n\n"}
    )
    assert (reply.status, reply.get("Location")) == (307, "http://localhost/n?b")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Alias /only", "Alias must have two arguments when used globally"),
        ("<Directory /a>\nAlias /x\n</Directory>", "Alias cannot occur within <Directory> section"),
        ("<Files a>\nAlias /x\n</Files>", "Alias cannot occur within <Files> section"),
        ('<If "true">\nAlias /x\n</If>', "Alias cannot occur within <If> section"),
        ("<Location /a>\nAlias /x /y\n</Location>", "Alias cannot occur within directory context"),
        ("AliasMatch ^/( /y", "Regular expression could not be compiled."),
        ("Redirect gone /a http://x/", "Redirect URL not valid for this status"),
        ("Redirect 99 /a http://x/", "Redirect URL not valid for this status"),
        ("Redirect bogus /a http://x/", "Redirect: invalid first argument (of three)"),
        ("Redirect /a notaurl", "Redirect to non-URL"),
        ('Redirect 301 /a ""', "Redirect to non-URL"),
        ("Redirect /a", "URL to redirect to is missing"),
        ("Redirect 301", "URL to redirect to is missing"),
        ("<Location /a>\nRedirect 301\n</Location>", "URL to redirect to is missing"),
        ("RedirectMatch 301 ^/x", "URL to redirect to is missing"),
        ("RedirectMatch 404 ^/x http://a/", "Redirect URL not valid for this status"),
        ("RedirectMatch ( http://x/", "Regular expression could not be compiled."),
        ("RedirectPermanent temp http://h", "URL to redirect to is missing"),
        ("RedirectTemp a %", "Redirect to non-URL"),
        (
            "<Location /a>\nRedirectMatch 304 %{\n</Location>",
            "Cannot parse redirect expression '%{': syntax error, unexpected T_ERROR, expecting T_ID: "
            "Unterminated string or variable",
        ),
    ],
)
def test_refused(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_engine(tmp_path, line)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "line",
    [
        "Redirect /a 1http://x",
        "Redirect noslash http://x/",
        "Redirect 302x /a http://x/",
        'Redirect 308 "" /b',
        "RedirectMatch ^/a notaurl",
        "RedirectMatch gone ^/x",
        "<Location /a>\nRedirect bogus\n</Location>",
        "<Location /a>\nRedirect 404\n</Location>",
        "ScriptAlias a b",
        "RedirectTemp gone x",
        "RedirectPermanent 410 x",
        "<Location /a>\nRedirectTemp 404 x\n</Location>",
    ],
)
def test_accepted(tmp_path: Path, line: str) -> None:
    assert build_engine(tmp_path, line).configuration.messages == []


@pytest.mark.parametrize(
    ("conf", "warned"),
    [
        ("Alias /a /b\nAlias /a /c", "Alias"),
        ("Alias /a/ /b\nAlias /a/b /c", "Alias"),
        ("ScriptAlias /a /b\nAlias /a/b /c", "ScriptAlias"),
        ("AliasMatch ^/a /b\nAlias /a/b /c", "AliasMatch"),
        ("Alias /a/b /c\nAlias /a /c/", None),
        ("Alias /a /b\n<VirtualHost *:81>\nAlias /a/b /c\n</VirtualHost>", None),
        ("Redirect /a http://x/\nAlias /a/b /x", None),
    ],
)
def test_overlapping(tmp_path: Path, conf: str, warned: str | None) -> None:
    messages = [
        (m.text, m.code) for m in build_engine(tmp_path, conf).configuration.messages if m.module == "alias"
    ]
    if warned is None:
        assert messages == []
    else:
        ((text, code),) = messages
        assert code == "AH00671"
        assert text.endswith(f"will probably never match because it overlaps an earlier {warned}.")


@pytest.mark.parametrize(
    ("uri", "fake", "size"),
    [
        ("/a/b", "/a", 2),
        ("/ab", "/a", 0),
        ("/a", "/a/", 0),
        ("/a/", "/a/", 3),
        ("//a///b", "/a", 3),
        ("/a", "//a", 2),
        ("/a/b", "/a/b/c", 0),
    ],
)
def test_alias_length(uri: str, fake: str, size: int) -> None:
    """Repeated slashes count as one, and only complete segments match (manual, mod_alias, Alias)."""
    assert alias_length(uri, fake) == size
