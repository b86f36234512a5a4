"""Variables of documents: dependencies are recorded, so that a cached document equals a fresh one.

The order of the table is APR's.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine
from tests.support.site import MTIME

from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.modules.filters.mod_include.variables import PROVIDED, Clock, Variables
from whimbrel.modules.support.cgi.environment import overlap
from whimbrel.testing.client import TestClient

CONF = (
    "LoadModule include_module modules/mod_include.so\nSetEnvIf User-Agent Evil evil=1\n"
    "<Directory @/htdocs>\nOptions +Includes\nAddType text/html .shtml\nAddOutputFilter INCLUDES "
    ".shtml\n</Directory>\n"
)
PAGES = {
    "fixed": '<!--#set var="a" value="b" --><!--#echo var="a" --><!--#include virtual="part.html" -->',
    "cookie": '<!--#echo var="HTTP_COOKIE" -->',
    "lower": '<!--#echo var="http_cookie" -->',
    "agent": '<!--#if expr="%{HTTP_USER_AGENT} =~ /Moz/" -->moz<!--#else -->other<!--#endif -->',
    "env": "<!--#if expr=\"reqenv('evil') == '1'\" -->evil<!--#endif --><!--#echo var=\"evil\" -->",
    "client": '<!--#echo var="REMOTE_ADDR" -->',
    "port": '<!--#echo var="REMOTE_PORT" -->',
    "all": "<!--#printenv -->",
    "query": '<!--#echo var="QUERY_STRING" --><!--#echo var="REQUEST_URI" -->',
    "name": '<!--#echo var="DOCUMENT_NAME" --> <!--#echo var="LAST_MODIFIED" --> <!--#echo '
    'var="USER_NAME" --> <!--#echo var="SERVER_NAME" -->',
    "size": '<!--#fsize file="part.html" --><!--#flastmod file="part.html" -->',
    "none": '<!--#echo var="HTTP_X_A" -->',
    "set": '<!--#set var="HTTP_COOKIE" value="own" --><!--#echo var="HTTP_COOKIE" -->',
    "sub": '<!--#include virtual="cookie.shtml" -->',
    "legacy": '<!--#set var="x" value="$HTTP_COOKIE" --><!--#if expr="v(\'x\') == \'n=1\'" '
    "-->one<!--#endif -->",
    "anywhere": "<!--#if expr=\"env('HTTP_COOKIE') == 'n=1'\" -->one<!--#endif -->",
}
FIELDS = [
    "",
    "Cookie: n=1",
    "Cookie: n=2",
    "User-Agent: Mozilla",
    "User-Agent: Evil",
    "X-A: 1",
    "Content-Type: a/b",
    "Host: other",
    "Accept: a/b",
]


def site(root: Path) -> Engine:
    files = {f"htdocs/{name}.shtml": text + "\n" for name, text in PAGES.items()}
    return build_engine(
        root,
        CONF,
        {
            **files,
            "htdocs/part.html": "part",
            "htdocs/clock.shtml": '<!--#config timefmt="%s" --><!--#echo var="a" -->',
        },
    )


def body(
    serving: Engine, page: str, field: str = "", address: str = "127.0.0.1", port: int = 50_000
) -> bytes:
    """Return the response on a new connection, without Date."""
    host = "" if field.startswith("Host") else "Host: localhost\r\n"
    head = f"GET /{page}.shtml HTTP/1.1\r\n{host}{field}\r\n" + ("\r\n" if field else "")
    data = TestClient(serving, Connection(address, port, "127.0.0.1", 80)).send(head.encode())
    return re.sub(rb"Date: .*\r\n|DATE_.*\n", b"", data)


ASKED = [
    (field, address, port)
    for field in FIELDS
    for address, port in (("127.0.0.1", 50_000), ("127.0.0.9", 50_000), ("127.0.0.1", 50_001))
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="module")
def engines(root: Path) -> dict[tuple[str, str, int], Engine]:
    """Return an engine for each of `ASKED`, which serves no page to anyone else."""
    return {one: site(root) for one in ASKED}


@pytest.mark.parametrize("page", PAGES)
def test_a_cached_document_equals_that_of_a_fresh_engine(
    root: Path, page: str, engines: dict[tuple[str, str, int], Engine]
) -> None:
    serving = site(root)
    fresh = {one: body(engine, page, *one) for one, engine in engines.items()}
    for one in [*ASKED, *reversed(ASKED)]:
        assert body(serving, page, *one) == fresh[one], one


@pytest.mark.parametrize(
    ("page", "kept"),
    [
        ("fixed", True),
        ("cookie", True),
        ("client", True),
        ("name", False),
        ("size", True),
        ("sub", True),
        ("env", True),
        ("clock", True),
        ("port", False),
        ("all", False),
    ],
)
def test_cached_documents(tmp_path: Path, page: str, kept: bool) -> None:
    serving = site(tmp_path)
    body(serving, page)
    book = serving.response_cache.index("127.0.0.1", 80)
    assert bool(book.by_head or book.by_key) is kept


@pytest.mark.parametrize("page", ["fixed", "size"])
def test_a_part_that_changes_is_seen(tmp_path: Path, page: str) -> None:
    serving = site(tmp_path)
    before = body(serving, page)
    (tmp_path / "htdocs/part.html").write_text("another part")
    os.utime(tmp_path / "htdocs/part.html", (MTIME + 5, MTIME + 5))
    after = body(serving, page)
    assert after != before
    assert after == body(site_as_it_is(tmp_path), page)


def site_as_it_is(root: Path) -> Engine:
    from whimbrel.base.dialect import DIALECTS
    from whimbrel.config.load import load
    from whimbrel.config.options import LoadOptions
    from whimbrel.modules import ALL
    from whimbrel.testing.fake_runtime import FakeRuntime

    return Engine(
        load(LoadOptions(server_root=str(root), file=str(root / "conf/httpd.conf")), ALL, DIALECTS["2.4"]),
        FakeRuntime(),
    )


def test_everything_that_programs_see_is_named(tmp_path: Path) -> None:
    shown = fetch(site(tmp_path), "/all.shtml?a", "X-A: 1", "Content-Type: a/b").body
    names = [line.partition("=")[0] for line in shown.splitlines() if "=" in line]
    assert {"HTTP_X_A", "REMOTE_PORT", "DATE_GMT", "QUERY_STRING_UNESCAPED"} <= set(names)
    assert [name for name in names if name not in PROVIDED and not name.startswith("HTTP_")] == []


class View:
    is_uncacheable = on_client = False


class RequestStub:
    """The part of a request that variables use."""

    def __init__(self) -> None:
        from whimbrel.http.semantics.headers import Headers

        self.headers_in, self.deps, self.left = Headers(), View(), False

    def set_uncacheable(self) -> None:
        self.left = True


def table(before: dict[str, str]) -> tuple[Variables, RequestStub]:
    r = RequestStub()
    return Variables(r, before, lambda env: overlap(env, {"SERVER_PORT": "80", "PATH": "/bin"})), r


def test_changes_stand_behind_what_is_provided() -> None:
    env, r = table({"own": "1", "Path": "mine"})
    env["a"] = "b"
    assert (env.get("A"), env.get("none"), "own" in env, "nokeepalive" in env, r.left) == (
        "b",
        None,
        True,
        False,
        False,
    )
    env["A"] = "c"
    del env["own"]
    env.pop("nothing", None)
    copy = env.copy()
    copy["d"] = "e"
    assert list(copy.items()) == [("Path", "/bin"), ("SERVER_PORT", "80"), ("a", "c"), ("d", "e")]
    assert env["SERVER_PORT"] == "80"
    assert dict(env) == {"Path": "/bin", "SERVER_PORT": "80", "a": "c"}
    assert r.left


def test_a_text_of_the_clock_is_noted_where_it_is_read() -> None:
    env, r = table({})
    env["DATE_LOCAL"] = Clock("now")
    assert not r.left
    assert (env["date_local"], r.left) == ("now", True)
