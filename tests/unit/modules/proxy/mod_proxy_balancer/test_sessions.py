"""Sticky sessions. Expected members are those of httpd 2.4.71 and 2.2.34, as recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.balancers import balancing, cluster
from tests.support.client import fetch

from whimbrel.modules.proxy.mod_proxy_balancer.sessions import cookie_value, path_parameter


@pytest.mark.parametrize(
    ("url", "name", "semicolons", "value"),
    [
        ("/a;S=x.r1", "S", False, "x.r1"),
        ("/a;S=x.r1?q=1", "S", False, "x.r1"),
        ("/a;S=x.r1;t=1", "S", False, "x.r1;t=1"),
        ("/a;S=x.r1;t=1", "S", True, "x.r1"),
        ("/a?b=1&S=x.r1&c", "S", False, "x.r1"),
        ("/SS=1?S=", "S", False, None),
        ("/a?S=", "S", False, None),
        ("/a", "S", False, None),
    ],
)
def test_path_parameters(url: str, name: str, semicolons: bool, value: str | None) -> None:
    assert path_parameter(url, name, has_semicolons=semicolons) == value


@pytest.mark.parametrize(
    ("cookies", "value"),
    [
        ("S=a.r1", "a.r1"),
        ("x=y; S=a.r2; z=1", "a.r2"),
        ("x=y,S =a.r2,z", "a.r2"),
        ("XS=a.r2", None),
        ("XS=1; S=2", "2"),
        ("S=", None),
        ("", None),
    ],
)
def test_cookies(cookies: str, value: str | None) -> None:
    assert cookie_value(cookies, "S") == value


@pytest.mark.parametrize("version", ["2.4", "2.2"])
def test_sessions_stay_with_their_route(version: str, tmp_path: Path) -> None:
    conf = cluster("81 route=r1", "82 route=r2", settings="stickysession=JSESSIONID|jsessionid")
    engine, _ = balancing(tmp_path, conf, version)
    assert fetch(engine, "/b/echo", "Cookie: JSESSIONID=abc.r2").body == "82"
    assert fetch(engine, "/b/echo", "Cookie: x=y; JSESSIONID=abc.r2; z=1").body == "82"
    assert fetch(engine, "/b/echo;jsessionid=abc.r1").body == "81"
    assert fetch(engine, "/b/echo;jsessionid=abc.r2?x=1").body == "82"


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("2.4", "AH01167: balancer://cl: All workers are in error state for route (r2)"),
        ("2.2", "proxy: BALANCER: (balancer://cl). All workers are in error state for route (r2)"),
    ],
)
def test_nofailover_answers_503(version: str, text: str, tmp_path: Path) -> None:
    conf = cluster("81 route=r1", "82 route=r2 status=+D", settings="stickysession=S nofailover=On")
    engine, _ = balancing(tmp_path, conf, version)
    assert fetch(engine, "/b/x", "Cookie: S=a.r2").status == 503
    assert fetch(engine, "/b/x", "Cookie: S=a.r1").body == "81"
    lines = engine.runtime.logs  # type: ignore[attr-defined]
    assert text in "".join(line.decode() for log in lines.values() for line in log)


def test_a_redirect_names_the_member_that_takes_over(tmp_path: Path) -> None:
    members = ("81 route=r1", "82 route=r2 status=+D redirect=r3", "83 route=r3")
    engine, member = balancing(tmp_path, cluster(*members, settings="stickysession=S"))
    assert {fetch(engine, "/b/x", "Cookie: S=a.r2").body for _ in range(3)} == {"83"}
    assert member.env["BALANCER_ROUTE_CHANGED"] == "1"


@pytest.mark.parametrize(("separator", "cookie"), [("Off", "r2"), (":", "a:r2")])
def test_separators(separator: str, cookie: str, tmp_path: Path) -> None:
    settings = f"stickysession=S stickysessionsep={separator}"
    engine, _ = balancing(tmp_path, cluster("81 route=r1", "82 route=r2", settings=settings))
    assert {fetch(engine, "/b/x", f"Cookie: S={cookie}").body for _ in range(2)} == {"82"}
