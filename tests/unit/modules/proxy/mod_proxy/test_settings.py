"""Merging of the settings of virtual hosts and sections, as httpd 2.4.71 merges them."""

from __future__ import annotations

from pathlib import Path

from tests.support.proxy_site import ProxySite

from whimbrel.modules.proxy.mod_proxy.settings import ProxyDirConfig, ProxyServerConfig
from whimbrel.modules.proxy.mod_proxy.worker_state import place

HOSTS = """
ProxyPass /main http://main/
ProxyRemote * http://p1
ProxyTimeout 7
<Proxy balancer://one>
    BalancerMember http://m1
    ProxySet stickysession=A nofailover=On failonstatus=503
</Proxy>
<VirtualHost *:8080>
    ProxyRemote * http://p2
    ProxyPass /own http://own/
    ProxyPass /b balancer://one/ lbmethod={} stickysession=B|b
</VirtualHost>
<VirtualHost *:8081>
    ProxyPassInherit Off
    BalancerInherit Off
    ProxyRemote * http://p3
    ProxyPass /own http://own/
</VirtualHost>
"""


def hosts(tmp_path: Path) -> tuple[ProxyServerConfig, ProxyServerConfig]:
    site = ProxySite(
        tmp_path,
        HOSTS.format("byrequests").replace(" lbmethod=byrequests", ""),
    )
    place(site.engine.configuration)
    first, second = site.engine.configuration.virtual_hosts
    return first.config(ProxyServerConfig), second.config(ProxyServerConfig)


def test_hosts_inherit(tmp_path: Path) -> None:
    conf, _ = hosts(tmp_path)
    assert [alias.fake for alias in conf.aliases] == ["/main", "/own", "/b"]
    assert [worker.name for worker in conf.workers] == ["http://main/", "http://own/"]
    assert [remote.hostname for remote in conf.remotes] == ["p1", "p2"]
    assert conf.timeout == 7


def test_a_balancer_of_both_has_outer_members_and_inner_parameters(tmp_path: Path) -> None:
    conf, _ = hosts(tmp_path)
    (balancer,) = conf.balancers
    parameters = balancer.parameters
    assert [member.name for member in balancer.members] == ["http://m1"]
    assert (parameters.sticky, parameters.sticky_path, parameters.nofailover) == ("B", "b", True)
    assert parameters.failonstatus == (503,)


def test_hosts_need_not_inherit(tmp_path: Path) -> None:
    _, conf = hosts(tmp_path)
    assert [alias.fake for alias in conf.aliases] == ["/main", "/own"]  # httpd merges these in any case
    assert [worker.name for worker in conf.workers] == ["http://own/"]
    assert ([remote.hostname for remote in conf.remotes], conf.balancers) == (["p3"], [])


def test_indexes_are_unique(tmp_path: Path) -> None:
    first, second = hosts(tmp_path)
    members = [member for balancer in first.balancers for member in balancer.members]
    workers = {id(worker): worker.index for worker in (*first.workers, *second.workers, *members)}
    assert len(set(workers.values())) == len(workers) == 4
    assert min(workers.values()) >= 0


def test_sections(tmp_path: Path) -> None:
    conf = (
        "ProxyPassReverse /a http://a\nProxyErrorOverride On 404\n<Location /x>\n"
        "ProxyPassReverse http://x\nProxyErrorOverride On 500\nProxyPreserveHost On\n</Location>\n"
    )
    site = ProxySite(tmp_path, conf)
    plan = site.engine.plans.root(site.engine.main)
    merged = plan.with_layer(site.engine.main.locations[0].layer).dir_config(ProxyDirConfig)
    assert [(alias.fake, alias.real) for alias in merged.reverse_aliases] == [
        ("/a", "http://a"),
        ("/x", "http://x"),
    ]
    assert (merged.error_override_codes, merged.preserve_host) == ((404, 500), True)
