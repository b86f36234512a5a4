"""mod_remoteip.  Every expected address is that of httpd 2.4.71."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError
from whimbrel.base.net import Networks, parse_written
from whimbrel.engine.request import Connection
from whimbrel.modules.metadata.mod_remoteip import AddressChain, ProxiedAddresses
from whimbrel.testing.client import TestClient

CONF = (
    "LoadModule remoteip_module modules/mod_remoteip.so\nRemoteIPHeader X-F\nHeader always set A "
    '"expr=%{REMOTE_ADDR}"\nHeader always echo ^X-F\n'
)


@pytest.mark.parametrize(
    ("conf", "field", "address", "left"),
    [
        ("", "1.2.3.4", "1.2.3.4", None),
        ("", "10.1.2.3", "127.0.0.1", "10.1.2.3"),
        ("", "10.1.2.3, 1.2.3.4", "1.2.3.4", "10.1.2.3"),
        ("", "garbage", "127.0.0.1", "garbage"),
        ("", "1.2.3.4:80", "127.0.0.1", "1.2.3.4:80"),
        ("", "2001:db8::1", "2001:db8::1", None),
        ("", "::1", "127.0.0.1", "::1"),
        ("", "::ffff:8.8.8.8", "8.8.8.8", None),
        ("RemoteIPInternalProxy 127.0.0.1", "::ffff:8.8.8.8", "8.8.8.8", None),
        ("RemoteIPInternalProxy 127.0.0.1 10.0.0.1", "8.8.8.8, ::ffff:10.0.0.1", "8.8.8.8", None),
        ("", " 5.6.7.8 ", "5.6.7.8", None),
        ("", "1.2.3", "1.2.0.3", None),
        ("", "300.1.1.1", "127.0.0.1", "300.1.1.1"),
        ("RemoteIPInternalProxy 127.0.0.1", "10.1.2.3", "10.1.2.3", None),
        ("RemoteIPInternalProxy 127.0.0.1", "8.8.8.8,10.1.2.3", "10.1.2.3", "8.8.8.8"),
        ("RemoteIPInternalProxy 127.0.0.1", "1.2.3.4, 127.0.0.1", "1.2.3.4", None),
        ("RemoteIPInternalProxy 10.0.0.1", "1.2.3.4", "127.0.0.1", "1.2.3.4"),
    ],
)
def test_addresses(conf: str, field: str, address: str, left: str | None, tmp_path: Path) -> None:
    reply = fetch(build_engine(tmp_path, CONF + conf, {"htdocs/a.txt": "A"}), "/a.txt", f"X-F: {field}")
    assert (reply.get("A"), reply.get("X-F")) == (address, left)


@pytest.mark.parametrize(("field", "address"), [("1.2.3.4", "1.2.3.4"), ("8.8.8.8, 1.2.3.4", "1.2.3.4")])
def test_an_internal_redirect_keeps_the_address(field: str, address: str, tmp_path: Path) -> None:
    conf = CONF + "RemoteIPInternalProxy 127.0.0.1\nErrorDocument 404 /a.txt\n"
    serving = build_engine(tmp_path, conf, {"htdocs/a.txt": "A"})
    reply = fetch(serving, "/none", f"X-F: {field}")
    assert (reply.status, reply.get("A"), reply.body) == (404, address, "A")


def test_a_named_address_has_port_0() -> None:
    connection = Connection("127.0.0.1", 5, "127.0.0.1", 80)
    assert connection.useragent_port == 5
    connection.useragent_ip = "1.2.3.4"
    assert connection.useragent_port == 0


def test_the_address_ends_with_its_request(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, CONF, {"htdocs/a.txt": "A"})
    assert fetch(serving, "/a.txt", "X-F: 1.2.3.4").get("A") == "1.2.3.4"
    assert fetch(serving, "/a.txt").get("A") == "127.0.0.1"


def test_lists(tmp_path: Path) -> None:
    conf = CONF + "RemoteIPInternalProxyList conf/list"
    serving = build_engine(
        tmp_path, conf, {"conf/list": "# ours\n10.0.0.1 127.0.0.0/8\n", "htdocs/a.txt": ""}
    )
    assert fetch(serving, "/a.txt", "X-F: 10.9.9.9").get("A") == "10.9.9.9"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            "RemoteIPTrustedProxy 10.0.0.0/99",
            "RemoteIP: Error parsing IP 10.0.0.0/99 (The specified network mask is invalid. error) for "
            "RemoteIPTrustedProxy",
        ),
        (
            "RemoteIPInternalProxy a.test/8",
            "RemoteIP: Error parsing IP a.test/8 the subnet /8 is invalid for RemoteIPInternalProxy",
        ),
        ("RemoteIPProxyProtocolExceptions localhost", "ip address 'localhost' appears to be invalid"),
        ("RemoteIPProxyProtocolExceptions", "RemoteIPProxyProtocolExceptions requires an argument"),
    ],
)
def test_refusals(line: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        build_engine(tmp_path, CONF + line)
    assert caught.value.reason == reason


def test_who_must_begin_with_a_proxy_header(tmp_path: Path) -> None:
    serving = build_engine(
        tmp_path, CONF + "RemoteIPProxyProtocol On\nRemoteIPProxyProtocolExceptions 127.0.0.0/8 ::1"
    )
    addresses = ProxiedAddresses(serving.configuration)
    assert addresses.is_used
    clients = ("127.0.0.1", "::1", "10.0.0.1")
    assert [addresses.expects("127.0.0.1", 80, client) for client in clients] == [False, False, True]


ONE, OTHER, ANY = "<VirtualHost 127.0.0.1:80>\n", "<VirtualHost 127.0.0.2:80>\n", "<VirtualHost *:80>\n"
END, ON, OFF = "</VirtualHost>\n", "RemoteIPProxyProtocol On\n", "RemoteIPProxyProtocol Off\n"
EXCEPTIONS = "RemoteIPProxyProtocolExceptions 10.0.0.0/8\n"


@pytest.mark.parametrize(
    ("conf", "expected"),
    [
        (ON, (True, True)),
        (ON + OFF, (False, False)),
        (ON + OTHER + END, (True, True)),
        (ON + OTHER + OFF + END, (True, False)),
        (OTHER + ON + END, (False, True)),
        (OTHER + END + OTHER + ON + END, (False, True)),
        (OTHER + ON + END + OTHER + OFF + END, (False, False)),
        (OTHER + OFF + END + OTHER + ON + END, (False, True)),
        (ANY + ON + END, (True, True)),
        (ANY + ON + END + OTHER + END, (True, True)),
        (ANY + ON + END + OTHER + OFF + END, (True, False)),
        (ANY + END + OTHER + ON + END, (False, True)),
        (ON + ANY + OFF + END, (False, False)),
        (OFF + ANY + ON + END, (False, False)),
        (ANY.replace("*:80", "*:1") + ON + END, (False, False)),
        (ANY.replace("*:80", "*") + ON + END, (True, True)),
        (ANY.replace("*:80", "_default_:80") + ON + END, (True, True)),
        (ON + OTHER + EXCEPTIONS + END, (False, False)),
        (OTHER + ON + END + OTHER + EXCEPTIONS + END, (False, False)),
    ],
)
def test_addresses_whose_connections_begin_with_a_header(
    tmp_path: Path, conf: str, expected: tuple[bool, bool]
) -> None:
    """As 2.4.71 decides for 127.0.0.1:80 and 127.0.0.2:80."""
    addresses = ProxiedAddresses(build_engine(tmp_path, CONF + conf).configuration)
    found = tuple(addresses.expects(host, 80, "10.0.0.1") for host in ("127.0.0.1", "127.0.0.2"))
    assert found == expected


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("9.9.9.9", "9.9.9.9"),
        ("9.9.9.9\tx", None),
        ("9.9.9.9\n", None),
        ("9.9.9.9%lo", None),
        ("fe80::1%lo", "fe80::1%lo"),
        ("fe80::1%1", "fe80::1%lo"),
        ("fe80::1%4000000000", "fe80::1"),
        ("fe80::1%4294967296", None),
        ("fe80::1%-1", None),
        ("fe80::1%none", None),
        ("fe80::1%", None),
        ("2001:db8::1%1", "2001:db8::1"),
        ("2001:db8::1%lo", None),
        ("::ffff:9.9.9.9", "9.9.9.9"),
        ("localhost", None),
    ],
)
def test_addresses_of_fields(text: str, address: str | None) -> None:
    """As 2.4.71 reads them; it looks names up, which a client must not make a server do."""
    chain = AddressChain("127.0.0.1", text)
    chain.go([(Networks([parse_written("127.0.0.0/8")]), True)])
    assert (chain.address if chain.moved else None) == address


def test_the_client_that_a_proxy_names_counts_before_any_field(tmp_path: Path) -> None:
    conf = (
        CONF + "RemoteIPProxyProtocol On\nRemoteIPHeader X-Forwarded-For\nLogFormat '%a %{c}a %{remote}p' "
        "who\nCustomLog logs/who who"
    )
    serving = build_engine(tmp_path, conf, {"htdocs/a.txt": "A\n"})
    for proxied in (("10.1.2.3", 5555), None, ("10.1.2.4", 5556)):
        client = TestClient(serving, Connection("127.0.0.1", 5, "127.0.0.1", 80, proxied=proxied))
        client.send(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2)
    said = (
        b"".join(next(v for k, v in serving.runtime.logs.items() if k.endswith("who"))).decode().splitlines()
    )  # type: ignore[attr-defined]
    want = ["10.1.2.3 127.0.0.1 5555", "127.0.0.1 127.0.0.1 5", "10.1.2.4 127.0.0.1 5556"]
    assert said == [line for line in want for _ in range(2)]


def test_what_one_client_of_a_proxy_got_is_not_kept_for_another(tmp_path: Path) -> None:
    """Not even if the virtual host has no RemoteIP directives: the connection is still the proxy's."""
    conf = (
        'LoadModule authz_host_module modules/mod_authz_host.so\n<Location "/a.txt">\nRequire ip '
        "10.1.2.3\n</Location>\n"
    )
    serving = build_engine(tmp_path, conf, {"htdocs/a.txt": "A\n"})
    for path in tmp_path.rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    for address, status in (("10.1.2.3", b"200"), ("10.1.2.4", b"403"), ("10.1.2.3", b"200")):
        client = TestClient(
            serving, Connection("127.0.0.1", 5, "127.0.0.1", 80, proxied=(address, 5), useragent_ip=address)
        )
        assert client.send(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")[9:12] == status
