"""Debian's stock site: a copy of /etc/apache2 with another port, document root and run directory."""

from __future__ import annotations

import os
import re
import shutil
import socket
import zlib
from collections.abc import Sequence
from pathlib import Path

from tests.differential.exchange import IGNORED
from tests.differential.servers import Program, ProgramProcess
from tests.differential.site import MTIME
from whimbrel.testing.ports import free_port

STOCK = Path("/etc/apache2")
WORDS = "godwit whimbrel curlew sanderling dunlin knot\n"
FILES: dict[str, bytes] = {
    "index.html": f"<html><body><p>{WORDS * 40}</p></body></html>\n".encode(),
    "style.css": ("p { color: black }\n" * 60).encode(),
    "code.js": ("var a = 1; // plover\n" * 60).encode(),
    "pixel.png": bytes(range(256)) * 8,
    "words.txt": (WORDS * 100).encode(),
    "tiny.txt": b"knot\n",
    "feed.xml": b"<a>" + WORDS.encode() * 30 + b"</a>\n",
    "list/one.txt": b"1\n",
    "list/two.html": b"<p>2</p>\n",
    "list/deep/three.txt": b"3\n",
    ".htpasswd": b"no\n",
}
# Parts of replies that may differ: products, ports, boundaries.
_PRODUCT = re.compile(rb"(?:Apache|Whimbrel)/[0-9.]+ \([^)]*\)")
_PORT = re.compile(rb"(Port |localhost:)\d+")
_BOUNDARY = re.compile("boundary=(.*)")
Reply = tuple[str, tuple[tuple[str, str], ...], bytes]


def write_documents(base: Path) -> None:
    """Write the documents below *base*/www/html, readable by the server's user, all of the same time."""
    for name, data in FILES.items():
        path = base / "www/html" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for path in (base, *sorted(base.rglob("*"), reverse=True)):
        os.chmod(path, 0o755 if path.is_dir() else 0o644)
        os.utime(path, (MTIME, MTIME))


class StockServer(ProgramProcess):
    """Process of *program* on its copy of the stock tree; a context manager."""

    def __init__(
        self,
        program: Program,
        base: Path,
        extra: str = "",
        without: Sequence[str] = (),
        modules: Sequence[str] = (),
    ) -> None:
        """*extra* is a further file of conf-enabled; *without*: modules to disable, *modules*: to enable."""
        port = free_port()
        self.base, self.root = base, base / f"{program.name}-{port}"
        super().__init__(program, self.root, self.root / "apache2.conf", self.root / "run", port)
        shutil.copytree(STOCK, self.root, symlinks=True)
        for name in without:
            for suffix in ("load", "conf"):
                (self.root / "mods-enabled" / f"{name}.{suffix}").unlink(missing_ok=True)
        for name in modules:
            for path in (self.root / "mods-available").glob(f"{name}.*"):
                shutil.copyfile(path, self.root / "mods-enabled" / path.name)
        self._edit("ports.conf", (("Listen 80\n", f"Listen 127.0.0.1:{self.port}\nServerName localhost\n"),))
        self._edit("apache2.conf", (("/var/www/", f"{base}/www/"),))
        self._edit(
            "sites-available/000-default.conf", (("*:80>", f"*:{self.port}>"), ("/var/www/", f"{base}/www/"))
        )
        (self.root / "conf-enabled/zz-extra.conf").write_text(extra)
        (self.run / "socks").mkdir(parents=True)
        if os.getuid() == 0:
            shutil.chown(self.run / "socks", "www-data")  # as apache2ctl does, for mod_cgid
        variables = {
            **{name: str(self.run) for name in ("APACHE_RUN_DIR", "APACHE_LOCK_DIR", "APACHE_LOG_DIR")},
            **dict.fromkeys(("APACHE_RUN_USER", "APACHE_RUN_GROUP"), "www-data"),
            "APACHE_PID_FILE": str(self.run / "pid"),
        }
        exports = "".join(f"export {name}={value}\n" for name, value in variables.items())
        (self.root / "envvars").write_text(exports)  # Whimbrel reads it, apache2ctl would
        self.environment = {**variables, "LANG": "C"}

    def _edit(self, name: str, changes: tuple[tuple[str, str], ...]) -> None:
        path = self.root / name
        text = path.read_text()
        for old, new in changes:
            text = text.replace(old, new)
        path.write_text(text)

    def ask(self, request: str) -> Reply:
        """Send *request* (lines of a head) on a connection of its own; return the reply."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall((request.replace("\n", "\r\n") + "\r\n\r\n").encode("latin-1"))
            parts = []
            while data := connection.recv(65536):
                parts.append(data)
        return reduced(b"".join(parts), head_only=request.startswith("HEAD"))


def reduced(data: bytes, *, head_only: bool = False) -> Reply:
    """Return the status line, the fields that count ordered by name, and the decoded body."""
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = _PORT.sub(rb"\1N", head).decode("latin-1").split("\r\n")
    fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    for name in IGNORED:
        fields.pop(name, None)
    boundary = _BOUNDARY.search(fields.get("content-type", ""))
    if boundary is not None:
        fields["content-type"], fields["content-length"] = "multipart/byteranges", "varies"
        body = body.replace(boundary[1].encode(), b"BOUNDARY")
    if "allow" in fields:
        fields["allow"] = ",".join(sorted(fields["allow"].split(",")))
    if fields.get("transfer-encoding") == "chunked" and not head_only:
        body = _unchunked(body)
    if fields.get("content-encoding") == "gzip":
        fields["content-length" if "content-length" in fields else "transfer-encoding"] = "varies"
        is_part = "content-range" in fields
        if is_part:
            fields["content-range"] = "varies"
        body = zlib.decompress(body, 31) if body and not is_part else b""
    elif _PRODUCT.search(body):
        fields["content-length"] = "varies"
    return first, tuple(sorted(fields.items())), _PORT.sub(rb"\1N", _PRODUCT.sub(b"PRODUCT", body))


def _unchunked(body: bytes) -> bytes:
    out = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        count = int(size, 16)
        out, body = out + body[:count], body[count + 2 :]
        if not count:
            break
    return out
