"""Cached response heads: earlier requests change neither a response nor its access-log line."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from tests.support.access_site import AccessSite
from tests.support.proxy_site import EchoScheme, ProxySite

from whimbrel.engine.request import Connection
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.registry.phases import OK, HookStatus
from whimbrel.testing.client import TestClient

CONF = """LoadModule env_module m/mod_env.so
LoadModule log_config_module m/mod_log_config.so
LoadModule mime_module m/mod_mime.so
TypesConfig /dev/null
AddType text/html .html
LogFormat "%>s %{Content-Type}o %{Content-Length}o %{Connection}o %O" fields_log
CustomLog logs/fields fields_log
MaxKeepAliveRequests 2
SetEnvIf Request_URI ends nokeepalive
SetEnvIf Request_URI bare suppress-error-charset
<Location /said>
ErrorDocument 404 "no"
</Location>
<Location /in>
AddDefaultCharset utf-8
</Location>
"""


def served(site: AccessSite, *requests: str) -> list[str]:
    """Return the uncached responses to these request lines with fields, on one connection."""
    client, out = TestClient(site.engine, Connection("127.0.0.1", 5000, "127.0.0.1", 8080)), []
    for request in requests:
        site.engine.response_cache.clear()
        out.append(client.send(f"{request}\r\nHost: localhost\r\n\r\n".encode()).decode("latin-1"))
    return out


def fields(answer: str) -> dict[str, str]:
    """Return the fields of a response by lower-case name."""
    lines = answer.partition("\r\n\r\n")[0].split("\r\n")[1:]
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


def settled(answer: str) -> dict[str, str]:
    """Return the fields that do not depend on the second or on the times of the site's own files."""
    return {n: value for n, value in fields(answer).items() if n not in ("date", "etag", "last-modified")}


