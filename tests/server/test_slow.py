"""Slow clients: RequestReadTimeout, with the responses of 2.4.71 and 2.2.34."""

from __future__ import annotations

import socket
import time

from tests.server.conftest import ServerProcess

SLOW = "LoadModule reqtimeout_module m/mod_reqtimeout.so\nLogLevel info\nKeepAliveTimeout 3\n"
BODY = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n"


def configure(server: ServerProcess, text: str) -> None:
    (server.root / "conf/extra.conf").write_text(text)


def until_closed(connection: socket.socket) -> tuple[bytes, float]:
    """Return the bytes until the server closes, and the time that it took."""
    begun, out = time.monotonic(), b""
    while data := connection.recv(65536):
        out += data
    return out, time.monotonic() - begun


def test_a_head_that_is_not_finished_is_answered_with_408(server: ServerProcess) -> None:
    configure(server, SLOW + "RequestReadTimeout header=1\n")
    server.start()
    with server.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX")
        answer, seconds = until_closed(connection)
    assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert 0.9 < seconds < 15  # the default is 20
    server.wait_for(lambda: "[reqtimeout:info]" in server.errors())
    assert "AH01382: Request header read timeout" in server.errors()


def test_a_piece_of_a_request_line_gets_no_answer(server: ServerProcess) -> None:
    configure(server, SLOW + "RequestReadTimeout header=1\n")
    server.start()
    with server.connect() as connection:
        connection.sendall(b"GET /a")
        assert until_closed(connection)[0] == b""
    server.wait_for(lambda: "127.0.0.1 - 408 -" in (server.root / "logs/access_log").read_text())


def test_a_body_that_does_not_come(server: ServerProcess) -> None:
    configure(server, SLOW + "RequestReadTimeout body=1\n")
    server.start()
    with server.connect() as connection:
        connection.sendall(BODY + b"abc")
        answer, seconds = until_closed(connection)
    assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert 0.9 < seconds < 15  # the default is 20
    server.wait_for(lambda: "AH01382: Request body read timeout" in server.errors())


def test_bytes_at_the_least_rate_buy_time(server: ServerProcess) -> None:
    configure(server, SLOW + "RequestReadTimeout body=1,MinRate=2\n")
    server.start()
    with server.connect() as connection:
        connection.sendall(BODY)
        for _ in range(10):
            time.sleep(0.25)
            connection.sendall(b"x")
        assert connection.recv(12) == b"HTTP/1.1 200"


def test_the_most_that_can_be_bought(server: ServerProcess) -> None:
    configure(server, SLOW + "RequestReadTimeout header=1-2,MinRate=1\n")
    server.start()
    with server.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"y" * 500)
        answer, seconds = until_closed(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert 1.9 < seconds < 60  # 500 bytes would buy 501


def test_many_slow_clients_keep_no_other_client_out(server: ServerProcess) -> None:
    configure(server, SLOW + "RequestReadTimeout header=4\n")
    server.start()
    slow = [server.connect() for _ in range(300)]
    for connection in slow:
        connection.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
    begun = time.monotonic()
    assert b" 200 OK" in server.ask(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert time.monotonic() - begun < 3
    answers = [until_closed(connection)[0] for connection in slow]
    assert all(answer.startswith(b"HTTP/1.1 408 ") for answer in answers)
    assert time.monotonic() - begun < 20
    for connection in slow:
        connection.close()


def test_22_answers_400_to_a_slow_body(server: ServerProcess) -> None:
    configure(server, SLOW + "RequestReadTimeout body=1\n")
    main = server.root / "conf/httpd.conf"
    unknown = ("mpm_event", "authz_core", "LogFormat", "CustomLog")
    main.write_text(
        "".join(
            line for line in main.read_text().splitlines(True) if not any(word in line for word in unknown)
        )
    )
    server.start("--dialect", "2.2")
    with server.connect() as connection:
        connection.sendall(BODY + b"abc")
        assert until_closed(connection)[0].startswith(b"HTTP/1.1 400 Bad Request\r\n")
