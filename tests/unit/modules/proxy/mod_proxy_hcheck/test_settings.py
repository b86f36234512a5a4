"""Directives of mod_proxy_hcheck. Messages are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.balancers import balancing

from whimbrel.base.errors import ConfigError
from whimbrel.modules.proxy.mod_proxy.settings import ProxyServerConfig


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "ProxyHCTemplate a hcmethod=CPING",
            "Health check method CPING not (yet) implemented hcmethod=CPING; a",
        ),
        ("ProxyHCTemplate a hctemplate=zz", "Unknown ProxyHCTemplate name: zz hctemplate=zz; a"),
        ("ProxyHCTemplate a hcexpr=zz", "Unknown health check condition expr: zz hcexpr=zz; a"),
        ("ProxyHCTemplate a hcinterval=50ms", "Interval must be a positive value greater than 100ms"),
        ("ProxyHCTPsize -1", "Invalid ProxyHCTPsize parameter. Parameter must be >= 0"),
        ("ProxyHCExpr", "Missing expression name for ProxyHCExpr"),
        ("ProxyHCExpr a", "Missing expression for ProxyHCExpr"),
    ],
)
def test_errors(line: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as problem:
        balancing(tmp_path, line, more="proxy_hcheck")
    assert message in problem.value.reason


def test_templates_set_all_parameters(tmp_path: Path) -> None:
    conf = (
        "ProxyHCTemplate t hcmethod=get hcinterval=2 hcuri=/x\nProxyHCTemplate u hctemplate=T hcfails=3\n"
        "<Proxy balancer://cl>\nBalancerMember http://h hctemplate=u hcpasses=2\n</Proxy>"
    )
    engine, _ = balancing(tmp_path, conf, more="proxy_hcheck")
    member = engine.main.config(ProxyServerConfig).balancers[0].members[0]
    assert member.parameters.health == {
        "hcmethod": "GET",
        "hcinterval": "2000",
        "hcpasses": "2",
        "hcfails": "3",
        "hcuri": "/x",
    }
