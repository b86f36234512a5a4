"""Rules of servers and directories. Every expected response is recorded from httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import Reply, fetch
from tests.support.engine import build_engine

from whimbrel.engine.request import Connection
from whimbrel.modules.mappers.mod_rewrite.compiled import INDEX_THRESHOLD
from whimbrel.modules.mappers.mod_rewrite.settings import RewriteServerConfig
from whimbrel.testing.client import TestClient

LOAD = "LoadModule rewrite_module modules/mod_rewrite.so\nRewriteEngine On\n"
FILES = {
    "htdocs/a.txt": "A",
    "htdocs/d/x.txt": "DX",
    "htdocs/p/s/y.txt": "PSY",
    "out/o.txt": "OUT",
    "conf/map.txt": "one /a.txt\ntwo  /d/x.txt extra\n",
}


def reply(
    root: Path,
    rules: str,
    path: str,
    *headers: str,
    files: dict[str, str] | None = None,
    version: str = "2.4",
) -> Reply:
    return fetch(build_engine(root, LOAD + rules, {**FILES, **(files or {})}, version), path, *headers)


@pytest.mark.parametrize(
    ("rule", "path", "status", "location"),
    [
        ("^/b3/(.*) /t?x=$1 [R]", "/b3/a%20b", 302, "http://localhost/t?x=a%20b"),
        ("^/b3/(.*) /t?x=$1 [R]", "/b3/a%25b?z=1", 302, "http://localhost/t?x=a%25b"),
        ("^/b4/(.*) /t?x=$1 [R,B]", "/b4/a%20b%25", 302, "http://localhost/t?x=a+b%2525"),
        ("^/b5/(.*) /t?x=$1 [R,NE]", "/b5/a%20b", 403, None),
        ("^/b5/(.*) /t?x=$1 [R,NE]", "/b5/ab", 302, "http://localhost/t?x=ab"),
        ("^/b2 /t?x%20y [R]", "/b2", 302, "http://localhost/t?x0y"),
        ("^/a7 /x [R=abc]", "/a7", 302, "http://localhost/x"),
        ("^/c2 gopher://x/y", "/c2?x", 302, "gopher://x/y"),
        ("^/c3 http://localhost:18431/a.txt", "/c3", 302, "http://localhost:18431/a.txt"),
        ('^/c5 "ldap://h/a?b c?d"', "/c5", 302, "ldap://h/a?b%20c?d"),
        ("^/x1(.*) /$1 [R]", "/x1/y", 302, "http://localhost//y"),
        ("^/x3(.*) $1 [R]", "/x3y", 302, "http://localhost/y"),
        ("^/y2 mailto:a?x", "/y2", 302, "mailto:a?x"),
        ("^/y3 news:a?x [QSA]", "/y3?b", 302, "news:a%3fx"),
        ("^/a9/(.*) http://x.test/$1 [B=%,BNP,BNE=a]", "/a9/a%25%20b", 302, "http://x.test/a%2525%20b"),
        ("^/b1/(.*) http://x.test/$1?$1 [BCTLS,NE]", "/b1/a%20b", 302, "http://x.test/a+b?a+b"),
        (
            "^/b2/(.*) http://x.test/$1?$1 [BCTLS]",
            "/b2/a%20%01%25b",
            302,
            "http://x.test/a+%2501%25b?a+%2501%25b",
        ),
        ("^/d2 WS://x/?a%26b [R=303]", "/d2", 303, "WS://x/?a6b"),
        ("^/d4 /abc [R=permanent]", "/d4?q%20", 301, "http://localhost/abc?q%20"),
        ("^/z9 http://", "/z9", 302, "http://"),
        ("^/z2 - [R=404,E=FOO:x,L]", "/z2", 404, None),
        ("^/c8 / [R=500]", "/c8", 500, None),
    ],
)
def test_redirects(tmp_path: Path, rule: str, path: str, status: int, location: str | None) -> None:
    answer = reply(tmp_path, f"RewriteRule {rule}", path)
    assert (answer.status, answer.get("Location")) == (status, location)


@pytest.mark.parametrize(
    ("rule", "path", "status", "body"),
    [
        ("^/b1 @/htdocs/a.txt", "/b1", 200, "A"),
        ("^/a1$ htdocs/a.txt", "/a1", 404, None),
        ("^/a2/(.*) /$1", "/a2/a%3fb", 403, None),
        ("^/a3/(.*) /a.txt?q=$1", "/a3/a%3fb", 200, "A"),
        ("^/a5/(.*) /$1 [B]", "/a5/%3fX", 404, None),
        ("^/a6/(.*) /$1 [B,BNE=?]", "/a6/%3fX", 403, None),
        ("^/a9(.*) $1", "/a9/etc/passwd", 404, None),
        ("^/x2(.*) /$1", "/x2/d/x.txt", 200, "DX"),
        ("^/x6/(.*) /$1? [UnsafeAllow3F]", "/x6/a%3fb", 404, None),
        ("^/x7/(.*) /$1?", "/x7/a%3fb?q", 403, None),
        ("^/y1/(.*) /$1?foo [QSL]", "/y1/a%3fb?q", 404, None),
        ("^/b9/(.*) http://x.test/$1 [P]", "/b9/x", 403, None),
        ("^/c6(.*) /c6$1x [N=3]", "/c6", 500, None),
        ("^/c5(.*) x:y", "/c5", 404, None),
        ("^/d6 - [S]\nRewriteRule ^/d6 /a.txt", "/d6", 200, "A"),
        ("^/e1 - [S=1]\nRewriteRule ^/e1 - [F]\nRewriteRule ^/e1 /a.txt", "/e1", 200, "A"),
        (
            "^/e2 /e3 [C]\nRewriteRule ^/no - [C]\nRewriteRule . - [F]\nRewriteRule ^/e3 /a.txt",
            "/e2",
            200,
            "A",
        ),
        ("!^/no /a.txt", "/yes", 200, "A"),
        ("^/b6/(.*) /al/$1 [PT]\nAlias /al @/out", "/b6/o.txt", 200, "OUT"),
    ],
)
def test_local_results(tmp_path: Path, rule: str, path: str, status: int, body: str | None) -> None:
    answer = reply(tmp_path, f"RewriteRule {rule}", path)
    assert answer.status == status
    assert body is None or answer.body == body


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/su/x", "@/htdocs/su"),
        ("/sf/x", "/sf"),
        ("/d/pu", "@/htdocs/{root}"),
        ("/d/pf", "@/htdocs/d/pf"),
        ("/p/pu", "@/htdocs/base"),
        ("/p/pf", "@/htdocs/p/pf"),
    ],
)
def test_the_target_of_a_look_ahead(tmp_path: Path, path: str, value: str) -> None:
    """LA-U looks a URL up, LA-F a file; in a directory without RewriteBase the URL is the path of a file."""
    ahead = "[E=V:%{{LA-{}:REQUEST_FILENAME}},L]"
    sections = "".join(
        f'<Directory "@/htdocs/{name}">\nRewriteEngine On\n{base}RewriteRule ^pu - {ahead.format("U")}\n'
        f"RewriteRule ^pf - {ahead.format('F')}\n</Directory>\n"
        for name, base in (("d", ""), ("p", "RewriteBase /base/\n"))
    )
    rules = (
        f"RewriteRule ^/su - {ahead.format('U')}\nRewriteRule ^/sf - {ahead.format('F')}\n{sections}"
        "LoadModule headers_module modules/mod_headers.so\nHeader always set X-V %{V}e\n"
    )
    expected = value.format(root=str(tmp_path).split("/")[1]).replace("@", str(tmp_path))
    assert reply(tmp_path, rules, path).get("X-V") == expected


def test_types_and_handlers_are_lower_case(tmp_path: Path) -> None:
    answer = reply(tmp_path, "RewriteRule ^/c7 /a.txt [T=Text/FOO,H=Default-Handler]", "/c7")
    assert (answer.status, answer.get("Content-Type"), answer.body) == (200, "text/foo", "A")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("%{http_host}", "localhost"),
        ("%{Query_String}", "q=1"),
        ("%{la-u:request_uri}", "/v"),
        ("%{http:host}", "localhost"),
        ("x%{handler}", "x"),  # no variable of mod_rewrite
    ],
)
def test_names_of_variables_have_no_case(tmp_path: Path, name: str, value: str) -> None:
    found = reply(tmp_path, f"RewriteRule ^/v$ /b?v={name} [R,NE,QSD]", "/v?q=1")
    assert found.get("Location") == f"http://localhost/b?v={value}"


@pytest.mark.parametrize("flag", ["D", "d", "DISCARD", "DPIX", "D=x"])
def test_any_flag_that_begins_with_d_is_dpi(tmp_path: Path, flag: str) -> None:
    found = reply(tmp_path, f"RewriteRule ^/d /a.txt [{flag}]", "/d/more")
    assert found.status == 200


def test_cookies_are_sent_once_each(tmp_path: Path) -> None:
    flags = [
        ";a;b;.x;;/",
        "c:d:.x:0:/:true:true:Strict",
        "e:f:.x:0:/:true:false:0",
        "c:again:.x",
        "g:h:.x:0:/:false:true",
        "n:v",
    ]
    answer = reply(tmp_path, "".join(f"RewriteRule ^/c1 - [CO={flag}]\n" for flag in flags), "/c1")
    assert answer.all("Set-Cookie") == [
        "a=b; path=/; domain=.x",
        "c=d; path=/; domain=.x; secure; HttpOnly; SameSite=Strict",
        "e=f; path=/; domain=.x; secure",
        "g=h; path=/; domain=.x",
    ]


def test_what_conditions_looked_at_varies(tmp_path: Path) -> None:
    conds = (
        "RewriteCond %{HTTP_USER_AGENT} x\nRewriteCond %{HTTP:X-B} !y\nRewriteCond %{HTTP:Host} "
        ".\nRewriteRule ^/c9 /a.txt"
    )
    assert reply(tmp_path, conds, "/c9", "User-Agent: xx", "X-B: z").get("Vary") == "User-Agent,X-B"
    assert reply(tmp_path, conds, "/c9", "User-Agent: yy").get("Vary") is None


def test_an_internal_redirect_keeps_what_varies(tmp_path: Path) -> None:
    files = {"htdocs/d/.htaccess": "RewriteCond %{HTTP:X-B} y\nRewriteRule ^zz$ x.txt"}
    answer = reply(tmp_path, "", "/d/zz", "X-B: y", files=files)
    assert (answer.body, answer.get("Vary")) == ("DX", "X-B")


@pytest.mark.parametrize(
    ("rules", "path", "status", "found"),
    [
        ("RewriteRule ^a o.txt", "/al/a", 200, "OUT"),
        ("RewriteRule ^a o.txt [R]", "/al/a", 302, "http://localhost@/out/o.txt"),
        ("RewriteBase /al\nRewriteRule ^a o.txt [R]", "/al/a", 302, "http://localhost/al/o.txt"),
        ("RewriteOptions IgnoreContextInfo\nRewriteRule ^a o.txt", "/al/a", 404, None),
        ("RewriteRule ^u5(.*) - [R=404,END]", "/al/u5", 404, None),
        ("RewriteRule ^u4 http://x.test/%{REQUEST_URI} [L,PT]", "/al/u4", 400, None),
        ("RewriteRule ^u8 http://x/y [P]", "/al/u8", 403, None),
        ("RewriteRule ^(.*)$ x$1", "/al/u9", 500, None),
        ("RewriteRule ^u1 o.txt [END]\nRewriteRule ^o - [F]", "/al/u1", 200, "OUT"),
        ("Options None\nRewriteRule ^u1 o.txt", "/al/u1", 403, None),
    ],
)
def test_directories(tmp_path: Path, rules: str, path: str, status: int, found: str | None) -> None:
    conf = f"Alias /al @/out\n<Directory @/out>\nOptions FollowSymLinks\n{rules}\n</Directory>\n"
    answer = reply(tmp_path, conf, path)
    assert answer.status == status
    assert found is None or found.replace("@", str(tmp_path)) == (answer.get("Location") or answer.body)


def test_a_directory_without_its_slash_is_left_to_mod_dir(tmp_path: Path) -> None:
    rules = {"htdocs/d/.htaccess": "RewriteRule ^ /a.txt"}
    assert reply(tmp_path, "", "/d", files=rules).get("Location") == "http://localhost/d/"
    assert reply(tmp_path, "", "/d/", files=rules).body == "A"


@pytest.mark.parametrize(
    ("options", "path", "status"),
    [
        ("", "/d", 301),
        ("", "/d/", 403),
        ("", "/d/a.txt", 403),
        ("", "/d/end", 200),
        ("RewriteOptions AllowNoSlash", "/d", 403),
    ],
)
def test_without_links_only_what_rules_are_run_for_is_refused(
    tmp_path: Path, options: str, path: str, status: int
) -> None:
    """Recorded from httpd 2.4.71: a directory without its slash and a request with END have no rules."""
    conf = (
        "RewriteEngine On\nRewriteRule ^/d/end$ @/htdocs/d/a.txt [END]\n<Directory @/htdocs/d>\n"
        f"Options None\nRewriteEngine On\nRewriteRule ^none$ -\n{options}\n</Directory>\n"
    )
    assert reply(tmp_path, conf, path, files={"htdocs/d/a.txt": "A"}).status == status


@pytest.mark.parametrize(
    ("inner", "one", "two"),
    [
        ("RewriteEngine On", 404, "CHILD"),
        ("RewriteOptions Inherit", "PARENT", "CHILD"),
        ("RewriteOptions InheritBefore", "PARENT", "PARENT"),
    ],
)
def test_rules_of_outer_directories(tmp_path: Path, inner: str, one: str | int, two: str) -> None:
    files = {
        "htdocs/p/.htaccess": "RewriteRule ^(.*/)?(one|two)$ /parent.txt [L]",
        "htdocs/parent.txt": "PARENT",
        "htdocs/child.txt": "CHILD",
        "htdocs/p/s/.htaccess": f"{inner}\nRewriteRule ^two$ /child.txt [L]",
    }
    first, second = (reply(tmp_path, "", path, files=files) for path in ("/p/s/one", "/p/s/two"))
    assert (first.status if isinstance(one, int) else first.body) == one
    assert second.body == two


def test_a_virtual_host_without_rules_is_left_alone(tmp_path: Path) -> None:
    conf = "RewriteOptions InheritDown\nRewriteRule ^/one /a.txt\n"
    hosts = (
        "<VirtualHost *:80>\nServerName a.test\nRewriteEngine On\n</VirtualHost>\n<VirtualHost "
        "*:80>\nServerName b.test\n</VirtualHost>\n"
    )
    own = build_engine(
        tmp_path, LOAD + conf + hosts.replace("ServerName", 'DocumentRoot "@/htdocs"\nServerName'), FILES
    )
    assert fetch(own, "http://a.test/one").body == "A"
    assert fetch(own, "http://b.test/one").status == 404


def test_the_old_dot_stops_at_a_newline(tmp_path: Path) -> None:
    assert reply(tmp_path, "RewriteRule ^/n/.$ /a.txt", "/n/%0a").status == 200
    (tmp_path / "old").mkdir()
    assert reply(tmp_path / "old", "RewriteRule ^/n/.$ /a.txt", "/n/%0a", version="2.2").status == 404


def test_the_old_query_of_a_redirect_is_escaped_again(tmp_path: Path) -> None:
    assert (
        reply(tmp_path, "RewriteRule ^/two /new [R=301]", "/two?a%20b", version="2.2").get("Location")
        == "http://localhost/new?a%2520b"
    )


def test_long_lists_are_compiled_before_the_first_request(tmp_path: Path) -> None:
    rules = "".join(f"RewriteRule ^/old{n}\\.html$ /new{n}.html [R]\n" for n in range(INDEX_THRESHOLD))
    serving = build_engine(tmp_path, LOAD + rules)
    compiled = serving.main.config(RewriteServerConfig).compiled
    ahead = list(compiled.values())
    assert len(ahead) == 1
    assert (fetch(serving, "/old7.html").get("Location") or "").endswith("/new7.html")
    assert list(compiled.values()) == ahead
    off = build_engine(tmp_path, LOAD.replace("On", "Off") + rules)
    assert not off.main.config(RewriteServerConfig).compiled


@pytest.mark.parametrize(
    ("path", "host", "variables"),
    [
        ("/a.txt", "localhost", "http://localhost/a.txt /a.txt"),
        ("/a.txt", "a.test:99", "http://a.test:99/a.txt /a.txt"),
        ("/a.txt?q", "a.test", "http://a.test/a.txt /a.txt"),
        ("/e/a.txt", "a.test", "http://a.test/e/a.txt /e/a.txt"),
        ("/none?q", "a.test", "http://a.test/none /none"),
    ],
)
def test_script_variables_have_the_url_before_all_rules(
    tmp_path: Path, path: str, host: str, variables: str
) -> None:
    """Also in the document of an error, which an internal redirect serves."""
    conf = (
        LOAD + "RewriteRule ^/e/(.*) /$1 [PT]\nErrorDocument 404 /a.txt\n"
        'Header always set X-Uri "%{SCRIPT_URI}e %{SCRIPT_URL}e"\n'
    )
    client = TestClient(build_engine(tmp_path, conf, FILES), Connection("127.0.0.1", 5000, "127.0.0.1", 80))
    text = client.send(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()).decode()
    assert f"\r\nX-Uri: {variables}\r\n" in text
