"""TLS clients of an engine in this process, over memory: certificates are those of the recorded cases."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.access_site import MODULES, AccessSite
from tests.support.fakes import FakeTransport
from tests.support.site import MTIME, write_files
from tests.support.tls import case
from whimbrel.modules.ssl.mod_ssl.start import start
from whimbrel.server.connection.stack import protocol_factory
from whimbrel.server.worker.state import WorkerState

ADDRESS = ("127.0.0.1", 8443)
CERTIFICATES = 54  # the recorded case with all kinds of certificates
TWO_HOSTS = "".join(
    f"<VirtualHost 127.0.0.1:8443>\nServerName {name}\n{alias}SSLEngine on\n"
    f"SSLCertificateFile conf/{file}.crt\nSSLCertificateKeyFile conf/{file}.key\n"
    f'DocumentRoot "@DOCROOT@{path}"\n@{file}@\n</VirtualHost>\n'
    for name, alias, file, path in (
        ("a.example", "ServerAlias *.a.example\n", "a", ""),
        ("b.example", "", "b", "/in"),
    )
)
ONE_HOST = (
    "<VirtualHost 127.0.0.1:8443>\nServerName localhost\nSSLEngine on\nSSLCertificateFile conf/lo.crt\n"
    "SSLCertificateKeyFile conf/lo.key\nSSLCACertificateFile conf/ca.crt\n@MORE@\n</VirtualHost>\n"
)


class TlsServerSite(AccessSite):
    """A site whose address 127.0.0.1:8443 speaks TLS; *conf* has its virtual hosts."""

    def __init__(self, root: Path, conf: str, version: str = "2.4", more: str = "") -> None:
        texts = {**case(3)["files"], **case(CERTIFICATES)["files"]}
        files = {
            name: text if isinstance(text, str) else text["text"]
            for name, text in texts.items()
            if name.startswith("conf/")
        }
        write_files(root, files, None)
        pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")
        super().__init__(
            root,
            "Listen 127.0.0.1:8443\n"
            + ("NameVirtualHost 127.0.0.1:8443\n" if version == "2.2" else "")
            + '<Directory "@DOCROOT@">\nAllow from all\n</Directory>\n' * (version == "2.2")
            + conf,
            version,
            f"{MODULES[version]} env headers rewrite {more} ssl",
        )
        start(self.engine.configuration)

    def settle(self) -> None:
        """Let all files be old, so that responses are cached."""
        for path in self.root.rglob("*"):
            os.utime(path, (MTIME, MTIME))
        time.sleep(0.02)  # the inodes are older than a tick of the file system's clock

    def service(self) -> WorkerState:
        """Return the state of a worker on the running event loop."""
        state = WorkerState(self.engine, asyncio.get_running_loop(), report=_raise)
        state.round = 60.0  # a handshake in memory takes no turn of the loop
        return state


def _raise(problem: BaseException) -> None:
    raise problem


class TlsClient:
    """One client; `handshake` and `fetch` raise ssl.SSLError for alerts of the server.

    Attributes:
        transport: what the server writes to; `tls`: the client's side of the connection.
    """

    def __init__(
        self,
        service: WorkerState,
        name: str | None = "localhost",
        *,
        root: Path | None = None,
        certificate: str = "",
        version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
        alpn: list[str] | None = None,
        session: Any = None,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.transport = FakeTransport(("127.0.0.1", 4711), ADDRESS)
        if context is None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.maximum_version = version
            context.post_handshake_auth = True
        if certificate and root is not None:
            context.load_cert_chain(root / certificate)
        if alpn:
            context.set_alpn_protocols(alpn)
        self.context = context
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._in, self._out, server_hostname=name, session=session)
        self.protocol: Any = protocol_factory(service)()
        self.protocol.connection_made(self.transport)

    @property
    def server(self) -> Any:
        """The protocol of the transport, which a layer may have replaced."""
        return self.transport.protocol or self.protocol

    def pump(self) -> None:
        """Pass on what both sides have written."""
        data, self.transport.out = self.transport.out, b""
        self._in.write(data)

    def send(self) -> None:
        """Pass the client's bytes to the server."""
        data = self._out.read()
        if data:
            self.server.data_received(data)

    def handshake(self) -> None:
        """Do the whole handshake."""
        for _ in range(6):
            try:
                self.tls.do_handshake()
                self.send()
                self.pump()
                return
            except ssl.SSLWantReadError:
                self.send()
                self.pump()
        raise TimeoutError

    async def fetch(self, request: str, times: int = 30) -> bytes:
        """Return the response to *request*, whose length is known."""
        self.tls.write(request.encode("latin-1"))
        out = b""
        for _ in range(times):
            self.send()
            await asyncio.sleep(0)
            self.pump()
            try:
                while data := self.tls.read(65536):
                    out += data
            except ssl.SSLWantReadError:
                pass
            if _is_complete(out):
                return out
            await asyncio.sleep(0.005)
        return out

    async def get(self, path: str = "/f.html", host: str = "localhost") -> bytes:
        """Return the response to a request."""
        return await self.fetch(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")


def _is_complete(data: bytes) -> bool:
    head, end, body = data.partition(b"\r\n\r\n")
    if not end:
        return False
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return len(body) >= int(line[15:])
    return body.endswith(b"0\r\n\r\n")


def status(response: bytes) -> int:
    """Return the status of a response, 0 without one."""
    return int(response.split(b" ", 2)[1]) if response else 0
