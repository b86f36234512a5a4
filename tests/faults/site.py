"""The served site of every cell: documents on a small disk, a proxied back end, WebDAV and a disk cache."""

from __future__ import annotations

import os
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.support.tls import text_of

SIZES = {"small.txt": 1000, "middle.txt": 40_000, "large.txt": 300_000}
HUNG_NAME = "hanging.test"
PASSWORD = "u:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n"  # of "password"
HTACCESS = 'AuthType Basic\nAuthName x\nAuthUserFile "{disk}/passwords"\nRequire valid-user\n'
MODULES = ("proxy", "proxy_http", "dav", "dav_fs", "cache", "cache_disk")
# LogFormat of the log program: lines that fill a pipe soon
PADDING = "x" * 1000
CONF = (
    "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in MODULES)
    + """
EnableMMAP Off
Timeout 20
MaxKeepAliveRequests 0
GracefulShutdownTimeout 3
LogFormat "{padding} \\"%r\\" %>s \\"%{{User-Agent}}i\\"" wide
DocumentRoot "{disk}/www/htdocs"
<Directory "{disk}">
    Require all granted
    AllowOverride All
</Directory>
Alias /dav "{disk}/www/dav"
DavLockDB "{disk}/locks/db"
<Directory "{disk}/www/dav">
    Dav On
    DirectoryIndex disabled
    AllowOverride None
</Directory>
CacheRoot "{disk}/cache"
CacheEnable disk /back/cached
CacheDefaultExpire 60
ProxyTimeout 2
ProxyPass /back/named http://{name}:{back_end}/ retry=0 disablereuse=On
ProxyPass /back http://127.0.0.1:{back_end} retry=0
<Location "/named">
    Require forward-dns {name}
</Location>
"""
)
TLS = """
LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
SSLEngine on
SSLSessionCache none
SSLCertificateFile "{root}/server.crt"
SSLCertificateKeyFile "{root}/server.key"
Protocols h2 http/1.1
"""


def content(name: str, version: int, size: int) -> bytes:
    """Return a content that shows whether it is complete, and of which version."""
    line = f"{name} version {version}\n".encode()
    return line * max(size // len(line), 1)


def version_of(name: str, body: bytes) -> int | None:
    """Return the version of the complete content *body* of the document *name*; None if it is none."""
    first = body.partition(b"\n")[0].rpartition(b" ")[2]
    if not first.isdigit():
        return None
    version = int(first)
    return version if body == content(name, version, SIZES.get(name, 1000)) else None


def _own(path: Path) -> None:
    if os.getuid() == 0:
        shutil.chown(path, "www-data", "www-data")


def lay_out(disk: Path) -> None:
    """Write the site to the disk."""
    for name in ("www/htdocs/private", "www/dav", "locks", "cache"):
        (disk / name).mkdir(parents=True, exist_ok=True)
        _own(disk / name)
    write_documents(disk / "www/htdocs", 1)
    locks = disk.parent / "locks"
    locks.mkdir()
    _own(locks)
    (disk / "passwords").write_text(PASSWORD)
    (disk / "www/htdocs/private/.htaccess").write_text(HTACCESS.format(disk=disk))


def write_documents(directory: Path, version: int) -> None:
    """Write the documents of one version."""
    (directory / "private").mkdir(parents=True, exist_ok=True)
    for name, size in SIZES.items():
        (directory / name).write_bytes(content(name, version, size))
    (directory / "private/secret.txt").write_bytes(content("secret.txt", version, 1000))


def write_certificate(root: Path) -> None:
    """Write the certificate that `TLS` names."""
    (root / "server.crt").write_text(text_of(54, "conf/lo.crt"))
    (root / "server.key").write_text(text_of(54, "conf/lo.key"))


class _Pages(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: BackEnd

    def do_GET(self) -> None:
        # a pool that a hung back end has made grow would count as descriptors left
        is_late = not self.server.answers.is_set()
        if not self.server.answers.wait(30):
            return
        name = self.path.partition("?")[0].rpartition("/")[2]
        body = content(name, 1, SIZES.get(name, 1000))
        self.send_response(200)
        if "/cached" in self.path:
            self.send_header("Cache-Control", "max-age=2")
        self.send_header("Content-Length", str(len(body)))
        if is_late:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class BackEnd(ThreadingHTTPServer):
    """A back end whose documents are those of the site; a POST is sent back.

    Attributes:
        answers: while this event is not set, a GET gets no response.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Pages)
        self.answers = threading.Event()
        self.answers.set()

    def __enter__(self) -> BackEnd:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_problem: object) -> None:
        self.answers.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """Log nothing: a server under faults resets connections."""
