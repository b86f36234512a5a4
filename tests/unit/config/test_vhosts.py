"""Virtual hosts: look-ups by address and name, and the text of -S.  Expected values: vhosts/details.html and
recorded dumps.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.config.site import Site

from whimbrel.base.dialect import V22, V24
from whimbrel.config.model import Server
from whimbrel.config.vhost_dump import dump_vhosts
from whimbrel.config.vhosts import VirtualHostTable


def host(address: str, name: str, more: str = "") -> str:
    return f"<VirtualHost {address}>\nServerName {name}\n{more}</VirtualHost>\n"


LAYOUT = (
    host("*:80", "first", "ServerAlias one *.one\n")
    + host("*:80", "second", "ServerAlias two\nServerPath /two\n")
    + host("127.0.0.1:80", "local")
    + host("127.0.0.1:*", "any-port")
    + host("*:81", "other")
    + host("*:80", "third", "ServerAlias x.one\n")
)


def hosts(root: Path, conf: str) -> VirtualHostTable:
    found = Site(root, conf).load().hosts
    assert found is not None
    return found


def name(server: Server | None) -> str | None:
    return server.name if server else None


@pytest.mark.parametrize(
    ("address", "port", "asked", "answers"),
    [
        ("10.0.0.1", 80, "two", "second"),
        ("10.0.0.1", 80, "TWO", "second"),
        ("10.0.0.1", 80, "nosuch", "first"),
        ("10.0.0.1", 80, "a.b.one", "first"),
        ("10.0.0.1", 80, "x.one", "first"),
        ("10.0.0.1", 81, "two", "other"),
        ("10.0.0.1", 99, "two", "localhost"),
        ("127.0.0.1", 80, "two", "local"),
        ("127.0.0.1", 99, "two", "any-port"),
        ("::ffff:127.0.0.1", 80, "", "local"),
    ],
)
def test_who_answers(tmp_path: Path, address: str, port: int, asked: str, answers: str) -> None:
    found = hosts(tmp_path, LAYOUT).find(address, port)
    assert name(found.by_name(asked) or found.server) == answers


@pytest.mark.parametrize(
    ("path", "answers"), [("/two", "second"), ("/two/x", "second"), ("/twox", None), ("/", None)]
)
def test_server_path(tmp_path: Path, path: str, answers: str | None) -> None:
    assert name(hosts(tmp_path, LAYOUT).find("10.0.0.1", 80).by_path(path)) == answers


def test_old_dialect_needs_name_virtual_host(tmp_path: Path) -> None:
    two = host("*:80", "a") + host("*:80", "b")
    plain = Site(tmp_path, two).load(V22)
    assert [m.text for m in plain.messages] == [
        "_default_ VirtualHost overlap on port 80, the first has precedence"
    ]
    assert plain.hosts is not None
    assert plain.hosts.find("10.0.0.1", 80).by_name("b") is None
    named = Site(tmp_path, f"NameVirtualHost *:80\n{two}").load(V22)
    assert named.hosts is not None
    assert name(named.hosts.find("10.0.0.1", 80).by_name("b")) == "b"


def test_unused_name_virtual_host(tmp_path: Path) -> None:
    assert (
        Site(tmp_path, "NameVirtualHost *:80\n").check("2.2")
        == "[warn] NameVirtualHost *:80 has no VirtualHosts\nSyntax OK"
    )
    assert Site(tmp_path, "NameVirtualHost *:80\nLogLevel error\n").check("2.2") == "Syntax OK"


DUMP = """VirtualHost configuration:
127.0.0.1:80           is a NameVirtualHost
         default server a (@/conf/httpd.conf:1)
         port 80 namevhost a (@/conf/httpd.conf:1)
         port 80 namevhost b (@/conf/httpd.conf:4)
                 alias x
                 wild alias *.y
*:80                   c (@/conf/httpd.conf:8)
"""
OLD_DUMP = """VirtualHost configuration:
127.0.0.1:80           a (@/conf/httpd.conf:1)
wildcard NameVirtualHosts and _default_ servers:
*:80                   c (@/conf/httpd.conf:8)
"""


@pytest.mark.parametrize(("dialect", "text"), [(V24, DUMP), (V22, OLD_DUMP)])
def test_dump(tmp_path: Path, dialect: object, text: str) -> None:
    conf = host("127.0.0.1:80", "a") + host("127.0.0.1:80", "b", "ServerAlias x *.y\n") + host("*:80", "c")
    configuration = Site(tmp_path, conf).load(dialect)  # type: ignore[arg-type]
    assert dump_vhosts(configuration).replace(str(tmp_path), "@") == text


def test_many_hosts_are_found_by_name(tmp_path: Path) -> None:
    found = hosts(tmp_path, "".join(host("*:80", f"h{i}") for i in range(300))).find("10.0.0.1", 80)
    assert all(name(found.by_name(f"h{i}")) == f"h{i}" for i in range(300))


def test_what_is_prepared_answers_as_what_is_asked_first(tmp_path: Path) -> None:
    conf = "".join(
        host("*:80", f"H{n}.test", "ServerAlias *.wild H1.test\n" if n == 7 else "") for n in range(120)
    )
    prepared, asked = hosts(tmp_path, conf), hosts(tmp_path, conf)
    prepared.prepare(80)
    for given in ("h1.test", "h119.test", "x.wild", "nosuch"):
        assert name(prepared.find("10.0.0.1", 80).by_name(given)) == name(
            asked.find("10.0.0.2", 80).by_name(given)
        )
    assert name(prepared.find("10.0.0.1", 80).by_name("h1.TEST")) == "H1.test"
    assert prepared.find("10.0.0.1", 80) is prepared.find("10.0.0.2", 80)
