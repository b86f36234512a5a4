"""One site with a virtual host for each row of the table of modules, and the programs behind it."""

from __future__ import annotations

import os
import re
import shutil
import socket
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tests.differential.module_row import Row
from tests.differential.servers import APACHE, MODULE_DIR, WHIMBREL, Program, ProgramProcess
from tests.support.cache_server import CacheServer
from tests.support.dbm_samples import ALICE, write_sdbm
from tests.support.ldap_directory import MISSING as LDAP_MISSING
from tests.support.ldap_directory import LdapDirectory
from tests.support.passed_sockets import SocketReceiver
from tests.support.program_backends import ProgramBackend
from tests.support.site import write_files
from whimbrel.testing.ports import free_port

WHIMBREL_22: Final = Program("whimbrel", (*WHIMBREL.argv, "--dialect", "2.2"), WHIMBREL.module_dir)
BUILT_IN: Final = {
    "2.4": frozenset("so watchdog log_config logio version unixd core http".split()),
    "2.2": frozenset("so core http".split()),
}
BASE: Final = {
    "2.4": "authn_core authz_core authz_host access_compat",
    "2.2": "authn_file authn_default authz_host authz_user authz_default auth_basic log_config",
}
FLAGS: Final = re.DOTALL | re.MULTILINE
USED_BY_OTHERS: Final = "dbd ldap session cache dav proxy proxy_http proxy_fcgi"
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
    "": "",
    "root": "" if os.getuid() == 0 else "changes the user, which needs root",
    "ldap": LDAP_MISSING or ("" if find_spec("ldap") else "python-ldap is not installed"),
    "lua": "" if find_spec("lupa") else "lupa is not installed",
    "ciphers": "" if find_spec("cryptography") else "the extra session-crypto is not installed",
    "memcache": "" if shutil.which("memcached") else "memcached is not installed",
    "redis": "" if shutil.which("redis-server") else "redis-server is not installed",
    **{
        name: "" if Path(MODULE_DIR, f"mod_{name}.so").exists() else f"libapache2-mod-{name} is not installed"
        for name in ("rpaf", "xsendfile")
    },
}
TABLES: Final = """\
CREATE TABLE users (name TEXT, password TEXT);
CREATE TABLE groups (name TEXT, grp TEXT);
CREATE TABLE session (key TEXT, value TEXT, expiry INTEGER);
"""


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
    """Return the LoadModule lines of *rows*, after the modules that others need to be loaded."""
    process = "mpm_" + (rows[0].process or "event")
    mpm = process if version == "2.4" else ""
    names = [*([mpm] if mpm else []), *BASE[version].split(), "mime", "alias", "dir"]
    together = {name for row in rows for name in (*row.loads.split(), row.module.removeprefix("mod_"))}
    names += [name for name in USED_BY_OTHERS.split() if name in together]
    for row in rows:
        names += [*row.loads.split(), row.module.removeprefix("mod_")]
    wanted = [name for name in dict.fromkeys(names) if name not in BUILT_IN[version]]
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


def _filled(text: str, root: Path, ports: Mapping[str, object]) -> str:
    """Return *text* with the server root and the ports of this run."""
    for name, port in ports.items():
        text = text.replace(f"%{name}%", str(port))
    return text.replace("@/", f"{root}/").replace("@>", f"{root}>").replace('"@"', f'"{root}"')


def _write_databases(root: Path) -> None:
    """Write users and groups as databases: alice, with the password wonder, in the group admin."""
    write_sdbm(root / "dbm-users", (b"alice", ALICE))
    write_sdbm(root / "dbm-groups", (b"alice", b"admin"))
    with sqlite3.connect(root / "run/data.db") as database:
        database.executescript(TABLES)
        database.execute("INSERT INTO users VALUES ('alice', ?)", (ALICE.decode(),))
        database.execute("INSERT INTO groups VALUES ('alice', 'admin')")
    database.close()


@contextmanager
def running_backends(directory: Path) -> Iterator[dict[str, object]]:
    """Run the programs behind the rows; yield their ports and places by name."""
    directory.chmod(0o755)
    with ExitStack() as stack:
        ports = {
            kind.upper(): stack.enter_context(ProgramBackend(kind)).port
            for kind in ("fcgi", "scgi", "uwsgi", "ajp")
        }
        places: dict[str, object] = {**ports, "FDPASS": directory / "passed"}
        stack.enter_context(SocketReceiver(directory / "passed"))
        for kind in ("memcache", "redis"):
            if not NEEDS[kind]:
                cache = CacheServer(kind, directory)
                cache.start()
                stack.callback(cache.stop)
                places[kind.upper()] = cache.port
        if not NEEDS["ldap"]:
            people = LdapDirectory(directory / "ldap")
            people.start()
            stack.callback(people.kill)
            places["LDAP"] = people.port
        yield places


class ModuleSite(ProgramProcess):
    """A server of *rows*; a context manager."""

    def __init__(
        self, program: Program, root: Path, rows: Sequence[Row], version: str, ports: Mapping[str, object]
    ) -> None:
        super().__init__(program, root, root / "httpd.conf", root / "run", free_port())
        ports = {**ports, "PORT": self.port}
        files = dict(FILES)
        for row in rows:
            files |= {name: _filled(text, root, ports) for name, text in row.files.items()}
        write_files(root, {**files, "run/.keep": "", "cache/.keep": "", "homes/.keep": ""})
        _write_databases(root)
        if "FDPASS" in ports:
            (root / "passed").mkdir()
            (root / "passed/socket").symlink_to(str(ports["FDPASS"]))
        self.conf.write_text(_filled(configuration(rows, version), root, ports))
        for path in (root, *root.rglob("*")):
            if path.is_symlink():
                continue
            path.chmod(0o755 if path.is_dir() or path.suffix in (".cgi", ".sh") else 0o644)
        for name in ("run", "cache"):
            if os.getuid() == 0:
                shutil.chown(root / name, "www-data")
        if os.getuid() == 0:
            shutil.chown(root / "run/data.db", "www-data")
        self.ports = ports

    def ask(self, row: Row) -> str:
        """Send the requests of a row; return the response of the last."""
        text = ""
        for _ in range(row.times):
            received = b""
            with socket.create_connection(("127.0.0.1", self.port), timeout=20) as wire:
                wire.sendall(row.request(self.filled))
                while data := wire.recv(65536):
                    received += data
            text = unchunked(received).decode("latin-1")
        return text

    def evidence(self, row: Row) -> str:
        """Return the text that shows the work of the row's module: the response, or its log."""
        response = self.ask(row)
        if not row.log:
            return response
        end = time.monotonic() + 5
        while not re.search(row.shows, text := self._text(row.log), FLAGS) and time.monotonic() < end:
            time.sleep(0.02)
        return text

    def _text(self, name: str) -> str:
        path = self.server_root / name
        return path.read_text("latin-1") if path.exists() else ""

    def filled(self, text: str) -> str:
        """Return *text* with the places of this server."""
        return _filled(text, self.server_root, self.ports)


def programs(version: str) -> list[Program]:
    """Return the programs that serve rows of *version*."""
    if version == "2.2":
        return [WHIMBREL_22]
    return [APACHE, WHIMBREL] if APACHE.present else [WHIMBREL]
