"""A small site behind an engine in this process, for the tests of authentication and authorization."""

from __future__ import annotations

import re
from base64 import b64encode
from pathlib import Path

from whimbrel.base.dialect import DIALECTS
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.modules import ALL
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime

MODULES = {
    "2.2": "log_config dir authz_host auth_basic authn_file authz_user authz_groupfile authz_owner setenvif",
    "2.4": "mpm_event authz_core dir authz_host access_compat authn_core auth_basic authn_file authz_user authz_groupfile authz_owner setenvif",
}
USERS = "# people\nalice:{SHA}w3QkzGJswDXW5OKZHAJw0FELjfM=\nbob:{SHA}9SMYoF5RilWWASry7TjeaKwmpGg=\n"  # wonder, builder
GROUPS = "admin: alice\nstaff: alice bob\n"
BASIC = "AuthType Basic\nAuthName Zone\nAuthUserFile conf/users\nAuthGroupFile conf/groups\n"


class Site:
    """A server root with one configuration; `status` and `ask` send requests, `codes` are the AH codes (2.2: the lines) logged since last asked."""

    def __init__(self, root: Path, conf: str, version: str = "2.4", modules: str = "") -> None:
        for folder in ("conf", "htdocs/in", "logs"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        for name, content in (
            ("conf/users", USERS),
            ("conf/groups", GROUPS),
            ("htdocs/f.html", "page\n"),
            ("htdocs/in/f.html", "inner\n"),
        ):
            (root / name).write_text(content)
        lines = [f"LoadModule {m}_module modules/mod_{m}.so" for m in (modules or MODULES[version]).split()]
        lines += [
            f'ServerRoot "{root}"',
            "ServerName localhost",
            "ErrorLog logs/error_log",
            f'DocumentRoot "{root}/htdocs"',
            "Listen 127.0.0.1:8080",
        ]
        (root / "conf/httpd.conf").write_text(
            "\n".join(lines) + "\n" + conf.replace("@DOCROOT@", f"{root}/htdocs")
        )
        self.root, self.runtime = root, FakeRuntime()
        options = LoadOptions(server_root=str(root), file=str(root / "conf/httpd.conf"))
        self.engine = Engine(load(options, ALL, DIALECTS[version]), self.runtime)

    def ask(
        self,
        path: str = "/f.html",
        *,
        user: str = "",
        source: str = "127.0.0.1",
        method: str = "GET",
        headers: str = "",
    ) -> str:
        """The whole answer; *user* is ``name:password``, *headers* further lines."""
        auth = f"Authorization: Basic {b64encode(user.encode()).decode()}\r\n" if user else ""
        request = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{auth}{headers}\r\n"
        return (
            TestClient(self.engine, Connection(source, 5000, "127.0.0.1", 8080))
            .send(request.encode())
            .decode("latin-1")
        )

    def status(self, path: str = "/f.html", **more: str) -> int:
        """The status of the answer."""
        return int(self.ask(path, **more).split(" ", 2)[1])

    def codes(self) -> list[str]:
        """The AH codes logged since the last call, in order; without codes (2.2) the texts."""
        text = b"".join(piece for parts in self.runtime.logs.values() for piece in parts).decode("latin-1")
        self.runtime.logs.clear()
        return re.findall(r"AH\d{5}", text) or re.findall(r"\[client [^]]*\] (.*)", text)

    def results(self) -> list[str]:
        """What the log says about each step of a decision (level debug)."""
        text = b"".join(piece for parts in self.runtime.logs.values() for piece in parts).decode("latin-1")
        return re.findall(r"authorization result of (.*)", text)
