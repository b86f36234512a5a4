"""An HTTPS back end in a thread, with a recorded certificate."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path
from types import TracebackType

import pytest

from tests.support.tls import text_of

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\ntop"


class TlsBackend:
    """Answers every request on the loopback; *plain*: without TLS.

    Attributes:
        names: the names that clients indicated, None for none.
    """

    def __init__(self, root: Path, name: str = "lo", number: int = 178, *, plain: bool = False) -> None:
        pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")
        self.names: list[str | None] = []
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        for kind in ("crt", "key"):
            (root / f"backend.{kind}").write_text(text_of(number, f"conf/{name}.{kind}"))
        self.context.load_cert_chain(root / "backend.crt", root / "backend.key")
        self.context.sni_callback = self._note
        self._plain = plain

    def _note(self, _object: object, name: str | None, _context: object) -> None:
        self.names.append(name)

    def __enter__(self) -> TlsBackend:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            client.settimeout(5)
            try:
                if not self._plain:
                    client = self.context.wrap_socket(client, server_side=True)
                client.recv(65536)
                client.sendall(ANSWER)
            except OSError:
                pass
            finally:
                client.close()
