"""A small server root, an engine on it, and the answers that requests get: what the tests of the modules share."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from whimbrel.base.dialect import DIALECTS
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.modules import ALL
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime

MTIME = 1_600_000_000  # Sun, 13 Sep 2020 12:26:40 GMT
TYPES = "text/html html htm\ntext/plain txt\nimage/png png\napplication/x-tar tar\ntext/x-c c\n"
LOADED = {
    "2.4": "mpm_event authz_core mime dir alias env setenvif headers autoindex status".split(),
    "2.2": "authz_host mime dir alias env setenvif headers autoindex status".split(),
}


@dataclass
class Reply:
    """One answer: *headers* in order, without Date, Server and Connection."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: str = ""

    def get(self, name: str) -> str | None:
        """The first value of a header."""
        return next((v for n, v in self.headers if n.lower() == name.lower()), None)

    def all(self, name: str) -> list[str]:
        """Every value of a header."""
        return [v for n, v in self.headers if n.lower() == name.lower()]


def engine(root: Path, conf: str, files: dict[str, str] | None = None, version: str = "2.4") -> Engine:
    """The engine of a server root with *files* and *conf*, where ``@`` stands for the root; everything is granted."""
    for name, text in {
        "conf/mime.types": TYPES,
        "htdocs/.keep": "",
        "logs/.keep": "",
        **(files or {}),
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="latin-1")
        os.utime(path, (MTIME, MTIME))
    for folder, _, _ in os.walk(root / "htdocs", topdown=False):
        os.utime(folder, (MTIME, MTIME))
    lines = [f"LoadModule {m}_module modules/mod_{m}.so" for m in LOADED[version]]
    lines += ["Listen 127.0.0.1:80", "ServerName localhost", f'DocumentRoot "{root}/htdocs"']
    lines += [
        f'<Directory "{root}">',
        "AllowOverride All",
        *(["Require all granted"] if version == "2.4" else []),
        "</Directory>",
    ]
    (root / "conf/httpd.conf").write_text(
        "\n".join(lines) + "\n" + conf.replace("@", str(root)) + "\n", encoding="latin-1"
    )
    options = LoadOptions(server_root=str(root), file=str(root / "conf/httpd.conf"))
    return Engine(load(options, ALL, DIALECTS[version]), FakeRuntime())


def ask(serving: Engine, path: str, *headers: str, method: str = "GET", body: str = "") -> Reply:
    """The answer to one request on a connection of its own."""
    client = TestClient(serving, Connection("127.0.0.1", 50000, "127.0.0.1", 80))
    extra = [*headers, *([f"Content-Length: {len(body)}"] if body else [])]
    head = "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *extra])
    data = client.send(f"{head}\r\n\r\n{body}".encode("latin-1")).decode("latin-1")
    top, _, rest = data.partition("\r\n\r\n")
    line, *fields = top.split("\r\n")
    pairs = [(n, v.strip()) for n, _, v in (f.partition(":") for f in fields)]
    return Reply(
        int(line.split()[1]), [p for p in pairs if p[0] not in ("Date", "Server", "Connection")], rest
    )


def answers(
    root: Path, conf: str, paths: list[str], files: dict[str, str] | None = None, version: str = "2.4"
) -> list[Reply]:
    """`ask` for each path, under one configuration."""
    serving = engine(root, conf, files, version)
    return [ask(serving, path) for path in paths]
