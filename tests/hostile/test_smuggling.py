"""The chains of proxies: a short run, and whether a smuggled request would be found."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

import pytest

from tests.hostile.smuggling import attack, attack_chain, chains, hidden
from tests.hostile.wire import cases


@contextmanager
def late_by_one() -> Iterator[int]:
    """Provide the port of a server that answers each client with the response of the one before."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        before = b"0"
        while True:
            try:
                wire = listener.accept()[0]
            except OSError:
                return
            with wire:
                data = wire.recv(65536)
                if b"/victim-" in data:
                    wire.sendall(b"HTTP/1.1 302 Found\r\nLocation: /went-" + before + b"\r\n\r\n")
                    before = data.split(b"/victim-")[1].split(b" ")[0]

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def test_a_response_of_another_client_is_found() -> None:
    with late_by_one() as port:
        assert "another response" in attack(port, 5, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert "went-5" in attack(port, 6, b"")
        assert attack(port, 6, b"") == ""


def test_hidden_requests_are_counted() -> None:
    lines = [
        '1 "GET /hidden-3 HTTP/1.1" 200',
        'x "GET /a HTTP/1.1" 200 "/hidden-4 "',
        '"GET /hidden-3 HTTP/1.1"',
    ]
    assert hidden(lines)[3] == 2


@pytest.mark.skipif(not chains(), reason="neither nginx nor haproxy nor apache2 is installed")
@pytest.mark.parametrize("is_behind", [False, True], ids=["in front", "behind"])
def test_some_requests_through_a_chain(is_behind: bool) -> None:
    chain = next(one for one in chains() if (one[1] == "whimbrel") is is_behind)
    some = list(enumerate(islice(cases(random.Random(1)), 16)))
    assert attack_chain(chain, some) == []
