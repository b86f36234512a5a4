"""Cached credentials: the manual's AuthnCacheProvideFor, AuthnCacheTimeout and AuthnCacheContext."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import MODULES, USERS, AccessSite
from tests.support.statuses import ALLOWED, CHALLENGED

from whimbrel.base.errors import ConfigError, StartError
from whimbrel.base.programs import without_programs

pytest.importorskip("lmdb", reason="the optional package lmdb is not installed")

AREA = (
    "<Location />\nAuthType Basic\nAuthName x\nAuthUserFile conf/users\nAuthBasicProvider socache "
    "file\nAuthnCacheProvideFor file\n"
    "Require valid-user\n{}</Location>\n"
)
LOADED = MODULES["2.4"] + " authn_socache socache_shmcb"


def test_a_user_is_remembered_until_the_time_is_over(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, AREA.format("AuthnCacheTimeout 60\n"), modules=LOADED)
    assert [site.status(user=user) for user in ("alice:wonder", "alice:wrong", "kim:x")] == [
        ALLOWED,
        CHALLENGED,
        CHALLENGED,
    ]
    (tmp_path / "conf/users").write_text(USERS.replace("alice:", "gone:"))
    assert [site.status(user=user) for user in ("alice:wonder", "alice:wrong", "gone:wonder")] == [
        200,
        401,
        200,
    ]
    now = site.runtime.now()
    site.runtime.now = lambda: now + 61.0  # type: ignore[method-assign]
    assert site.status(user="alice:wonder") == 401


def test_each_folder_is_a_context_of_its_own(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, AREA.format(""), modules=LOADED)
    assert site.status(user="alice:wonder") == 200
    (tmp_path / "conf/users").write_text("")
    assert [site.status(path, user="alice:wonder") for path in ("/f.html", "/in/f.html")] == [
        ALLOWED,
        CHALLENGED,
    ]


def test_a_provider_that_is_not_named_is_not_remembered(tmp_path: Path) -> None:
    site = AccessSite(
        tmp_path,
        AREA.replace("AuthnCacheProvideFor file", "AuthnCacheProvideFor dbm").format(""),
        modules=LOADED,
    )
    assert site.status(user="alice:wonder") == 200
    (tmp_path / "conf/users").write_text("")
    assert site.status(user="alice:wonder") == 401


def test_a_cache_needs_a_kind(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="AH01674"):
        AccessSite(tmp_path, AREA.format(""), modules=MODULES["2.4"] + " authn_socache")


def test_a_long_value_is_a_miss(tmp_path: Path) -> None:
    """httpd reads values into a buffer of 256 bytes."""
    site = AccessSite(tmp_path, AREA.format(""), modules=LOADED)
    (tmp_path / "conf/users").write_text(USERS.replace("alice:{SHA}", "alice:" + "x" * 300 + "{SHA}"))
    assert site.status(user="alice:wonder") == 401
    (tmp_path / "conf/users").write_text(USERS)
    assert site.status(user="alice:wonder") == 200


def test_a_tool_opens_no_cache(tmp_path: Path) -> None:
    """The configuration may name any file."""
    outside = tmp_path / "outside"
    outside.mkdir()
    with without_programs():
        main = f"AuthnCacheSOCache dbm:{outside}/cache\n"
        site = AccessSite(tmp_path / "site", main + AREA.format(""), modules=LOADED + " socache_dbm")
        assert [site.status(user=user) for user in ("alice:wonder", "alice:wrong")] == [200, 401]
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("AuthnCacheSOCache nope:x", "AuthnCacheSOCache: Unknown socache provider 'nope:x'. Maybe you need"),
        ("AuthnCacheSOCache shmcb:/x(1)", "AuthnCacheSOCache: "),
    ],
)
def test_a_bad_kind_is_refused(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        AccessSite(tmp_path, line + "\n" + AREA.format(""), modules=LOADED)
    assert message in refusal.value.reason


def test_a_section_that_caches_for_no_provider_takes_nothing_from_the_cache(tmp_path: Path) -> None:
    """mod_authn_socache.c, check_password: without AuthnCacheProvideFor the user is not found."""
    area = AREA.replace("<Location />", "<Location {0}>").replace("{}", "AuthnCacheContext server\n{1}")
    caching = area.format("/f.html", "")
    other = area.replace("AuthnCacheProvideFor file\n", "").replace("conf/users", "conf/none")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/none").write_text("bob:x\n")
    site = AccessSite(tmp_path, caching + other.format("/in", ""), modules=LOADED)
    assert site.status("/f.html", user="alice:wonder") == ALLOWED
    (tmp_path / "conf/users").write_text("")
    assert [site.status(path, user="alice:wonder") for path in ("/f.html", "/in/f.html")] == [
        ALLOWED,
        CHALLENGED,
    ]
