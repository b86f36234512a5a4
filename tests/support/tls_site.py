"""A site behind an engine in this process whose clients may use TLS."""

from __future__ import annotations

import re
from base64 import b64encode
from pathlib import Path

import pytest

from tests.support.access_site import MODULES, AccessSite
from tests.support.tls import FakeTls
from whimbrel.engine.connection import Connection
from whimbrel.testing.client import TestClient


class TlsSite(AccessSite):
    """A site with mod_ssl, without certificates: sessions are fakes."""

    def __init__(self, root: Path, conf: str, version: str = "2.4", more: str = "") -> None:
        pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")
        super().__init__(root, conf, version, f"{MODULES[version]} env headers rewrite {more} ssl")

    def over(
        self, tls: FakeTls | None, path: str = "/f.html", user: str = "", source: str = "127.0.0.1"
    ) -> str:
        """Return the response to a request on a new connection; *user* is ``name:password``."""
        auth = f"Authorization: Basic {b64encode(user.encode()).decode()}\r\n" if user else ""
        if tls is not None and tls.server is None:
            tls.server = self.engine.main
        connection = Connection(source, 5000, "127.0.0.1", 8080, tls=tls)
        request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{auth}\r\n"
        return TestClient(self.engine, connection).send(request.encode()).decode("latin-1")

    def status_over(
        self, tls: FakeTls | None, path: str = "/f.html", user: str = "", source: str = ""
    ) -> int:
        """Return the status of `over`."""
        return int(self.over(tls, path, user, source or "127.0.0.1").split(" ", 2)[1])

    def fields(self, response: str) -> dict[str, str]:
        """Return the fields of a response that begin with ``X-``."""
        return dict(re.findall(r"(?m)^(X-[^:]*): (.*?)\r?$", response))
