"""Lines of the error log and responses: the line is in the file when the client has the response."""

from __future__ import annotations

import socket
import threading

from tests.server.conftest import ServerProcess

CLIENTS, ROUNDS = 8, 25
REQUEST = b"GET /denied-%d-%d HTTP/1.1\r\nHost: localhost\r\n\r\n"


def response(wire: socket.socket) -> bytes:
    """Return one response with its body."""
    data = b""
    while b"</html>" not in data:
        piece = wire.recv(65_536)
        assert piece, data
        data += piece
    return data


def test_error_lines_are_written_before_the_response_leaves(server: ServerProcess) -> None:
    conf = "<LocationMatch ^/denied>\nRequire all denied\n</LocationMatch>\n"
    (server.root / "conf/extra.conf").write_text(conf)
    server.start()
    late: list[str] = []

    def run(client: int) -> None:
        with server.connect() as wire, (server.root / "logs/error_log").open("rb") as log:
            for number in range(ROUNDS):
                wire.sendall(REQUEST % (client, number))
                assert response(wire).startswith(b"HTTP/1.1 403")
                log.seek(0)
                if b"/denied-%d-%d\n" % (client, number) not in log.read():
                    late.append(f"{client}-{number}")

    threads = [threading.Thread(target=run, args=(client,)) for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert late == []
    assert (server.root / "logs/error_log").read_text().count("AH01630") == CLIENTS * ROUNDS
