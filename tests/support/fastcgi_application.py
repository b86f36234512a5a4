#!/usr/bin/python3
"""A FastCGI application on descriptor 0 for tests of process managers: the query says what it does.

``exit``: end without an answer; ``kill``: end by a signal; ``sleep=N``; ``env``, ``penv``: show the variables
of the request, of the process; ``stderr``: write to standard error; ``loc``, ``bad``, ``404``: other heads.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import time

PARAMS, STDIN, STDOUT, STDERR, END, AUTHORIZER = 4, 5, 6, 7, 3, 2
HEADS = {
    "loc": b"Location: /other.txt\r\n\r\n",
    "bad": b"nonsense\r\n\r\n",
    "404": b"Status: 404 Not Here\r\nContent-Type: text/plain\r\n\r\n",
}


def read(wire: socket.socket, size: int) -> bytes:
    """Return *size* bytes; raise EOFError at the end."""
    data = b""
    while len(data) < size:
        piece = wire.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def variables(data: bytes) -> dict[str, str]:
    """Return the variables of a request."""
    at, out = 0, {}
    while at < len(data):
        sizes = []
        for _ in range(2):
            size = data[at]
            at += 1
            if size > 127:
                size = (size & 127) << 24 | int.from_bytes(data[at : at + 3], "big")
                at += 3
            sizes.append(size)
        middle, end = at + sizes[0], at + sum(sizes)
        out[data[at:middle].decode("latin-1")] = data[middle:end].decode("latin-1")
        at = end
    return out


def record(kind: int, data: bytes) -> bytes:
    """Return one record."""
    return struct.pack(">BBHHBx", 1, kind, 1, len(data), 0) + data


def request(wire: socket.socket) -> tuple[dict[str, str], bytes]:
    """Return variables and body of the request on *wire*."""
    params, body, role = b"", b"", 1
    while True:
        _version, kind, _id, size, padding = struct.unpack(">BBHHBx", read(wire, 8))
        data = read(wire, size)
        read(wire, padding)
        if kind == 1:
            role = data[1]
        elif kind == PARAMS:
            params += data
            if not data and role == AUTHORIZER:
                return variables(params), body
        elif kind == STDIN:
            body += data
            if not data:
                return variables(params), body


def lines(pairs: dict[str, str]) -> bytes:
    """Return one line for each variable."""
    return "".join(f"{name}={value}\n" for name, value in sorted(pairs.items())).encode("latin-1")


def decide(found: dict[str, str]) -> bytes:
    """Return the head of an authorizer's answer."""
    role = found["FCGI_APACHE_ROLE"]
    is_good = role != "AUTHENTICATOR" or found.get("REMOTE_PASSWD") == "good"
    if found.get("HTTP_X_DENY") == role or not is_good:
        return b"Status: 403 No\r\n\r\n"
    return b"Status: 200 OK\r\nVariable-SEEN: yes\r\n\r\n"


def serve(wire: socket.socket, count: int) -> None:
    """Answer one request."""
    found, body = request(wire)
    query = found.get("QUERY_STRING", "")
    if query == "exit":
        os._exit(3)
    if query == "kill":
        os.kill(os.getpid(), signal.SIGSEGV)
    if query.startswith("sleep="):
        time.sleep(float(query[6:]))
    if query == "stderr":
        wire.sendall(record(STDERR, b"line one\nline two\n"))
    head = HEADS.get(query, b"Content-Type: text/plain\r\nX-Pid: %d\r\n\r\n" % os.getpid())
    if "FCGI_APACHE_ROLE" in found:
        head = decide(found)
    text = lines(found) if query == "env" else lines(dict(os.environ)) if query == "penv" else b""
    text += b"count %d body %d\n" % (count, len(body))
    wire.sendall(record(STDOUT, head + text) + record(STDOUT, b"") + record(END, b"\0" * 8))


def main() -> None:
    """Serve until a signal ends the process."""
    listener, count = socket.socket(fileno=0), 0
    while True:
        wire, _ = listener.accept()
        count += 1
        try:
            serve(wire, count)
        except (EOFError, OSError):
            pass
        wire.close()


if __name__ == "__main__":
    main()
