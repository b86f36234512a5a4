"""mod_cache's directives, the lock and the engine's own cache.  Expected values are httpd 2.4.71's."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.support.cached_site import FRESH, MODULES, NOW, CachedSite
from tests.support.client import Reply, error_log, fetch
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError
from whimbrel.engine.output.filter import FilterType
from whimbrel.http.syntax.target import UriParts, split_url
from whimbrel.modules.cache.cache_control import CacheControl, members, parse
from whimbrel.modules.cache.mod_cache.key import _without, matches
from whimbrel.modules.cache.mod_cache.markers import FILTERS


def url(text: str) -> UriParts:
    parts = split_url(text)
    assert parts is not None
    return parts


@pytest.mark.parametrize(
    ("rule", "target", "in_24", "in_22"),
    [
        ("/", "/a", True, True),
        ("/d", "/x", False, False),
        ("/", "http://www.example/a", False, True),
        ("http://", "http://www.example/a", True, False),
        ("http://", "/a", False, False),
        ("http://www.example/", "http://www.example/a", True, True),
        ("http://www.example/", "http://WWW.example:80/a", True, False),
        ("http://*.example/", "http://www.example/a", True, False),
        ("http://.example/", "http://www.example/a", True, False),
        ("http://www.example:8080/d", "http://www.example:8080/d", True, False),
        ("https://", "http://www.example/a", False, False),
    ],
)
def test_urls_of_cache_enable(rule: str, target: str, in_24: bool, in_22: bool) -> None:
    parts = url(target)
    found = [matches(url(rule), parts, parts.path, version22=old) for old in (False, True)]
    assert found == [in_24, in_22]


@pytest.mark.parametrize(
    ("query", "exact", "partial"),
    [
        ("id=1", "", ""),
        ("a=1&id=2", "a=1", "a=1&"),
        ("id=2&a=1", "a=1", "a=1"),
        ("myid=2&a=1", "myid=2&a=1", "mya=1"),
        ("a=id", "a=id", "a=id"),
    ],
)
def test_session_identifiers(query: str, exact: str, partial: str) -> None:
    assert _without(query, "id", partial=False) == exact
    assert _without(query, "id", partial=True) == partial


def test_cache_control_is_split_at_commas_and_blanks() -> None:
    assert list(members('a, b=1 ,c="x, y" , d=e f, g')) == [
        ("a", None),
        ("b", "1"),
        ("c", '"x, y"'),
        ("d", "e"),
        ("f", None),
        ("g", None),
    ]
    assert list(members(', a,, "b, c"=1')) == [("a", None), ('"b, c"', "1")]
    assert list(members('"x,')) == [('"x,', None)] and list(members(" ,")) == list(members("")) == []
    control = parse('MAX-AGE=9, s-maxage=x, max-stale, private="a", no-cache', "x, No-Cache")
    assert (control.max_age_value, control.s_maxage, control.max_stale) == (9, False, True)
    assert (control.private, control.private_header, control.no_cache) == (False, True, True)
    assert CacheControl.unpack(control.pack()) == control


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("CacheEnable /x /", "provider (/x) starts with a '/'.  Are url and provider switched?"),
        ("CacheEnable disk", "CacheEnable provider (disk) is missing an URL."),
        ("<Location /d>\nCacheEnable disk /x\n</Location>", "When in a Location, CacheEnable must specify"),
        ("<Location /d>\nCacheDisable /x\n</Location>", "followed by the word 'on'"),
        ("CacheDisable x", "CacheDisable must specify a path or an URL."),
        ("CacheLockMaxAge 0", "CacheLockMaxAge value must be a non-zero positive integer"),
        ("CacheLastModifiedFactor x", "CacheLastModifiedFactor value must be a float"),
        ("CacheKeyBaseURL nourl", "URL 'nourl' must contain at least one of a scheme, a hostname or a port."),
        ("CacheMaxFileSize -1", "CacheMaxFileSize argument must be a non-negative integer"),
        (
            "CacheDirLevels 4\nCacheDirLength 6",
            "CacheDirLevels*CacheDirLength value must not be higher than 20",
        ),
    ],
)
def test_arguments_are_refused(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        CachedSite(tmp_path, line)
    assert message in str(caught.value)


def test_sections_with_the_normal_handler(tmp_path: Path) -> None:
    conf = (
        "CacheQuickHandler Off\n<Location /d>\nCacheEnable disk\n</Location>\nCacheEnable disk /e\n"
        "<Location /e/no>\nCacheDisable on\n</Location>"
    )
    site = CachedSite(tmp_path, conf)
    found = {path: [site.state(path=path), site.state(path=path)] for path in ("/d/a", "/e/a", "/e/no", "/x")}
    assert found == {
        "/d/a": ["MISS", "HIT"],
        "/e/a": ["MISS", "HIT"],
        "/e/no": ["none", "none"],
        "/x": ["none", "none"],
    }


def test_access_checks_run_before_the_normal_handler_only(tmp_path: Path) -> None:
    site = CachedSite(tmp_path)
    site.get()
    deny = "\n<Location />\nRequire all denied\n</Location>"
    for conf, status in (("", 200), ("CacheQuickHandler Off\n", 403)):
        site = CachedSite(tmp_path, f"{conf}CacheEnable disk /{deny}")
        assert site.get().status == status


def test_key_options(tmp_path: Path) -> None:
    site = CachedSite(tmp_path, "CacheEnable disk /\nCacheIgnoreQueryString On")
    site.get("/a?1")
    assert site.state(path="/a?2") == "HIT"
    site = CachedSite(tmp_path, "CacheEnable disk /\nCacheKeyBaseURL https://www.example:8443")
    site.get("/b")
    assert b"https://www.example:8443/b?" in b"".join(file.read_bytes() for file in site.files(".header"))


def test_fields_that_are_not_stored(tmp_path: Path) -> None:
    site = CachedSite(tmp_path, "CacheEnable disk /\nCacheIgnoreHeaders Set-Cookie X-A")
    site.origin.fields = [*FRESH, ("Set-Cookie", "a=b"), ("X-A", "1"), ("Keep-Alive", "x")]
    assert site.get().get("Set-Cookie") == "a=b"
    hit = site.get()
    assert (hit.get("Set-Cookie"), hit.get("X-A"), hit.get("Keep-Alive")) == (None, None, None)


@pytest.mark.parametrize("version", ["2.2", "2.4"])
@pytest.mark.parametrize("more", ["", "FallbackResource /b.txt"])
def test_directory_indexes_are_stored(tmp_path: Path, more: str, version: str) -> None:
    if more and version == "2.2":
        more = "DirectoryIndex none.txt b.txt"
    site = CachedSite(
        tmp_path,
        f"CacheEnable disk /\n<Directory />\n{more or 'DirectoryIndex a.txt'}\n</Directory>",
        version,
    )
    for name in ("a.txt", "b.txt"):
        (tmp_path / "htdocs" / name).write_text("x")
    first = site.get("/")
    assert (first.status, len(site.origin.seen)) == (200, 1)
    assert (site.get("/").status, len(site.origin.seen)) == (200, 1)


def test_stored_cookies_keep_their_place(tmp_path: Path) -> None:
    site = CachedSite(tmp_path)
    site.origin.fields = [*FRESH, ("Set-Cookie", "a=b"), ("X-A", "1"), ("Set-Cookie", "c=d")]
    site.get()
    names = [name for name, _ in site.get().headers]
    assert names[names.index("ETag") + 1 :][:3] == ["Set-Cookie", "X-A", "Set-Cookie"]


@pytest.mark.parametrize(("version", "value"), [("2.4", "1"), ("2.2", None)])
def test_ignored_fields_of_a_304_are_sent_in_24(version: str, value: str | None, tmp_path: Path) -> None:
    site = CachedSite(tmp_path, "CacheEnable disk /\nCacheIgnoreHeaders X-A", version)
    site.origin.fields = [*FRESH, ("X-A", "1")]
    assert [site.get().get("X-A"), site.get().get("X-A")] == ["1", None]
    site.now += 100
    assert (site.get().get("X-A"), site.origin.seen[-1]["if-none-match"]) == (value, '"1"')


def test_storing_options(tmp_path: Path) -> None:
    conf = (
        "CacheEnable disk /\nCacheStorePrivate On\nCacheStoreNoStore On\nCacheIgnoreNoLastMod On\n"
        "CacheDefaultExpire 50"
    )
    site = CachedSite(tmp_path, conf)
    site.origin.fields = [("Cache-Control", "private, no-store")]
    assert site.state() == "MISS"
    site.now = NOW + 49
    assert site.state() == "HIT"
    site.now = NOW + 51
    assert site.state() == "MISS"


@pytest.mark.parametrize(
    ("conf", "field", "path", "state"),
    [
        ("", "Expires: 0", "/a", "MISS"),
        ("CacheStoreExpired On", "Expires: 0", "/a", "HIT"),
        ("CacheStoreExpired On", "Expires: junk", "/a?x", "HIT"),
        ("CacheIgnoreNoLastMod On", "X: y", "/a", "HIT"),
        ("CacheIgnoreNoLastMod On", "X: y", "/a?", "MISS"),
        ("CacheIgnoreNoLastMod On\nCacheIgnoreQueryString On", "X: y", "/a?", "HIT"),
    ],
)
def test_responses_with_a_bad_date_or_an_empty_query(
    tmp_path: Path, conf: str, field: str, path: str, state: str
) -> None:
    site = CachedSite(tmp_path, f"CacheEnable disk /\n{conf}")
    name, _, value = field.partition(": ")
    site.origin.fields = [(name, value)]
    site.get(path)
    assert site.state(path=path) == state


def test_a_cut_header_file_is_reported_with_its_cause(tmp_path: Path) -> None:
    site = CachedSite(tmp_path)
    site.get()
    (file,) = site.files(".header")
    data = file.read_bytes()
    file.write_bytes(data[: data.rindex(b"\r\n\r\n")])
    site.get()
    assert "(70014)End of file found: [client 127.0.0.1:50000] AH00717" in error_log(site.engine)


def test_variables_show_what_happened(tmp_path: Path) -> None:
    site = CachedSite(tmp_path, 'CacheEnable disk /\nCustomLog logs/cache "%{cache-status}e"')
    written: list[bytes] = []
    site.engine.runtime.write_log = lambda _sink, data: written.append(data)  # type: ignore[method-assign]
    site.get()
    site.get()
    assert written == [b"cache miss: attempting entity save\n", b"cache hit\n"]


def test_100_clients_of_a_stale_url_cause_one_request(tmp_path: Path) -> None:
    site = CachedSite(tmp_path, f"CacheEnable disk /\nCacheLock On\nCacheLockPath {tmp_path}/locks")
    site.get()
    site.now += 100
    site.origin.fields = [("Cache-Control", "max-age=60"), ("ETag", '"2"')]
    inner: list[Reply] = []

    def meanwhile() -> None:
        site.origin.before = None
        for top, _, files in os.walk(tmp_path / "locks"):
            for file in files:
                os.utime(Path(top) / file, (site.now, site.now))
        with ThreadPoolExecutor(1) as pool:
            inner.extend(pool.map(lambda _: site.get(), range(99)))

    site.origin.before = meanwhile
    first = site.get()
    assert site.count == 2 and first.get("ETag") == '"2"'
    assert {reply.body for reply in inner} == {"body"} and len(inner) == 99
    assert all("110" in (reply.get("Warning") or "") for reply in inner)
    assert not [file for _, _, files in os.walk(tmp_path / "locks") for file in files]


def test_an_old_lock_is_replaced(tmp_path: Path) -> None:
    site = CachedSite(tmp_path, f"CacheEnable disk /\nCacheLock On\nCacheLockPath {tmp_path}/locks")
    for directory, _, _ in os.walk(tmp_path):
        assert "locks" not in directory
    site.get()
    site.now += 100
    from whimbrel.modules.cache.mod_cache.lock import CacheLock

    keep = CacheLock.release
    CacheLock.release = lambda self: None  # type: ignore[method-assign]
    try:
        site.get()
    finally:
        CacheLock.release = keep  # type: ignore[method-assign]
    [lock] = [Path(top) / file for top, _, files in os.walk(tmp_path / "locks") for file in files]
    os.utime(lock, (site.now - 6, site.now - 6))
    site.now += 100
    assert site.state() == "REVALIDATE"


def test_the_engine_repeats_a_hit_until_it_expires(tmp_path: Path) -> None:
    """The engine's cache may hold a hit of mod_cache, with its Age, no longer than it is fresh."""
    (tmp_path / "cache").mkdir()
    conf = (
        f"{MODULES['2.4']}CacheRoot {tmp_path}/cache\nCacheEnable disk /\nCacheMaxExpire 40\nCacheHeader On"
    )
    engine = build_engine(tmp_path, conf, {"htdocs/a.txt": "a"})
    now = int(time.time()) - 30.0
    engine.runtime.now = lambda: now  # type: ignore[method-assign]
    fetch(engine, "/a.txt")
    for file in (tmp_path / "cache").rglob("*.*"):
        os.utime(file, (now - 10, now - 10))
    now += 30
    for _ in range(3):
        reply = fetch(engine, "/a.txt")
        assert (reply.get("X-Cache"), reply.get("Age")) == ("HIT from localhost", "30")
    [cached] = {id(c): c for i in engine.response_cache.indexes() for c in i.by_key.values()}.values()
    until = cached.validity.valid_until
    assert until is not None and now + 9 < until <= now + 10


def test_filters_stand_where_httpd_has_them() -> None:
    """mod_cache.c, register_hooks: those of a request behind a filter that compresses, those of sub-requests
    before it.
    """
    content, protocol = FilterType.CONTENT_SET, FilterType.PROTOCOL
    assert {one.name: one.type for one in FILTERS if one.name != "CACHE"} == {
        "CACHE_SAVE": content + 1,
        "CACHE_SAVE_SUBREQ": content - 1,
        "CACHE_OUT": content + 1,
        "CACHE_OUT_SUBREQ": content - 1,
        "CACHE_REMOVE_URL": protocol,
        "CACHE_INVALIDATE": protocol,
    }
