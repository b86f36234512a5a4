"""Requests through balancers. Expected responses and log lines are those of httpd 2.4.71 and 2.2.34."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.balancers import balancing, cluster
from tests.support.client import fetch

from whimbrel.modules.proxy.mod_proxy.worker_state import worker_states
from whimbrel.modules.proxy.mod_proxy_balancer.balancer import balancer_of


def logged(engine: Any) -> str:
    return "".join(line.decode() for lines in engine.runtime.logs.values() for line in lines)


def only_balancer(engine: Any) -> Any:
    from whimbrel.modules.proxy.mod_proxy.settings import ProxyServerConfig

    return balancer_of(engine, engine.main.config(ProxyServerConfig).balancers[0])


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("2.4", "AH01170: balancer://cl: All workers are in error state"),
        ("2.2", "[error] proxy: BALANCER: (balancer://cl). All workers are in error state"),
    ],
)
def test_no_usable_member(version: str, text: str, tmp_path: Path) -> None:
    engine, _ = balancing(tmp_path, cluster("81 status=+D", "82 status=+D"), version)
    assert fetch(engine, "/b/x").status == 503
    assert text in logged(engine)


def test_a_balancer_without_members(tmp_path: Path) -> None:
    engine, _ = balancing(tmp_path, "ProxyPass /b/ balancer://nope/")
    assert fetch(engine, "/b/x").status == 503
    assert "AH01171: balancer://nope: No workers in balancer" in logged(engine)


def test_another_member_answers_for_one_that_is_down(tmp_path: Path) -> None:
    engine, member = balancing(tmp_path, cluster("81", "82"))
    member.down.add(81)
    assert [fetch(engine, "/b/x").body for _ in range(4)] == ["82"] * 4
    assert not only_balancer(engine).members[0].state.is_usable


def test_errors_of_all_members_are_cleared(tmp_path: Path) -> None:
    engine, member = balancing(tmp_path, cluster("81"))
    member.down.add(81)
    assert fetch(engine, "/b/x").status == 503
    member.down.clear()
    assert fetch(engine, "/b/x").body == "81"
    assert only_balancer(engine).members[0].state.retries == 1


def test_without_forced_recovery_a_failed_member_is_left_alone(tmp_path: Path) -> None:
    engine, member = balancing(tmp_path, cluster("81", settings="forcerecovery=Off"))
    member.down.add(81)
    fetch(engine, "/b/x")
    member.down.clear()
    assert fetch(engine, "/b/x").status == 503


@pytest.mark.parametrize("version", ["2.4", "2.2"])
def test_failonstatus(version: str, tmp_path: Path) -> None:
    conf = cluster("81", "82", settings="failonstatus=500,503")
    engine, member = balancing(tmp_path, conf, version)
    member.statuses[81] = 503
    fetch(engine, "/b/x")
    assert [fetch(engine, "/b/x").body for _ in range(3)] == ["82"] * 3
    assert "into error state due to status code 503 matching 'failonstatus' balancer parameter" in logged(
        engine
    )


def test_members_are_busy_until_the_response_ends(tmp_path: Path) -> None:
    engine, _ = balancing(tmp_path, cluster("81", "82"))
    fetch(engine, "/b/x")
    balancer = only_balancer(engine)
    assert [member.state.totals()[:2] for member in balancer.members] == [(0, 1), (0, 0)]


def test_a_wait_for_a_member_ends_with_the_timeout_of_the_balancer(tmp_path: Path) -> None:
    engine, _ = balancing(tmp_path, cluster("81 status=+D", settings="timeout=1"))
    only_balancer(engine).timeout = 0.2
    begin = time.monotonic()
    assert fetch(engine, "/b/x").status == 503
    assert 0.15 < time.monotonic() - begin < 5


def test_environment(tmp_path: Path) -> None:
    conf = cluster("81 route=r1", "82 route=r2", settings="stickysession=S")
    engine, member = balancing(tmp_path, conf)
    fetch(engine, "/b/echo", "Cookie: S=a.r2")
    wanted = {
        "BALANCER_NAME": "balancer://cl",
        "BALANCER_WORKER_NAME": "http://127.0.0.1:82",
        "BALANCER_WORKER_ROUTE": "r2",
        "BALANCER_SESSION_ROUTE": "r2",
        "BALANCER_SESSION_STICKY": "S",
    }
    assert {name: member.env.get(name) for name in wanted} == wanted
    assert "BALANCER_ROUTE_CHANGED" not in member.env
    assert member.urls == ["http://127.0.0.1:82/echo"]
    fetch(engine, "/b/echo")
    assert member.env["BALANCER_ROUTE_CHANGED"] == "1"


def test_the_state_is_that_of_shared_memory(tmp_path: Path) -> None:
    engine, _ = balancing(tmp_path, cluster("81", "82"))
    other, _ = balancing(tmp_path, cluster("81", "82"))
    runtime: Any = other.runtime
    runtime.segments, runtime.slot = engine.runtime.segments, 1  # type: ignore[attr-defined]
    only_balancer(engine).members[0].state.status |= 0x20
    assert [fetch(other, "/b/x").body for _ in range(3)] == ["82"] * 3
    assert only_balancer(engine).members[1].state.totals()[1] == 3
    assert worker_states(other).process == 1


def test_the_file_name_of_a_request_is_the_url_of_the_member(tmp_path: Path) -> None:
    conf = "LogFormat %f f\nCustomLog logs/f f\n" + cluster("81")
    engine, _ = balancing(tmp_path, conf)
    assert fetch(engine, "/b/x?").body == "81"
    assert "proxy:http://127.0.0.1:81/x?\n" in logged(engine)


def test_a_raw_path_with_blanks_is_not_sent_to_a_member(tmp_path: Path) -> None:
    conf = cluster("81") + "RewriteEngine On\nRewriteRule ^/r/(.*) balancer://cl/$1 [P,NE]\n"
    engine, _ = balancing(tmp_path, conf, more="rewrite")
    assert fetch(engine, "/r/a%20b").status == 403
    assert "AH10415" in logged(engine)
