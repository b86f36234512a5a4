"""mod_lbmethod_byrequests: the provider of the method."""

from __future__ import annotations

from pathlib import Path

from tests.support.balancers import balancing

from whimbrel.modules.proxy.mod_proxy_balancer.balancer import METHODS


def test_the_module_has_the_method(tmp_path: Path) -> None:
    engine, _ = balancing(tmp_path, "")
    assert engine.configuration.provider(METHODS, "byrequests").name == "byrequests"
