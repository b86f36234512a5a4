"""BalancerPersist: state across restarts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.balancers import balancing, cluster

from whimbrel.modules.proxy.mod_proxy.settings import ProxyServerConfig
from whimbrel.modules.proxy.mod_proxy.worker_state import segments
from whimbrel.modules.proxy.mod_proxy_balancer import persistence
from whimbrel.modules.proxy.mod_proxy_balancer.balancer import Balancer, balancer_of
from whimbrel.server.master.segments import SegmentStore

PERSIST = cluster("81", "82", settings="growth=2", after="BalancerPersist On\n")


def balancer(engine: Any) -> Balancer:
    return balancer_of(engine, engine.main.config(ProxyServerConfig).balancers[0])


def restarted(root: Path, change: Any, conf: str = PERSIST) -> Any:
    """Return the balancer of a server that begins after *change* of another one with the same memory."""
    engine, _ = balancing(root, conf)
    store = SegmentStore()
    runtime: Any = engine.runtime
    runtime.segments = store.open(engine.configuration)
    change(balancer(engine))
    second, _ = balancing(root, conf)
    runtime = second.runtime
    runtime.segments = store.open(second.configuration)
    found = balancer(second)
    found.synchronize()
    return found


def change(found: Balancer) -> None:
    found.members[0].state.route = "zz"
    found.members[1].state.status |= 0x20
    found.max_attempts = 7
    found.add("http://127.0.0.1:83", "")


def test_changes_and_added_members_are_kept(tmp_path: Path) -> None:
    found = restarted(tmp_path, change)
    assert [member.worker.port for member in found.members] == [81, 82, 83]
    assert found.members[0].state.route == "zz" and not found.members[1].state.is_usable
    assert found.max_attempts == 7 and found.room == 1


def test_without_the_directive_a_restart_forgets(tmp_path: Path) -> None:
    found = restarted(tmp_path, change, cluster("81", "82", settings="growth=2"))
    assert len(found.members) == 2 and found.members[0].state.route == "" and found.max_attempts == 1
    assert not list(tmp_path.rglob("*.persist"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"version": 2}',
        '{"version": 1, "balancers": []}',
        '{"version": 1, "balancers": {"balancer://cl": 3}}',
        '{"version": 1, "balancers": {"balancer://cl": {"balancer": {"timeout": "x", "max_attempts": 1e99, '
        '"sticky": 4}, "workers": [1, {"name": "http://127.0.0.1:81", "status": null, "lbset": 1e400}]}}}',
        "[" * 100000,
    ],
)
def test_files_that_cannot_be_read_are_ignored(text: str, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / persistence.FILE).write_text(text)
    engine, _ = balancing(tmp_path, PERSIST)
    store = SegmentStore()
    runtime: Any = engine.runtime
    runtime.segments = store.open(engine.configuration)
    found = balancer(engine)
    assert len(found.members) == 2 and found.max_attempts == 1 and found.members[0].state.is_usable


def test_the_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    restarted(tmp_path, change)
    [path] = tmp_path.rglob("*.persist*")
    saved = json.loads(path.read_text())
    assert len(saved["balancers"]["balancer://cl"]["workers"]) == 3


def test_a_long_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    restarted(tmp_path, change)
    engine, _ = balancing(tmp_path, PERSIST)
    assert persistence.load(engine.configuration)
    monkeypatch.setattr(persistence, "MAX_SIZE", 100)
    assert persistence.load(engine.configuration) == {}
    assert list(segments(engine.configuration))[0].size > 0
