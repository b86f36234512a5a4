"""Which virtual host both versions choose.

The cases are those of the recordings: NameVirtualHost, none, and mixtures.
"""

from __future__ import annotations

from pathlib import Path

from tests.unit.upgrade.config_trees import config_tree

from whimbrel.base.dialect import V22, V24
from whimbrel.upgrade.source.virtual_hosts import VirtualHostPlan, virtual_host_plan


def host(addresses: str, *names: str) -> str:
    lines = [f"ServerName {names[0]}"] if names else []
    lines += [f"ServerAlias {name}" for name in names[1:]]
    return "".join(f"{line}\n" for line in [f"<VirtualHost {addresses}>", *lines, "</VirtualHost>"])


def planned(root: Path, *parts: str) -> VirtualHostPlan:
    return virtual_host_plan(config_tree(root, {"conf/httpd.conf": "Listen 80\n" + "".join(parts)}))


def kept(found: VirtualHostPlan) -> list[list[str]]:
    return list(found.effective_addresses()[0].values())


def test_names_at_an_address_of_names(tmp_path: Path) -> None:
    found = planned(
        tmp_path, "NameVirtualHost *:80\n", host("*:80", "a.test"), host("*:80", "b.test", "*.b.test")
    )
    for dialect in (V22, V24):
        table = found.table(dialect, found.declared_addresses())
        assert table["198.51.100.1", 80, "b.test"] is found.hosts[1]
        assert table["198.51.100.1", 80, "nobody.invalid"] is found.hosts[0]
    assert found.effective_addresses() == (found.declared_addresses(), True)


def test_without_it_the_first_answers_for_all_in_22(tmp_path: Path) -> None:
    found = planned(tmp_path, host("*:80", "a.test"), host("*:80", "b.test"))
    assert set(found.table(V22, found.declared_addresses()).values()) == {found.hosts[0]}
    assert found.hosts[1] in found.table(V24, found.declared_addresses()).values()
    assert kept(found) == [["*:80"], []]
    assert found.effective_addresses()[1]


def test_an_address_alone_is_no_address_of_names(tmp_path: Path) -> None:
    both = "192.0.2.1:80 192.0.2.2:80"
    found = planned(tmp_path, "NameVirtualHost 192.0.2.1:80\n", host(both, "a.test"), host(both, "b.test"))
    assert kept(found) == [["192.0.2.1:80", "192.0.2.2:80"], ["192.0.2.1:80"]]
    assert found.effective_addresses()[1]


def test_host_names_stand_for_addresses_of_their_own(tmp_path: Path) -> None:
    found = planned(
        tmp_path,
        "NameVirtualHost www.test:80\n",
        host("www.test:80", "a.test"),
        host("www.test:80", "b.test"),
    )
    assert found.effective_addresses() == (found.declared_addresses(), True)


def test_what_is_switched_off_is_not_asked(tmp_path: Path) -> None:
    found = planned(
        tmp_path, host("*:80", "a.test"), "<IfDefine NamedHosts>\n", host("*:80", "b.test"), "</IfDefine>\n"
    )
    assert [one.names for one in found.hosts] == [["a.test"]]


def test_mixed_ports_are_not_equal(tmp_path: Path) -> None:
    found = planned(
        tmp_path, "Listen 81\nNameVirtualHost *:*\n", host("*:80", "a.test"), host("192.0.2.1:81", "b.test")
    )
    assert not found.effective_addresses()[1]
