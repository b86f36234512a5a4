"""Require and its containers: recorded results and messages of 2.4.71."""

from __future__ import annotations

import cProfile
import pstats
from pathlib import Path
from typing import Any

import pytest
from tests.support.access_site import BASIC, AccessSite
from tests.support.statuses import ALLOWED, CHALLENGED, DENIED

from whimbrel.base.errors import ConfigError, StartError

LOCATION = "<Location />\n{}</Location>\n"


def refusal(tmp_path: Path, body: str) -> str:
    with pytest.raises(ConfigError) as problem:
        AccessSite(tmp_path, LOCATION.format(body))
    return problem.value.reason


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("Require\n", "Unknown Authz provider: "),
        ("Require ALL granted\n", "Unknown Authz provider: ALL"),
        ("Require all granted # comment\n", "Argument for 'Require all' must be 'granted' or 'denied'"),
        ("Require not ip 10\n", "negative Require directive has no effect in <RequireAny> directive"),
        ("Require not ip\n", "'require ip' requires an argument"),
        (
            "Require ip 10.1.2.0/33\n",
            "ip address '10.1.2.0/33' appears to be invalid: The specified network mask is invalid.",
        ),
        ("Require ip 1.2.3.4,\n", "ip address '1.2.3.4,' appears to be invalid"),
        ("Require method get\n", "Invalid Method 'get'"),
        ("<RequireAll>\n</RequireAll>\n", "<RequireAll> directive contains no authorization directives"),
        ("<RequireAny x>\n</RequireAny>\n", "<RequireAny> directive doesn't take additional arguments"),
        (
            "<RequireNone>\nRequire ip 10\n</RequireNone>\n",
            "<RequireNone> directive has no effect in <RequireAny> directive",
        ),
        (
            "<RequireNone>\nRequire not all granted\n</RequireNone>\n",
            "negative Require directive has no effect in <RequireNone> directive",
        ),
        ("AuthMerging On\n", "AuthMerging must be one of: Off | And | Or"),
    ],
)
def test_refused_lines(tmp_path: Path, body: str, reason: str) -> None:
    assert refusal(tmp_path, body) == reason


def test_containers_of_negatives_stop_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError) as problem:
        AccessSite(tmp_path, LOCATION.format("<RequireAll>\nRequire not ip 127.0.0.2\n</RequireAll>\n"))
    assert problem.value.lines == (
        "AH01624: <RequireAll> directive contains only negative authorization directives",
        "AH00014: Configuration check failed",
    )


@pytest.mark.parametrize(
    ("body", "status", "codes"),
    [
        ("<Limit POST>\nRequire valid-user\n</Limit>\n", 200, ["AH01625"]),
        (
            "Require all denied\n<Limit POST>\nRequire valid-user\n</Limit>\n",
            403,
            ["AH01626", "AH01625", "AH01626", "AH01630"],
        ),
        (
            "<RequireAll>\nRequire all granted\n<Limit POST>\nRequire all denied\n</Limit>\n</RequireAll>\n",
            200,
            ["AH01626", "AH01625", "AH01626", "AH01626"],
        ),
        (
            "<RequireAny>\n<RequireAny>\nRequire env X\nRequire env Y\n</RequireAny>\nRequire env "
            "Z\n</RequireAny>\n",
            403,
            ["AH01626"] * 4 + ["AH01630"],
        ),
        (
            "<RequireAll>\nRequire all granted\n<RequireNone>\nRequire env Z\nRequire env "
            "Y\n</RequireNone>\n<RequireAny>\nRequire all granted\n"
            "</RequireAny>\n</RequireAll>\n",
            200,
            ["AH01626"] * 7,
        ),
    ],
)
def test_steps_at_debug_level(tmp_path: Path, body: str, status: int, codes: list[str]) -> None:
    site = AccessSite(tmp_path, "LogLevel authz_core:debug\n" + LOCATION.format(BASIC + body))
    assert site.status() == status
    assert site.codes() == codes


@pytest.mark.parametrize(
    ("body", "steps"),
    [
        (
            "<RequireAll>\nRequire all granted\n<RequireNone>\nRequire env "
            "A\n</RequireNone>\n</RequireAll>\n",
            [
                "Require all granted: granted",
                "Require env A: denied",
                "<RequireNone>: neutral",
                "<RequireAll>: granted",
                "<RequireAny>: granted",
            ],
        ),
        (
            "<RequireAll>\n<RequireAll>\nRequire all granted\nRequire not env B\n</RequireAll>\nRequire all "
            "granted\n</RequireAll>\n",
            [
                "Require all granted: granted",
                "Require not env B: neutral",
                "Require all granted: granted",
                "<RequireAll>: granted",
                "<RequireAny>: granted",
            ],
        ),
    ],
)
def test_negated_containers_stay_in_htaccess(tmp_path: Path, body: str, steps: list[str]) -> None:
    site = AccessSite(
        tmp_path, 'LogLevel authz_core:debug\n<Directory "@DOCROOT@">\nAllowOverride All\n</Directory>\n'
    )
    (tmp_path / "htdocs/.htaccess").write_text(body)
    assert site.status() == 200
    assert site.results() == steps


