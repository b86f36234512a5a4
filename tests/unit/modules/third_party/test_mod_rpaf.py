"""mod_rpaf: 0.6 as Debian's module under httpd 2.4.71, 0.7 and later as their source has it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError
from whimbrel.base.net import Networks, parse_written
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.modules.third_party.mod_rpaf import new_client, old_client
from whimbrel.testing.client import TestClient

LOAD = (
    "LoadModule authz_host_module modules/mod_authz_host.so\nLoadModule rpaf_module modules/mod_rpaf.so\n"
    'Header always set A "expr=%{REMOTE_ADDR}"\nHeader always set V "expr=%{SERVER_NAME}:%{SERVER_PORT}"\n'
    'Header always set H "%{HTTPS}e"\nHeader always echo ^X-\n'
)
OLD = f"{LOAD}RPAFenable On\nRPAFproxy_ips 127.0.0.1 10.0.0.9\n"
NEW = f"{LOAD}RPAF_Enable On\nRPAF_ProxyIPs 127.0.0.0/8 10.0.0.9\n"
KNOWN = '<Location "/k">\nRequire ip 192.0.2.1\n</Location>\n'
FILES = {"htdocs/a.txt": "A", "htdocs/k": "K"}


@pytest.mark.parametrize(
    ("field", "client"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("1.2.3.4, 5.6.7.8", "5.6.7.8"),
        ("1.2.3.4, 127.0.0.1", "1.2.3.4"),
        ("127.0.0.1, 127.0.0.1", "127.0.0.1"),
        ("1.2.3.4, 10.0.0.1", "10.0.0.1"),
        ("1.2.3.4;5.6.7.8", "5.6.7.8"),
        (",1.2.3.4", "1.2.3.4"),
        ("1.2.3.4,", "1.2.3.4"),
        ('"1.2.3.4"', '"1.2.3.4"'),
        ("not valid", "not valid"),
        ("", None),
    ],
)
def test_the_client_of_06_is_any_text_that_is_no_proxy(field: str, client: str | None) -> None:
    """As measured with Debian's module: proxies are compared as texts."""
    assert old_client(field, frozenset(("127.0.0.1", "10.0.0.0/8"))) == client


@pytest.mark.parametrize(
    ("field", "client"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("1.2.3.4, 10.1.2.3", "1.2.3.4"),
        ("10.1.1.1, 10.1.2.3", "10.1.1.1"),
        ("junk, 10.1.2.3", "10.1.2.3"),
        ("1.2.3.4, junk", "1.2.3.4"),
        ("2001:db8::1", "2001:db8::1"),
        ("999.1.1.1", None),
        ("junk", None),
    ],
)
def test_the_client_of_07_is_an_address(field: str, client: str | None) -> None:
    assert new_client(field, Networks([parse_written("10.0.0.0/8")])) == client


def test_06_under_24_changes_what_access_control_compares_alone(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, OLD + KNOWN, FILES)
    assert fetch(engine, "/k").status == 403
    reply = fetch(engine, "/k", "X-Forwarded-For: 192.0.2.1")
    assert (reply.status, reply.get("A")) == (200, "127.0.0.1")
    assert fetch(engine, "/k", "X-Forwarded-For: junk").status == 403


def test_06_under_22_changes_the_address(tmp_path: Path) -> None:
    load = "LoadModule rpaf_module modules/mod_rpaf-2.0.so\n"
    conf = f"{OLD.replace(LOAD, load)}<Location /k>\nOrder deny,allow\n"
    engine = build_engine(tmp_path, f"{conf}Deny from all\nAllow from 192.0.2.1\n</Location>\n", FILES, "2.2")
    assert fetch(engine, "/k").status == 403
    assert fetch(engine, "/k", "X-Forwarded-For: 192.0.2.1").status == 200


def test_07_changes_the_address(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, NEW + KNOWN, FILES)
    reply = fetch(engine, "/k", "X-Forwarded-For: 192.0.2.1, 127.0.0.2")
    assert (reply.status, reply.get("A")) == (200, "192.0.2.1")


def exchange(engine: Engine, *fields: str) -> list[str]:
    """Return the status lines of requests for /k on one connection, one for each text of fields."""
    client = TestClient(engine, Connection("127.0.0.1", 50000, "127.0.0.1", 80))
    out = []
    for field in fields:
        head = f"GET /k HTTP/1.1\r\nHost: localhost\r\n{field}\r\n\r\n".replace("\r\n\r\n\r\n", "\r\n\r\n")
        out.append(client.send(head.encode()).decode("latin-1").split(" ", 2)[1])
    return out