KINDS = {
    "file": "GET /f.html?1 HTTP/1.1",
    "folder's settings": "GET /in/f.html?1 HTTP/1.1",
    "page": "GET /none HTTP/1.1",
    "own page": "GET /said/none HTTP/1.1",
    "no charset": "GET /bare HTTP/1.1",
    "redirect": "GET /in HTTP/1.1",
    "head": "HEAD /f.html?1 HTTP/1.1",
    "old": "GET /f.html?1 HTTP/1.0",
    "old page": "GET /none HTTP/1.0",
    "ends": "GET /ends HTTP/1.1",
    "close": "GET /f.html?1 HTTP/1.1\r\nConnection: close",
    "stays": "GET /f.html?1 HTTP/1.1\r\nConnection: keep-alive",
    "page stays": "GET /none HTTP/1.1\r\nConnection: Keep-Alive",
    "page ends": "GET /none HTTP/1.1\r\nConnection: keep-alive, close",
    "page of a range": "GET /none HTTP/1.1\r\nRange: bytes=0-1\r\nConnection: keep-alive",
    "range": "GET /f.html?1 HTTP/1.1\r\nRange: bytes=0-1",
    "not modified": "GET /f.html?1 HTTP/1.1\r\nIf-None-Match: *",
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_answered_before_changes_nothing(tmp_path: Path, kind: str) -> None:
    fresh, used = AccessSite(tmp_path / "fresh", CONF), AccessSite(tmp_path / "used", CONF)
    for other in [*KINDS.values()] * 2:
        served(used, other)
    used.runtime.logs.clear()
    wanted, found = served(fresh, KINDS[kind])[0], served(used, KINDS[kind])[0]
    assert settled(found) == settled(wanted)
    assert (
        found.split("\r\n")[0] == wanted.split("\r\n")[0]
        and found.partition("\r\n\r\n")[2] == wanted.partition("\r\n\r\n")[2]
    )
    assert list(used.runtime.logs.values()) == list(fresh.runtime.logs.values())


OF_BACK_ENDS = {
    "first": (200, "text/plain", "a", "one"),
    "status": (404, "text/plain", "a", "one"),
    "another status": (201, "text/plain", "a", "one"),
    "type": (200, "text/css", "a", "one"),
    "field": (200, "text/plain", "b", "one"),
    "body": (200, "text/plain", "a", "two"),
    "length": (200, "text/plain", "a", "three"),
}


class BackEnd(EchoScheme):
    """Answers with what OF_BACK_ENDS has for the last segment of the URL."""

    def handle(self, call: ProxyCall) -> HookStatus:
        name = unquote(call.url.rpartition("/")[2])
        call.r.status, call.r.content_type, value, body = OF_BACK_ENDS[name]
        call.r.headers_out.set("X-A", value)
        call.r.write(body)
        return OK


def proxied(root: Path) -> ProxySite:
    conf = (
        "ProxyPass /p/ http://127.0.0.1:81/\nProxyPass /other/ http://127.0.0.1:81/\n"
        "<Location /other/>\nAddDefaultCharset utf-8\n</Location>\n"
    )
    site = ProxySite(root, conf)
    site.engine.configuration.modules.register_provider("proxy_scheme", "http", BackEnd("http"))
    return site


@pytest.mark.parametrize("kind", OF_BACK_ENDS)
@pytest.mark.parametrize("place", ["p", "other"])
@pytest.mark.parametrize("more", ["", "\r\nConnection: keep-alive"])
def test_answers_of_back_ends_that_came_before_change_nothing(
    tmp_path: Path, kind: str, place: str, more: str
) -> None:
    fresh, used = proxied(tmp_path / "fresh"), proxied(tmp_path / "used")
    for name in [*OF_BACK_ENDS] * 2:
        for other in ("p", "other"):
            served(used, f"GET /{other}/{quote(name)} HTTP/1.1")
    wanted, found = (served(site, f"GET /{place}/{quote(kind)} HTTP/1.1{more}")[0] for site in (fresh, used))
    status, media_type, value, body = OF_BACK_ENDS[kind]
    assert wanted.split(" ")[1] == str(status) and wanted.endswith(f"\r\n\r\n{body}")
    charset = "; charset=utf-8" if place == "other" and media_type == "text/plain" else ""
    expected = {"content-type": media_type + charset, "x-a": value}
    assert fields(wanted).items() >= expected.items()
    assert (found.split("\r\n")[0], settled(found)) == (wanted.split("\r\n")[0], settled(wanted))
    assert found.partition("\r\n\r\n")[2] == body


@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_status_type_and_length_are_those_of_the_response(tmp_path: Path, version: str) -> None:
    """Of responses whose fields and settings are equal; error pages of 2.2 have the URL."""
    conf = (
        "LoadModule mime_module m/mod_mime.so\nTypesConfig /dev/null\nAddType text/html .html\n"
        "AddType text/css .css\nFileETag None\nLoadModule rewrite_module m/mod_rewrite.so\n"
        "RewriteEngine On\nRewriteRule ^/forbidden - [F]\n"
        'ErrorDocument 403 "no"\nErrorDocument 404 "no"\n'
        "<Location /pages>\nErrorDocument 404 default\n</Location>\n"
    )
    site = AccessSite(tmp_path, conf, version)
    for name in ("same.html", "same.css"):
        file = tmp_path / "htdocs" / name
        file.write_text("same\n")
        os.utime(file, (1_700_000_000, 1_700_000_000))
    for _ in range(3):
        for path, status, media_type in (
            ("/same.html?1", 200, "text/html"),
            ("/same.css?1", 200, "text/css"),
            ("/none", 404, "text/html"),
            ("/forbidden", 403, "text/html"),
            ("/pages/a", 404, "text/html"),
            ("/pages/longer", 404, "text/html"),
        ):
            answer = served(site, f"GET {path} HTTP/1.1")[0]
            found = fields(answer)
            assert answer.split(" ")[1] == str(status), path
            assert found["content-type"].partition(";")[0] == media_type, path
            assert found["content-length"] == str(len(answer.partition("\r\n\r\n")[2])), path


def test_the_last_response_of_a_connection_has_connection_close(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, CONF)
    for _ in range(3):
        answers = served(site, "GET /none HTTP/1.1", "GET /none HTTP/1.1", "GET /none HTTP/1.1")
        assert ["connection" in fields(answer) for answer in answers[:2]] == [False, False]
        assert fields(answers[2])["connection"] == "close"
        assert answers[0].endswith("</body></html>\n") and len(answers[0].partition("\r\n\r\n")[2]) == int(
            fields(answers[0])["content-length"]
        )


def test_keep_alive_counts_down_the_remaining_requests(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, CONF.replace("Requests 2", "Requests 4"))
    for path in ("/f.html?1", "/none"):
        answers = [
            fields(answer) for answer in served(site, *[f"GET {path} HTTP/1.1\r\nConnection: keep-alive"] * 5)
        ]
        assert [answer.get("keep-alive") for answer in answers[:4]] == [
            f"timeout=5, max={left}" for left in (4, 3, 2, 1)
        ]
        assert [answer["connection"] for answer in answers] == ["Keep-Alive"] * 4 + ["close"]
        assert "keep-alive" not in answers[4]
        assert [answer["content-length"] for answer in answers] == [answers[0]["content-length"]] * 5


def test_a_connection_without_limit_counts_nothing(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, CONF.replace("Requests 2", "Requests 0"))
    answers = [
        fields(answer) for answer in served(site, *["GET /none HTTP/1.1\r\nConnection: keep-alive"] * 3)
    ]
    assert [answer["keep-alive"] for answer in answers] == ["timeout=5"] * 3


def test_a_page_of_an_error_takes_nothing_from_the_last_one(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, f"{CONF}ServerSignature On\nUseCanonicalName Off\n")
    for _ in range(2):
        for name in ("one.test", "two.test"):
            answer = served(site, f"GET http://{name}/none HTTP/1.1\r\nConnection: keep-alive")[0]
            assert f" Server at {name} Port " in answer
        assert "<title>405 " in served(site, "PUT /f.html HTTP/1.1")[0]


def test_fix_ups_still_have_their_say_about_what_is_not_there(tmp_path: Path) -> None:
    conf = """LoadModule include_module m/mod_include.so
LoadModule dir_module m/mod_dir.so
LoadModule mime_module m/mod_mime.so
TypesConfig /dev/null
AddHandler server-parsed .parsed
<Directory "@DOCROOT@/in">
FallbackResource /f.html
</Directory>
<Location /set>
SetHandler server-parsed
</Location>
"""
    site = AccessSite(tmp_path, conf)
    for _ in range(2):
        assert [site.status(path) for path in ("/none", "/none.parsed", "/set/none", "/in/none")] == [
            404,
            404,
            404,
            200,
        ]


def test_files_of_other_lengths_have_other_heads(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, CONF)
    (tmp_path / "htdocs/long.html").write_text("x" * 300)
    for _ in range(2):
        lengths = [
            fields(answer)["content-length"]
            for answer in served(site, "GET /f.html?1 HTTP/1.1", "GET /long.html?1 HTTP/1.1")
        ]
        assert lengths == ["5", "300"]


def test_the_same_fields_under_other_settings_are_another_head(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, f"{CONF}FileETag None\n")
    (tmp_path / "htdocs/in/g.html").write_text("page\n")
    for name in ("f.html", "in/g.html"):
        os.utime(tmp_path / "htdocs" / name, (1e9, 1e9))
    for _ in range(2):
        plain, explicit = (fields(site.fetch(path)) for path in ("/f.html?1", "/in/g.html?1"))
        assert (plain.pop("content-type"), explicit.pop("content-type")) == (
            "text/html",
            "text/html; charset=utf-8",
        )
        assert plain == explicit


def test_heads_do_not_gather_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel.engine.engine.MAX_TEMPLATES", 8)
    site = AccessSite(
        tmp_path, "LoadModule alias_module m/mod_alias.so\nRedirectMatch ^/r/(.*)$ http://x.test/$1\n"
    )
    for number in range(20):
        assert fields(site.fetch(f"/r/{number}"))["location"] == f"http://x.test/{number}"
    assert 1 <= len(site.engine.head_templates) <= 8
