"""Require in 2.2, module by module: the recorded cases about merging and authoritative modules."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import BASIC, AccessSite
from tests.support.statuses import ALLOWED, CHALLENGED, FAILED

USER_FIRST = "log_config dir authz_host auth_basic authn_file authz_user authz_groupfile authz_owner"
GROUP_FIRST = "log_config dir authz_host auth_basic authn_file authz_groupfile authz_user authz_owner"
BOTH = "Require group admin\nRequire user bob\n"


def statuses(tmp_path: Path, modules: str, body: str) -> list[int]:
    site = AccessSite(tmp_path, f"<Location />\n{BASIC}{body}</Location>\n", "2.2", modules)
    return [site.status(user=user) for user in ("alice:wonder", "bob:builder")]


@pytest.mark.parametrize(
    ("modules", "body", "wanted"),
    [
        (USER_FIRST, BOTH, [CHALLENGED, ALLOWED]),
        (GROUP_FIRST, BOTH, [ALLOWED, CHALLENGED]),
        (USER_FIRST, BOTH + "AuthzUserAuthoritative Off\n", [ALLOWED, ALLOWED]),
        (GROUP_FIRST, BOTH + "AuthzGroupFileAuthoritative Off\n", [ALLOWED, ALLOWED]),
        (USER_FIRST, BOTH + "AuthzGroupFileAuthoritative Off\n", [CHALLENGED, ALLOWED]),
        (USER_FIRST, 'Require "valid-user"\n', [FAILED, FAILED]),
        (USER_FIRST, "Require nosuchthing\n", [FAILED, FAILED]),
        (USER_FIRST + " authz_default", "Require nosuchthing\n", [CHALLENGED, CHALLENGED]),
        (USER_FIRST, "AuthGroupFile conf/none\nRequire group staff\n", [FAILED, FAILED]),
        (USER_FIRST, "<Limit POST>\nRequire user nobody\n</Limit>\n", [ALLOWED, ALLOWED]),
        (USER_FIRST, "", [ALLOWED, ALLOWED]),
    ],
)
def test_chains(tmp_path: Path, modules: str, body: str, wanted: list[int]) -> None:
    assert statuses(tmp_path, modules, body) == wanted


def test_the_24_way_is_or(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, f"<Location />\n{BASIC}{BOTH}</Location>\n")
    assert [site.status(user=user) for user in ("alice:wonder", "bob:builder")] == [ALLOWED, ALLOWED]


def test_what_22_logs(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, f"<Location />\n{BASIC}Require user bob\n</Location>\n", "2.2", USER_FIRST)
    assert site.status(user="alice:wonder") == 401
    assert site.codes() == [
        "access to /f.html failed, reason: user 'alice' does not meet 'require'ments for user/valid-user to "
        "be allowed access"
    ]


def test_who_is_not_named_is_told_at_debug(tmp_path: Path) -> None:
    site = AccessSite(
        tmp_path, f"LogLevel warn authz_user:debug\n<Location />\n{BASIC}Require user bob\n</Location>\n"
    )
    assert [site.status(user=user) for user in ("alice:wonder", "bob:builder")] == [CHALLENGED, ALLOWED]
    assert site.codes() == ["AH01663", "AH01631"]
