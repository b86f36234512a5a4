"""Idle connections to directories: reused by credentials, bounded, closed when they are old."""

from __future__ import annotations

import socket
import threading

import pytest

pytest.importorskip("ldap", reason="python-ldap (extra ldap) is not installed")

from whimbrel.modules.ldap.mod_ldap.connections import Connections, Failed, LdapConnection, Target, call


class Handle:
    """What a connection needs of the library here."""

    def __init__(self) -> None:
        self.is_closed = False

    def unbind_s(self) -> None:
        self.is_closed = True


def opened(target: Target, dn: str | None = None) -> LdapConnection:
    connection = LdapConnection(target, dn, None)
    connection.handle, connection.bound = Handle(), True
    return connection


def test_idle_connections_are_bounded() -> None:
    target, connections = Target("ldap://127.0.0.1:1"), Connections()
    given = [opened(target) for _ in range(70)]
    handles = [connection.handle for connection in given]
    for connection in given:
        connections.give(connection)
    assert len(connections) == 64
    assert [handle.is_closed for handle in handles] == [True] * 6 + [False] * 64
    connections.close()
    assert len(connections) == 0
    assert all(handle.is_closed for handle in handles)


def test_a_connection_of_others_binds_again() -> None:
    target, connections = Target("ldap://127.0.0.1:1"), Connections()
    mine, other = opened(target, "cn=a"), opened(target, "cn=b")
    connections.give(mine)
    connections.give(other)
    assert connections.take(target, "cn=a", None) is mine
    assert mine.bound
    assert connections.take(target, "cn=a", None) is other
    assert (other.bound, other.dn) == (False, "cn=a")
    assert connections.take(Target("ldap://127.0.0.2:1"), "cn=a", None).handle is None


def test_old_connections_are_closed() -> None:
    now = [0.0]
    target, connections = Target("ldap://127.0.0.1:1", idle_timeout=5), Connections(lambda: now[0])
    connection = opened(target)
    handle = connection.handle
    connections.give(connection)
    now[0] = 5.1
    assert connections.take(target, None, None) is not connection
    assert handle.is_closed


def test_mode_ssl_never_speaks_plain_ldap() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        first: list[bytes] = []

        def accept() -> None:
            with listener.accept()[0] as peer:
                first.append(peer.recv(1))

        thread = threading.Thread(target=accept)
        thread.start()
        port = listener.getsockname()[1]
        target = Target(
            f"ldap://127.0.0.1:{port}", "ssl", verify=False, connect_timeout=5, timeout=5, retries=0
        )
        connection = Connections().take(target, "cn=a", "secret")
        with pytest.raises(Failed):
            connection.operate("ldap_compare_s()", lambda handle: call(handle.compare_s, "cn=a", "cn", b"a"))
        thread.join(10)
    assert first == [b"\x16"]  # a TLS record with a ClientHello
