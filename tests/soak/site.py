"""The site of the load: every kind of response over HTTP, TLS and HTTP/2 on one server."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.hostile.server import HostileSite, Program, ServerProcess
from tests.soak.backend import BackEnd
from tests.soak.probe import PROBED
from tests.support.tls import text_of
from whimbrel.testing.ports import free_port

MODULES = "ssl dav dav_fs cache cache_disk proxy proxy_http".split()
CONF = """\
{loads}
Protocols h2c http/1.1
KeepAliveTimeout 5
MaxKeepAliveRequests 500
H2WebSockets on
ExtendedStatus On
CacheRoot "{stores}/cache"
CacheEnable disk /cached/
CacheIgnoreQueryString On
CacheLock On
CacheLockPath "{stores}/locks"
DavLockDB "{stores}/dav/lockdb"
ProxyPass /cached/ http://127.0.0.1:{backend}/cached/
ProxyPass /proxy/ http://127.0.0.1:{backend}/
ProxyPass /ws/ ws://127.0.0.1:{backend}/
ErrorDocument 404 /missing.shtml
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
AddOutputFilterByType DEFLATE text/html
Alias /dav "{stores}/files"
<Directory "{stores}/files">
    Dav On
    Require all granted
    DirectoryIndex disabled
</Directory>
<Location /server-status>
    SetHandler server-status
</Location>
<Location /private>
    AuthType Basic
    AuthName "soak"
    AuthUserFile "%ROOT%/users"
    Require valid-user
</Location>
SSLSessionCache none
Listen 127.0.0.1:{tls}
<VirtualHost 127.0.0.1:{tls}>
    ServerName localhost
    Protocols h2 http/1.1
    SSLEngine on
    SSLCertificateFile "%ROOT%/server.crt"
    SSLCertificateKeyFile "%ROOT%/server.key"
</VirtualHost>
"""
BIG = b"0123456789abcdef" * 20_000
DOCUMENTS = {
    "index.html": b"front\n",
    "a.txt": b"plain a\n",
    **{f"f/{number}.txt": b"%d\n" % number * (1 + number % 40) for number in range(100)},
    "big.bin": BIG,
    "page.shtml": b'<p><!--#echo var="QUERY_STRING" --> <!--#include virtual="/a.txt" --></p>\n',
    "missing.shtml": b'<p>no <!--#echo var="REQUEST_URI" --></p>\n',
    "echo.cgi": b"#!/bin/sh\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'\ncat\necho \"$QUERY_STRING\"\n",
    "slow.cgi": b"#!/bin/sh\nsleep 0.3\nprintf 'Content-Type: text/plain\\r\\n\\r\\nslow\\n'\n",
    "fails.cgi": b"#!/bin/sh\nprintf 'no head'\nexit 1\n",
    "private/a.txt": b"private\n",
    "list/b.txt": b"b\n",
}
USERS = "anna:{SHA}0DPiKuNIrrVmD8IUCuw1hQxNqZc=\n"  # the password is "admin"


@dataclass(frozen=True)
class Ports:
    """Ports of a server of the load on the loopback: HTTP/1.1 and h2c, and TLS with HTTP/2."""

    plain: int
    tls: int


class LoadedServer(ServerProcess):
    """A server of the site. *stores* has its cache, its WebDAV files and their locks: servers may share it.

    Attributes:
        ports: where it listens.
    """

    def __init__(self, backend: int, stores: Path, processes: int = 2, program: Program = PROBED) -> None:
        self.stores = stores
        tls = free_port()
        conf = CONF.format(
            loads="".join(f"LoadModule {m}_module /usr/lib/apache2/modules/mod_{m}.so\n" for m in MODULES),
            backend=backend,
            stores=stores,
            tls=tls,
        )
        super().__init__(program, HostileSite(conf, DOCUMENTS, processes))
        self.ports = Ports(self.port, tls)
        (self.root / "server.crt").write_text(text_of(54, "conf/lo.crt"))
        (self.root / "server.key").write_text(text_of(54, "conf/lo.key"))
        (self.root / "users").write_text(USERS)


def prepare_stores(stores: Path) -> None:
    """Make the directories that servers write to, for the user of the workers."""
    stores.chmod(0o755)
    for name in ("cache", "locks", "dav", "files"):
        path = stores / name
        path.mkdir(exist_ok=True)
    counter = stores / "files/counter"
    counter.write_bytes(b"0\n")
    if os.getuid() == 0:
        for path in (*stores.iterdir(), counter):
            shutil.chown(path, "www-data", "www-data")


@contextmanager
def loaded_servers(
    stores: Path, count: int = 1, processes: int = 2, program: Program = PROBED
) -> Iterator[list[LoadedServer]]:
    """Run *count* servers on the same stores, in front of one back end."""
    prepare_stores(stores)
    with ExitStack() as stack:
        backend = stack.enter_context(BackEnd())
        yield [
            stack.enter_context(LoadedServer(backend.port, stores, processes, program)) for _ in range(count)
        ]