@pytest.mark.parametrize("conf", [OLD, NEW])
def test_the_next_request_of_a_connection_has_its_own_address(tmp_path: Path, conf: str) -> None:
    engine = build_engine(tmp_path, conf + KNOWN, FILES)
    known = "X-Forwarded-For: 192.0.2.1"
    assert exchange(engine, known, "X-A: b", known, "X-Forwarded-For: 1.1.1.1") == [
        "200",
        "403",
        "200",
        "403",
    ]


def test_other_clients_are_no_proxies(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, OLD.replace("127.0.0.1", "127.0.0.7") + KNOWN, FILES)
    assert fetch(engine, "/k", "X-Forwarded-For: 192.0.2.1").status == 403


HOSTS = (
    "RPAF_SetHostName On\n<VirtualHost *:80>\nServerName localhost\n</VirtualHost>\n"
    "<VirtualHost *:80>\nServerName b\nHeader always set B yes\n</VirtualHost>\n"
)


@pytest.mark.parametrize(
    ("field", "status", "server", "is_b"),
    [
        ("X-Forwarded-Host: b", 200, "b:80", True),
        ("X-Host: a, B.", 200, "b:80", True),
        ("X-Host: c", 200, "c:80", False),
        ("X-Host: a b", 400, "localhost:80", False),
        ("X-Host: ../x", 400, "localhost:80", False),
    ],
)
def test_the_host_of_the_proxy_chooses_the_server(
    tmp_path: Path, field: str, status: int, server: str, is_b: bool
) -> None:
    engine = build_engine(tmp_path, NEW + HOSTS, FILES)
    reply = fetch(engine, "/a.txt", "X-Forwarded-For: 192.0.2.1", field)
    assert (reply.status, reply.get("V"), reply.get("B") == "yes") == (status, server, is_b)
    assert fetch(engine, "/a.txt", field).get("B") is None  # without a client nothing is changed


def test_https_and_port(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, f"{NEW}RPAF_SetHTTPS On\nRPAF_SetPort On\n", FILES)
    for field in ("X-Forwarded-Proto: https", "X-HTTPS: on", "X-Forwarded-HTTPS: On"):
        reply = fetch(engine, "/a.txt", "X-Forwarded-For: 192.0.2.1", field, "X-Port: 443")
        assert (reply.get("H"), reply.get("V")) == ("on", "localhost:443")
    for field in ("X-Forwarded-Proto: http", "X-HTTPS: off", "X-A: b"):
        assert fetch(engine, "/a.txt", "X-Forwarded-For: 192.0.2.1", field).get("H") == "(null)"


def test_clients_that_are_no_proxy_may_be_forbidden(tmp_path: Path) -> None:
    conf = NEW.replace("127.0.0.0/8", "192.0.2.0/24") + "RPAF_ForbidIfNotProxy On\n"
    assert fetch(build_engine(tmp_path, conf, FILES), "/a.txt").status == 403


def test_fields_of_the_proxy_are_removed(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, f"{NEW}RPAF_CleanHeaders On\nRPAF_SetHostName On\n", FILES)
    reply = fetch(engine, "/a.txt", "X-Forwarded-For: 192.0.2.1", "X-Host: b")
    assert reply.get("X-Forwarded-For") is None and reply.get("X-Host") is None


def test_a_virtual_host_with_a_line_of_its_own_inherits_nothing(tmp_path: Path) -> None:
    host = "<VirtualHost *:80>\nServerName localhost\nRPAFheader X-R\n</VirtualHost>\n"
    engine = build_engine(tmp_path, OLD + KNOWN + host, FILES)
    assert fetch(engine, "/k", "X-Forwarded-For: 192.0.2.1").status == 403
    engine = build_engine(tmp_path, OLD + KNOWN + host.replace("RPAFheader X-R\n", ""), FILES)
    assert fetch(engine, "/k", "X-Forwarded-For: 192.0.2.1").status == 200


@pytest.mark.parametrize("text", ["junk", "300.1.1.1", "10.0.0.0/99"])
def test_networks_of_07_are_checked(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="mod_rpaf: Error parsing IP"):
        build_engine(tmp_path, f"{LOAD}RPAF_ProxyIPs {text}\n", FILES)


@pytest.mark.parametrize("source", ["mod_rpaf-2.0.c", "mod_rpaf.c", "rpaf_module"])
def test_sections_of_each_build_are_read(tmp_path: Path, source: str) -> None:
    conf = f"{LOAD}<IfModule {source}>\nHeader always set B yes\n</IfModule>\n"
    assert fetch(build_engine(tmp_path, conf, FILES), "/a.txt").get("B") == "yes"
