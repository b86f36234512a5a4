"""One site with a virtual host for each row of the table of modules, and the programs behind it."""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.differential.module_row import Row
from tests.differential.servers import APACHE, WHIMBREL, Program, ProgramProcess
from tests.support.site import write_files
from whimbrel.testing.ports import free_port

WHIMBREL_22: Final = Program("whimbrel", (*WHIMBREL.argv, "--dialect", "2.2"), WHIMBREL.module_dir)
BUILT_IN: Final = frozenset("so watchdog log_config logio version unixd core http".split())
BASE: Final = {
    "2.4": "mpm_event authn_core authz_core authz_host access_compat",
    "2.2": "authn_file authn_default authz_host authz_user authz_default auth_basic log_config",
}
FRAME: Final = """\
{loads}
ServerRoot "@"
ServerName localhost
Listen 127.0.0.1:%PORT%
PidFile @/run/pid
ErrorLog @/run/error_log
{user}
TypesConfig @/mime.types
DocumentRoot @/htdocs
<Directory @>
    Options ExecCGI FollowSymLinks Includes
    {grant}
</Directory>
AddHandler cgi-script .cgi
{main}
<VirtualHost *:%PORT%>
    ServerName localhost
</VirtualHost>
{hosts}
"""
FILES: Final = {
    "htdocs/index.html": "front\n",
    "htdocs/a.txt": "plain a\n",
    "htdocs/long.txt": "a line\n" * 200,
    "htdocs/env.cgi": "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nenv | sort\n",
    "mime.types": "text/html html htm shtml\ntext/plain txt\nimage/gif gif\n",
    # the passwords are wonder and builder
    "users": "alice:{SHA}w3QkzGJswDXW5OKZHAJw0FELjfM=\nbob:{SHA}9SMYoF5RilWWASry7TjeaKwmpGg=\n"
    "root:{SHA}w3QkzGJswDXW5OKZHAJw0FELjfM=\n",
    "groups": "admin: alice\n",
}
NEEDS: Final[Mapping[str, str]] = {
    "root": "" if os.getuid() == 0 else "changes the user, which needs root",
}


def unchunked(response: bytes) -> bytes:
    """Return a response whose body is not in chunks."""
    head, end, body = response.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" not in head.lower():
        return response
    pieces = []
    while body:
        size, _, rest = body.partition(b"\r\n")
        count = int(size.partition(b";")[0], 16)
        if not count:
            break
        pieces.append(rest[:count])
        body = rest[count + 2 :]
    return head + end + b"".join(pieces)


def loads(rows: Sequence[Row], version: str) -> str:
    """Return the LoadModule lines of *rows* in the order in which they are named."""
    names = [*BASE[version].split(), "mime", "alias", "dir"]
    for row in rows:
        names += [*row.loads.split(), row.module.removeprefix("mod_")]
    wanted = [name for name in dict.fromkeys(names) if name not in BUILT_IN]
    return "".join(f"LoadModule {name}_module {WHIMBREL.module_dir}/mod_{name}.so\n" for name in wanted)


def configuration(rows: Sequence[Row], version: str) -> str:
    """Return the text for *rows*; ``@`` and ``%NAME%`` are replaced later."""
    hosts = "".join(
        f"<VirtualHost *:%PORT%>\nServerName {row.host}\n{row.conf}\n</VirtualHost>\n" for row in rows
    )
    main = "\n".join(dict.fromkeys(row.main for row in rows if row.main))
    return FRAME.format(
        loads=loads(rows, version),
        user="User www-data\nGroup www-data" if os.getuid() == 0 else "",
        grant="Require all granted" if version == "2.4" else "AllowOverride None",
        main=("DefaultRuntimeDir @/run\n" if version == "2.4" else "NameVirtualHost *:%PORT%\n") + main,
        hosts=hosts,
    )


class ModuleSite(ProgramProcess):
    """A server of *rows*; a context manager."""

    def __init__(
        self, program: Program, root: Path, rows: Sequence[Row], version: str, ports: Mapping[str, int]
    ) -> None:
        super().__init__(program, root, root / "httpd.conf", root / "run", free_port())
        files = dict(FILES)
        for row in rows:
            files |= row.files
        write_files(root, {**files, "run/.keep": "", "cache/.keep": "", "homes/.keep": ""})
        text = configuration(rows, version).replace("@", str(root))
        for name, port in {**ports, "PORT": self.port}.items():
            text = text.replace(f"%{name}%", str(port))
        self.conf.write_text(text)
        for path in (root, *root.rglob("*")):
            path.chmod(0o755 if path.is_dir() or path.suffix in (".cgi", ".sh") else 0o644)
        for name in ("run", "cache"):
            if os.getuid() == 0:
                shutil.chown(root / name, "www-data")

    def ask(self, row: Row) -> str:
        """Send the requests of a row; return the response of the last, or the log that shows the work."""
        text = ""
        for _ in range(row.times):
            with socket.create_connection(("127.0.0.1", self.port), timeout=30) as wire:
                wire.sendall(row.head())
                received = b""
                while data := wire.recv(65536):
                    received += data
            text = unchunked(received).decode("latin-1")
        return text

    def wait_for_log(self, name: str, size: int = 0) -> str:
        """Return a log file below the server root, as soon as it is longer than *size*."""
        path, end = self.server_root / name, time.monotonic() + 5
        while time.monotonic() < end and not (path.exists() and path.stat().st_size > size):
            time.sleep(0.02)
        return path.read_text("latin-1") if path.exists() else ""


def programs(version: str) -> list[Program]:
    """Return the programs that serve rows of *version*."""
    if version == "2.2":
        return [WHIMBREL_22]
    return [APACHE, WHIMBREL] if APACHE.present else [WHIMBREL]
