"""RemoteIPProxyProtocol over real sockets."""

from __future__ import annotations

import time

from tests.server.conftest import ServerProcess, everything

CONF = "LoadModule remoteip_module m/mod_remoteip.so\nRemoteIPProxyProtocol On\nTimeOut 1\n"
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def test_the_client_of_a_connection_is_whom_the_proxy_names(server: ServerProcess) -> None:
    (server.root / "conf/extra.conf").write_text(CONF)
    server.start()
    for client in (b"10.1.2.3", b"10.1.2.4"):
        with server.connect() as wire:
            wire.sendall(b"PROXY TCP4 " + client)
            time.sleep(0.05)
            wire.sendall(b" 10.9.9.9 5555 80\r\n" + GET + LAST)
            assert everything(wire).count(b"HTTP/1.1 200 OK") == 2
    assert server.ask(LAST) == b""
    assert server.ask(b"PROXY TCP4 ") == b""
    lines = (server.root / "logs/access_log").read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["10.1.2.3"] * 2 + ["10.1.2.4"] * 2


def test_exceptions_begin_with_their_request(server: ServerProcess) -> None:
    (server.root / "conf/extra.conf").write_text(CONF + "RemoteIPProxyProtocolExceptions 127.0.0.0/8\n")
    server.start()
    assert b"HTTP/1.1 200 OK" in server.ask(LAST)
    assert b"HTTP/1.1 400 " in server.ask(b"PROXY TCP4 10.1.2.3 10.9.9.9 5555 80\r\n" + LAST)
