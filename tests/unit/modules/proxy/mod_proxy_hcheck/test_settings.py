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
        ("ProxyHCTemplate a hcinterval=99ms", "Interval must be a positive value greater than 100ms"),
        ("ProxyHCTemplate a hcpasses=-1", "Passes must be a positive value hcpasses=-1; a"),
        ("ProxyHCTemplate a hcfails=-1", "Fails must be a positive value hcfails=-1; a"),
        (f"ProxyHCTemplate a hcuri=/{63 * 'x'}", "Health check uri length must be < 64 characters"),
        ("ProxyHCTPsize -1", "Invalid ProxyHCTPsize parameter. Parameter must be >= 0"),
        ("ProxyHCExpr", "Missing expression name for ProxyHCExpr"),
        ("ProxyHCExpr a", "Missing expression for ProxyHCExpr"),
    ],
)
def test_errors(line: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as problem:
        balancing(tmp_path, line, more="proxy_hcheck")
    assert message in problem.value.reason


@pytest.mark.parametrize(("more", "cping"), [("", ""), (" proxy_ajp", "CPING")])
def test_cping_is_offered_with_mod_proxy_ajp(tmp_path: Path, more: str, cping: str) -> None:
    """The list is that of balancer-manager of apache2 2.4.71."""
    engine, _ = balancing(tmp_path, "ProxyHCTPsize 1", more="proxy_hcheck" + more)
    offered = engine.configuration.provider("proxy_hcheck", "methods")
    assert offered == ("NONE", "TCP", "OPTIONS", "HEAD", "GET", cping, "OPTIONS11", "HEAD11", "GET11")


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("hcpasses=0", "0"),
        ("hcfails=0", "0"),
        ("hcpasses=x", "0"),
        ("hcinterval=100ms", "100"),
        (f"hcuri=/{62 * 'x'}", f"/{62 * 'x'}"),
    ],
)
def test_values_at_the_bounds_are_accepted(word: str, value: str, tmp_path: Path) -> None:
    """As apache2 -t 2.4.71 does."""
    conf = f"<Proxy balancer://cl>\nBalancerMember http://h {word}\n</Proxy>"
    engine, _ = balancing(tmp_path, conf, more="proxy_hcheck")
    (member,) = engine.main.config(ProxyServerConfig).balancers[0].members
    assert member.parameters.health == {word.partition("=")[0]: value}


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
