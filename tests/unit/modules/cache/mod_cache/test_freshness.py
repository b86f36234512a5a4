"""Required behaviours of RFC 9111, one row each: fields of the response, then requests with what each finds.

Expected values are those of the RFC; where httpd 2.4.71 is stricter than it must be, its answer.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.cached_site import FRESH, MODIFIED, NOW, CachedSite

from whimbrel.http.semantics.dates import format_http

HIT, MISS, REVALIDATE, NONE = "HIT", "MISS", "REVALIDATE", "none"
VALIDATED = f"Last-Modified: {MODIFIED}"
CC9, TAG, NO_CACHE = "Cache-Control: max-age=9", 'ETag: "1"', "Cache-Control: no-cache"
STALE = "Cache-Control: max-stale"
SOON, PAST = format_http(int(NOW) + 100), format_http(int(NOW) - 100)
# section, fields of every response, (seconds after the first request, fields of the request, what happens)
ROWS = [
    ("3 no-store response", ["Cache-Control: no-store, max-age=9"], [(0, "", MISS), (1, "", MISS)]),
    ("3 private", ["Cache-Control: private, max-age=9"], [(0, "", MISS), (1, "", MISS)]),
    ("3 max-age", [CC9], [(0, "", MISS), (1, "", HIT)]),
    ("3 Expires", [f"Expires: {SOON}", VALIDATED], [(0, "", MISS), (1, "", HIT)]),
    ("3 nothing explicit", [], [(0, "", MISS), (1, "", MISS)]),
    ("3 no-store request", [CC9], [(0, "Cache-Control: no-store", NONE), (1, "", MISS)]),
    ("3.5 Authorization", [CC9], [(0, "Authorization: x", NONE), (1, "", MISS)]),
    ("4.1 same variant", ["Vary: X", CC9], [(0, "X: 1", MISS), (1, "X: 1", HIT)]),
    ("4.1 other variant", ["Vary: X", CC9], [(0, "X: 1", MISS), (1, "X: 2", MISS)]),
    ("4.1 absent field", ["Vary: X", CC9], [(0, "X: 1", MISS), (1, "", MISS)]),
    ("4.1 both variants", ["Vary: X", CC9],
     [(0, "X: 1", MISS), (1, "X: 2", MISS), (2, "X: 1", HIT), (2, "X: 2", HIT)]),
    ("4.1 Vary: *", ["Vary: *", CC9], [(0, "", MISS), (1, "", MISS)]),
    ("4.2 expired max-age", [CC9, TAG], [(0, "", MISS), (9, "", REVALIDATE)]),
    ("4.2 last fresh second", [CC9, TAG], [(0, "", MISS), (8, "", HIT)]),
    ("4.2.1 s-maxage wins", ["Cache-Control: max-age=1, s-maxage=9"], [(0, "", MISS), (5, "", HIT)]),
    ("4.2.1 max-age over Expires", [CC9, f"Expires: {PAST}"], [(0, "", MISS), (5, "", HIT)]),
    ("4.2.1 invalid Expires", ["Expires: 0", TAG], [(0, "", MISS), (1, "", MISS)]),
    ("4.2.1 max-age over invalid Expires", ["Expires: 0", CC9], [(0, "", MISS), (5, "", HIT)]),
    ("4.2.1 s-maxage over invalid Expires", ["Expires: x", "Cache-Control: s-maxage=9"],
     [(0, "", MISS), (5, "", HIT)]),
    ("4.2.1 expired on arrival", [f"Expires: {PAST}", TAG], [(0, "", MISS), (1, "", MISS)]),
    ("4.2.2 heuristic", [VALIDATED], [(0, "", MISS), (50_000, "", HIT)]),
    ("4.2.2 heuristic bound", [VALIDATED, TAG], [(0, "", MISS), (86_401, "", REVALIDATE)]),
    ("4.2.3 Age counts", ["Age: 8", CC9, TAG], [(0, "", MISS), (2, "", REVALIDATE)]),
    ("4.3 revalidated is fresh", [CC9, TAG],
     [(0, "", MISS), (10, "", REVALIDATE), (15, "", HIT)]),
    ("5.2.1.1 request max-age", [CC9, TAG],
     [(0, "", MISS), (3, "Cache-Control: max-age=2", REVALIDATE), (4, "Cache-Control: max-age=2", HIT)]),
    ("5.2.1.1 max-age=0", [CC9, TAG], [(0, "", MISS), (1, CC9[:-1] + "0", REVALIDATE)]),
    ("5.2.1.2 max-stale", [CC9, TAG], [(0, "", MISS), (12, STALE + "=5", HIT)]),
    ("5.2.1.2 too stale", [CC9, TAG], [(0, "", MISS), (15, STALE + "=5", REVALIDATE)]),
    ("5.2.1.3 min-fresh", [CC9, TAG], [(0, "", MISS), (3, "Cache-Control: min-fresh=7", REVALIDATE)]),
    ("5.2.1.4 no-cache request", [CC9], [(0, "", MISS), (1, NO_CACHE, MISS)]),
    ("5.2.2.2 must-revalidate", [CC9 + ", must-revalidate", TAG],
     [(0, "", MISS), (12, STALE + "=99", REVALIDATE)]),
    ("5.2.2.8 proxy-revalidate", [CC9 + ", proxy-revalidate", TAG],
     [(0, "", MISS), (12, STALE + "=99", REVALIDATE)]),
    ("5.2.2.10 s-maxage forbids stale", ["Cache-Control: s-maxage=9", TAG],
     [(0, "", MISS), (12, STALE + "=99", REVALIDATE)]),
    ("5.2.2.4 no-cache response", [NO_CACHE + ", max-age=9", TAG], [(0, "", MISS), (1, "", REVALIDATE)]),
    ("5.2.3 unknown directive", ["Cache-Control: max-age=9, foo=bar"], [(0, "", MISS), (1, "", HIT)]),
    ("5.2 quoted argument", ['Cache-Control: max-age="9"'], [(0, "", MISS), (5, "", HIT)]),
    ("5.4 Pragma", [CC9], [(0, "", MISS), (1, "Pragma: no-cache", MISS)]),
]  # fmt: skip


@pytest.mark.parametrize(("section", "fields", "steps"), ROWS, ids=[row[0] for row in ROWS])
def test_required(tmp_path: Path, section: str, fields: list[str], steps: list[tuple[int, str, str]]) -> None:
    site = CachedSite(tmp_path)
    site.origin.fields = [(name, value) for name, _, value in (field.partition(": ") for field in fields)]
    found = []
    for seconds, field, _ in steps:
        site.now = NOW + seconds
        found.append(site.state(*([field] if field else [])))
    assert found == [state for _, _, state in steps], section


@pytest.mark.parametrize(
    ("fields", "age", "is_fresh"),
    [
        ([f"Expires: {SOON}", CC9, VALIDATED], 8, True),
        ([f"Expires: {SOON}", "Cache-Control: max-age=900", VALIDATED], 50, True),
        ([f"Expires: {SOON}", "Cache-Control: max-age=900", VALIDATED], 101, True),
        ([f"Expires: {SOON}", CC9, VALIDATED], 50, False),
        ([f"Expires: {SOON}", VALIDATED], 101, False),
        ([CC9, VALIDATED], 8, True),
        ([CC9, VALIDATED], 10, False),
        ([VALIDATED], 50_000, True),
    ],
)
def test_22_takes_max_age_before_expires(tmp_path: Path, fields: list[str], age: int, is_fresh: bool) -> None:
    """cache_util.c of 2.2, ap_cache_check_freshness; without both the heuristic of cache_save_filter."""
    site = CachedSite(tmp_path, version="2.2")
    site.origin.fields = [(name, value) for name, _, value in (field.partition(": ") for field in fields)]
    site.get()
    site.now = NOW + age
    site.get()
    assert (site.count == 1) is is_fresh


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_4_4_unsafe_methods_invalidate(tmp_path: Path, method: str) -> None:
    site = CachedSite(tmp_path)
    site.get()
    site.get(method=method, body="x")
    assert site.state() == "MISS" and site.state() == "HIT"


def test_4_4_errors_do_not_invalidate(tmp_path: Path) -> None:
    site = CachedSite(tmp_path)
    site.get()
    site.origin.status = 404
    site.get(method="POST", body="x")
    assert site.state() == "HIT"


def test_5_1_age_of_a_hit(tmp_path: Path) -> None:
    site = CachedSite(tmp_path)
    site.get()
    site.now += 7
    assert site.get().get("Age") == "7"


def test_5_2_1_7_only_if_cached(tmp_path: Path) -> None:
    site = CachedSite(tmp_path)
    assert site.get("/x", "Cache-Control: only-if-cached").status == 504 and site.count == 0
    site.get()
    assert site.state("Cache-Control: only-if-cached") == "HIT"


def test_5_2_2_4_named_fields_are_not_stored(tmp_path: Path) -> None:
    site = CachedSite(tmp_path)
    site.origin.fields = [
        ("Cache-Control", 'max-age=9, no-cache="X-A", private="X-B"'),
        ("X-A", "1"),
        ("X-B", "2"),
        ("X-C", "3"),
    ]
    assert site.get().get("X-A") == "1"
    hit = site.get()
    assert (hit.get("X-A"), hit.get("X-B"), hit.get("X-C")) == (None, None, "3")


def test_4_3_1_conditions_of_the_cache(tmp_path: Path) -> None:
    site = CachedSite(tmp_path)
    site.get()
    site.now += 100
    assert site.state('If-None-Match: "1"') == "REVALIDATE"
    assert site.origin.seen[-1]["if-none-match"] == '"1"'
    assert site.origin.seen[-1]["if-modified-since"] == MODIFIED


def test_4_3_2_conditions_of_the_client(tmp_path: Path) -> None:
    site = CachedSite(tmp_path)
    site.get()
    assert site.get("/x", 'If-None-Match: "1"').status == 304
    assert site.get("/x", f"If-Modified-Since: {MODIFIED}").status == 304
    assert site.count == 1
    site.now += 100
    assert site.get("/x", 'If-None-Match: "1"').status == 304 and site.count == 2


def test_4_3_4_a_304_updates_fields(tmp_path: Path) -> None:
    site = CachedSite(tmp_path)
    site.get()
    site.now += 100
    site.origin.fields = [*FRESH, ("X-New", "1")]
    assert site.get().get("X-New") == "1" and site.get().get("X-New") == "1"


def test_4_2_4_stale_on_error(tmp_path: Path) -> None:
    site = CachedSite(tmp_path)
    site.get()
    site.now += 100
    site.origin.status = 500
    reply = site.get()
    assert (reply.status, reply.body) == (200, "body") and "111" in (reply.get("Warning") or "")
    site.origin.fields = [("Cache-Control", "max-age=60, must-revalidate"), ("ETag", '"2"')]
    site.origin.status = 200
    site.get()
    site.now += 100
    site.origin.status = 500
    assert site.get().status == 500


def test_3_3_ranges_come_from_the_whole(tmp_path: Path) -> None:
    site = CachedSite(tmp_path)
    site.get()
    part = site.get("/x", "Range: bytes=1-2")
    assert (part.status, part.body, site.count) == (206, "od", 1)


def test_head_is_answered_by_a_get(tmp_path: Path) -> None:
    site = CachedSite(tmp_path)
    site.get()
    reply = site.get(method="HEAD")
    assert (reply.body, reply.get("X-Cache"), site.count) == ("", "HIT from localhost", 1)


@pytest.mark.parametrize("line", ["", "CacheReadSize 3"])
def test_a_miss_has_no_ranges_where_httpd_passes_its_body_on_before_the_end(
    line: str, tmp_path: Path
) -> None:
    site = CachedSite(tmp_path, f"CacheEnable disk /\n{line}")
    reply = site.get("/x", "Range: bytes=1-2")
    assert (reply.status, reply.get("X-Cache")) == (200, "MISS from localhost")
    assert site.get("/x", "Range: bytes=9-").status == 416
    larger = CachedSite(tmp_path, "CacheEnable disk /\nCacheReadSize 4")
    assert larger.get("/y", "Range: bytes=1-2").status == 206


def test_head_is_stored_in_place_of_a_body_only(tmp_path: Path) -> None:
    site = CachedSite(tmp_path)
    site.origin.fields = [("Cache-Control", "max-age=60")]

    def states(*methods: str) -> list[str]:
        return [(site.get(method=method).get("X-Cache") or "none").split()[0] for method in methods]

    assert states("HEAD", "HEAD") == ["MISS", "MISS"]
    assert not site.files(".header")
    assert site.get("/x", "If-None-Match: *", method="HEAD").status == 200
    assert states("GET", "HEAD") == ["MISS", "HIT"]
    site.now += 100
    assert states("HEAD", "HEAD") == ["MISS", "HIT"]
    assert [site.files(suffix) != [] for suffix in (".header", ".data")] == [True, False]
    assert states("GET", "HEAD", "POST", "GET") == ["MISS", "HIT", "none", "MISS"]
