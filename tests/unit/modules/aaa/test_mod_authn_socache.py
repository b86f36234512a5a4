"""Cached credentials: the manual's AuthnCacheProvideFor, AuthnCacheTimeout and AuthnCacheContext."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import MODULES, USERS, AccessSite
from tests.support.statuses import ALLOWED, CHALLENGED

from whimbrel.base.errors import StartError

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
