"""Idle connections to directories: reused by credentials, bounded, closed when they are old."""

from __future__ import annotations

import pytest

pytest.importorskip("ldap", reason="python-ldap (extra ldap) is not installed")

from whimbrel.modules.ldap.mod_ldap.connections import Connections, LdapConnection, Target


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