def test_negations_go_inwards_in_the_main_file(tmp_path: Path) -> None:
    none = (
        "<RequireNone>\nRequire env A\n<RequireAll>\nRequire env B\nRequire env "
        "C\n</RequireAll>\n</RequireNone>\n"
    )
    site = AccessSite(
        tmp_path,
        "LogLevel authz_core:debug\n"
        + LOCATION.format(f"<RequireAll>\n{none}Require all granted\n</RequireAll>\n"),
    )
    assert site.status() == 200
    assert site.results() == [
        "Require not env A: neutral",
        "Require env B: denied",
        "<RequireNotAll>: neutral",
        "Require all granted: granted",
        "<RequireAll>: granted",
        "<RequireAny>: granted",
    ]


@pytest.mark.parametrize(
    ("body", "codes", "statuses"),
    [
        ("Require user alice\n", ["AH01631"], [CHALLENGED, ALLOWED, CHALLENGED]),
        ("Require user alice\nAuthzSendForbiddenOnFailure On\n", ["AH01631"], [CHALLENGED, ALLOWED, DENIED]),
        (
            "<RequireAll>\nRequire valid-user\nRequire ip 10\n</RequireAll>\n",
            ["AH01630"] * 3,
            [DENIED, DENIED, DENIED],
        ),
        (
            "<RequireAll>\nRequire all granted\nRequire not user bob\n</RequireAll>\n",
            [],
            [ALLOWED, ALLOWED, ALLOWED],
        ),
        ("Require group ADMIN\n", ["AH01631"], [CHALLENGED, ALLOWED, CHALLENGED]),
        ("Require method\n", ["AH01630"] * 3, [DENIED, DENIED, DENIED]),
    ],
)
def test_users(tmp_path: Path, body: str, codes: list[str], statuses: list[int]) -> None:
    site = AccessSite(tmp_path, LOCATION.format(BASIC + body))
    assert [site.status(user=user) for user in ("", "alice:wonder", "bob:builder")] == statuses
    assert site.codes() == codes


def test_auth_type_without_require(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, LOCATION.format(BASIC))
    assert site.status() == 500
    assert site.codes() == ["AH01627"]


def test_an_alias_brings_its_arguments_and_settings(tmp_path: Path) -> None:
    conf = (
        "<AuthzProviderAlias ip near 127.0.0.1>\n</AuthzProviderAlias>\n"
        "<AuthzProviderAlias group crew staff>\nAuthGroupFile conf/groups\n</AuthzProviderAlias>\n"
    )
    basic = BASIC.replace("AuthGroupFile conf/groups\n", "")
    site = AccessSite(
        tmp_path, conf + LOCATION.format(f"{basic}<RequireAll>\nRequire near\nRequire crew\n</RequireAll>\n")
    )
    assert site.status() == 401
    assert site.status(user="bob:builder") == 200
    assert site.status(user="bob:builder", source="127.0.0.2") == 403


def test_an_expression_about_the_user_asks_for_one(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, LOCATION.format(f"{BASIC}Require expr %{{REMOTE_USER}} == 'bob'\n"))
    assert site.status() == 401
    assert site.status(user="bob:builder") == 200
    assert (
        AccessSite(tmp_path, LOCATION.format(f'{BASIC}Require expr "false"\n')).status(user="bob:builder")
        == 403
    )


MANY = [f"10.{number // 200}.{number % 200}.0/25" for number in range(2000)]


def _calls(site: AccessSite, source: str) -> int:
    """Return the function calls of a request whose plan is compiled."""
    site.engine.turns.length = float("inf")  # a profiler makes all work long
    for _ in range(4):  # warm-up: compiled at first use
        site.status(source=source)
        site.engine.response_cache.clear()
    counts = []
    for _ in range(9):  # the first request in a second has more to do
        profile = cProfile.Profile()
        profile.enable()
        site.status(source=source)
        profile.disable()
        site.engine.response_cache.clear()
        stats: Any = pstats.Stats(profile)
        counts.append(int(stats.total_calls))
    return min(counts)


@pytest.mark.parametrize(
    ("before", "line", "after"),
    [
        ("", "Require ip {}\n", "Require ip 127.0.0.0/8\n"),
        ("<RequireAll>\nRequire all granted\n", "Require not ip {}\n", "</RequireAll>\n"),
        ("Order deny,allow\nDeny from all\n", "Allow from {}\n", "Allow from 127.0.0.0/8\n"),
        ("Order allow,deny\nAllow from all\n", "Deny from {}\n", ""),
    ],
)
def test_many_lines_of_networks_cost_what_one_costs(
    tmp_path: Path, before: str, line: str, after: str
) -> None:
    sites = []
    for name, networks in (("one", MANY[:1]), ("many", MANY)):
        (tmp_path / name).mkdir()
        sites.append(
            AccessSite(
                tmp_path / name,
                LOCATION.format(before + "".join(line.format(network) for network in networks) + after),
            )
        )
    one, many = sites
    assert many.status() == one.status() == 200
    assert many.status(source="10.9.199.5") != one.status(
        source="10.9.199.5"
    )  # the last of the networks counts
    assert many.status(source="10.9.199.200") == one.status(source="10.9.199.200")
    assert abs(_calls(many, "127.0.0.5") - _calls(one, "127.0.0.5")) <= 3


def test_lines_of_different_methods_stay_apart(tmp_path: Path) -> None:
    site = AccessSite(
        tmp_path,
        LOCATION.format(
            "<Limit GET>\nRequire ip 10.0.0.1\n</Limit>\n<Limit POST>\nRequire ip 10.0.0.2\n</Limit>\n"
        ),
    )
    answers = [
        site.status(source=source, method=method)
        for source in ("10.0.0.1", "10.0.0.2")
        for method in ("GET", "POST")
    ]
    assert [answer == 403 for answer in answers] == [False, True, True, False]
