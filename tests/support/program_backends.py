"""Back ends in a thread that speak FastCGI, SCGI, uwsgi or AJP and answer with what they were sent.

The query decides: ``raw=TEXT``: TEXT, percent-decoded, is what the program writes; ``close``: the connection
ends without an answer; ``err=TEXT``: TEXT goes to the standard error of FastCGI.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote_to_bytes

from tests.support.thread_server import ThreadServer

Variables = dict[str, str]
_UNSTABLE = ("UNIQUE_ID", "SERVER_SIGNATURE", "SERVER_SOFTWARE", "REMOTE_PORT", "AJP_REMOTE_PORT", "PATH")


def _answer(variables: Variables, body: bytes, status: bytes = b"") -> bytes | None:
    """Return the output of the program; None: it closes the connection."""
    query = variables.get("QUERY_STRING", "")
    if query.startswith("raw="):
        return unquote_to_bytes(query[4:])
    if query == "close":
        return None
    lines = "".join(f"{name}={value}\n" for name, value in sorted(variables.items()) if name not in _UNSTABLE)
    return status + b"Content-Type: text/plain\r\n\r\n" + lines.encode("latin-1") + b"--\n" + body


class ProgramBackend(ThreadServer):
    """A server for one protocol; a context manager.

    Attributes:
        port: on 127.0.0.1; 0 with a Unix socket. `accepted`: number of connections.
        requests: variables of the requests.
    """

    def __init__(self, kind: str, path: Path | None = None) -> None:
        self._answer_one: Callable[[socket.socket, BinaryIO], bool] = getattr(self, f"_{kind}")
        listener = socket.socket(socket.AF_INET if path is None else socket.AF_UNIX)
        listener.bind(("127.0.0.1", 0) if path is None else str(path))
        if path is not None:
            path.chmod(0o777)
        listener.listen(50)
        super().__init__(listener)
        self.accepted = 0
        self.requests: list[Variables] = []

    def _serve(self, connection: socket.socket) -> None:
        self.accepted += 1
        with connection, connection.makefile("rb") as file, contextlib.suppress(OSError, struct.error):
            while self._answer_one(connection, file):
                pass

    # FastCGI
    def _fcgi(self, connection: socket.socket, file: BinaryIO) -> bool:
        params, body, keeps, role = b"", b"", False, 0
        while True:
            _, kind, _, size, padding = struct.unpack(">BBHHBx", file.read(8))
            data = file.read(size)
            file.read(padding)
            if kind == 1:
                keeps, role = bool(data[2]), data[1]
            elif kind == 4:
                params += data
                if not data and role == 2:
                    break  # an authorizer gets no body
            elif kind == 5:
                if not data:
                    break
                body += data
        variables = _fcgi_pairs(params)
        self.requests.append(variables)
        answer = _answer(variables, body)
        if answer is None:
            return False
        query = variables.get("QUERY_STRING", "")
        out = [(7, unquote_to_bytes(query[4:]))] if query.startswith("err=") else []
        out += [(6, answer[at : at + 30000]) for at in range(0, len(answer), 30000)]
        for kind, data in [*out, (6, b""), (3, bytes(8))]:
            connection.sendall(struct.pack(">BBHHBx", 1, kind, 1, len(data), 0) + data)
        return keeps

    # SCGI
    def _scgi(self, connection: socket.socket, file: BinaryIO) -> bool:
        size = b""
        while (byte := file.read(1)) != b":":
            if not byte:
                return False  # the client has closed the connection
            size += byte
        words = file.read(int(size)).decode("latin-1").split("\0")
        file.read(1)
        variables = dict(zip(words[::2], words[1::2], strict=False))
        self.requests.append(variables)
        answer = _answer(variables, file.read(int(variables["CONTENT_LENGTH"])))
        if answer is not None:
            connection.sendall(answer)
        return False

    # uwsgi
    def _uwsgi(self, connection: socket.socket, file: BinaryIO) -> bool:
        _, size, _ = struct.unpack("<BHB", file.read(4))
        data, words = file.read(size), []
        while data:
            end = 2 + int.from_bytes(data[:2], "little")
            words.append(data[2:end].decode("latin-1"))
            data = data[end:]
        variables = dict(zip(words[::2], words[1::2], strict=True))
        self.requests.append(variables)
        body = file.read(int(variables.get("CONTENT_LENGTH") or 0))
        answer = _answer(variables, body, b"HTTP/1.1 200 OK\r\n")
        if answer is not None:
            connection.sendall(answer)
        return False

    # AJP
    def _ajp(self, connection: socket.socket, file: BinaryIO) -> bool:
        data = _ajp_message(file)
        if data[:1] == b"\x0a":
            connection.sendall(b"AB\0\1\x09")
            return True
        variables = _ajp_request(data)
        self.requests.append(variables)
        body, left = b"", int(variables.get("content-length", 0))
        is_chunked = variables.get("Transfer-Encoding") == "chunked"
        if left or is_chunked:
            if not is_chunked:
                body = _ajp_message(file)[2:]
            while is_chunked or len(body) < left:
                connection.sendall(b"AB\0\3\x06\x1f\xfa")
                piece = _ajp_message(file)[2:]
                if not piece:
                    break
                body += piece
        answer = _answer(variables, body)
        if answer is None:
            return False
        connection.sendall(_ajp_answer(answer))
        return True


def _fcgi_pairs(data: bytes) -> Variables:
    pairs, at = {}, 0

    def length() -> int:
        nonlocal at
        if data[at] < 128:
            at += 1
            return data[at - 1]
        at += 4
        return int.from_bytes(data[at - 4 : at], "big") & 0x7FFFFFFF

    while at < len(data):
        name, value = length(), length()
        pairs[data[at : at + name].decode("latin-1")] = data[at + name : at + name + value].decode("latin-1")
        at += name + value
    return pairs


def _ajp_message(file: BinaryIO) -> bytes:
    _, size = struct.unpack(">HH", file.read(4))
    return file.read(size)


_AJP_FIELDS = (
    "accept accept-charset accept-encoding accept-language authorization connection content-type "
    "content-length cookie cookie2 host pragma referer user-agent"
).split()
_AJP_ATTRIBUTES = {3: "user", 4: "auth", 5: "QUERY_STRING", 6: "route", 12: "secret", 13: "method"}


def _ajp_request(data: bytes) -> Variables:
    at = 2

    def short() -> int:
        nonlocal at
        at += 2
        return int.from_bytes(data[at - 2 : at], "big")

    def text() -> str:
        nonlocal at
        size = short()
        if size == 0xFFFF:
            return "(none)"
        at += size + 1
        return data[at - size - 1 : at - 1].decode("latin-1")

    out = {"method code": str(data[1])}
    for name in ("protocol", "path", "address", "client", "server"):
        out[name] = text()
    out["port"] = str(short() and 1)
    out["tls"] = str(data[at])
    at += 1
    for _ in range(short()):
        code = short()
        if code & 0xFF00 != 0xA000:
            at -= 2
        name = _AJP_FIELDS[(code & 0xFF) - 1] if code & 0xFF00 == 0xA000 else text()
        out[name] = text()
    while data[at] != 0xFF:
        kind, at = data[at], at + 1
        name = _AJP_ATTRIBUTES[kind] if kind in _AJP_ATTRIBUTES else text()
        out[name] = text()
    return out


def _ajp_answer(answer: bytes) -> bytes:
    """Return the messages for the output of a program, whose field Status is the status."""
    head, _, body = answer.partition(b"\r\n\r\n")
    fields = [line.split(b": ", 1) for line in head.split(b"\r\n") if b": " in line]
    status = next((int(value[:3]) for name, value in fields if name == b"Status"), 200)

    def text(value: bytes) -> bytes:
        return struct.pack(">H", len(value)) + value + b"\0"

    others = [(name, value) for name, value in fields if name != b"Status"]
    messages = [b"\4" + struct.pack(">H", status) + text(b"") + struct.pack(">H", len(others))]
    messages[0] += b"".join(text(name) + text(value) for name, value in others)
    for start in range(0, len(body), 8000):
        piece = body[start : start + 8000]
        messages.append(b"\3" + struct.pack(">H", len(piece)) + piece + b"\0")
    messages.append(b"\5\1")
    return b"".join(b"AB" + struct.pack(">H", len(message)) + message for message in messages)
