"""Imports and function calls of a configuration check: neither may grow unnoticed.

Imports dominate the start-up time.  Counts of modules and of calls are the same on every machine and under
any load, times are not.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import whimbrel
from tests.performance.counting import count_calls
from whimbrel.base.dialect import V24
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.modules import ALL
from whimbrel.modules.core.spec import server_spec
from whimbrel.testing.ports import free_port

# Each takes more than a millisecond, or imports others that do.
HEAVY = frozenset(
    "_ctypes _hashlib _ssl asyncio bcrypt calendar concurrent.futures contextlib copy ctypes dataclasses "
    "datetime dd "
    "dis email h2 hashlib html http inspect "
    "ipaddress json linecache locale logging passlib pcre2 pickle random rich selectors shutil signal "
    "socket ssl subprocess tempfile threading "
    "tokenize traceback typer typing urllib urllib.parse uuid uvloop weakref zlib".split()
)
# Modules of this package that only respond to requests, or only serve.
SERVING = (
    "whimbrel.http.syntax.head",
    "whimbrel.http.http2.protocol",
    "whimbrel.expr.parser",
    "whimbrel.modules.support.auth.passwords",
    "whimbrel.modules.core.handler",
    "whimbrel.engine.engine",
    "whimbrel.engine.plan.plan",
    "whimbrel.engine.pipeline.process",
    "whimbrel.engine.request",
    "whimbrel.server",
    "whimbrel.cli.signals",
)
MAX_MODULES = 150
MAX_MODULES_TO_SERVE = 504  # all modules, without those that Python imports at its start
NOT_TO_SERVE = frozenset(
    "bz2 copy cryptography dataclasses email h2 html html.entities http lzma passlib psycopg pymysql random "
    "secrets shutil sqlite3 tempfile timeit "
    "unicodedata urllib uuid whimbrel.cli.dumps whimbrel.server.http2.connection".split()
)
CALLS_PER_HOST = 150
MODULES = (
    "mpm_event log_config unixd authn_core authn_file authz_core authz_user auth_basic mime dir autoindex "
    "include status"
).split()
PLAIN = """ServerName localhost
PidFile pid
Listen 127.0.0.1:8080
LogFormat "%h %l %u %t \\"%r\\" %>s %b" common
CustomLog access_log common
<Directory />
    AllowOverride None
    Require all denied
</Directory>
<Directory "{root}/htdocs">
    Require all granted
    Options +Indexes +Includes +FollowSymLinks
    AddType text/html .shtml
    AddOutputFilter INCLUDES .shtml
</Directory>
<Directory "{root}/htdocs/private">
    AuthType Basic
    AuthName "A place"
    AuthUserFile "{root}/passwd"
    Require valid-user
</Directory>
<Location /server-status>
    SetHandler server-status
</Location>
"""


def write_configuration(root: Path, more: str = "") -> Path:
    """Write a minimal configuration and *more*; return its file."""
    for directory in ("htdocs", "logs"):
        (root / directory).mkdir(exist_ok=True)
    loads = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in MODULES)
    (root / "httpd.conf").write_text(f"{loads}ServerRoot {root}\n{PLAIN.format(root=root)}{more}")
    return root / "httpd.conf"


def imported_modules(root: Path, *, serves: bool = False) -> list[str]:
    """Return the modules that ``-t``, or a server that is ready to fork, imports beyond Python's own."""
    path, ready = write_configuration(root), ""
    if serves:
        ready = "from whimbrel.server.master import single_process; single_process.serve = lambda master: 0; "
        (root / "mime.types").write_text("text/html html\n")
        more = f"TypesConfig mime.types\n{'User www-data' if os.getuid() == 0 else ''}\n"
        path.write_text(path.read_text().replace(":8080", f":{free_port()}") + more)
    code = (
        f"import os, sys; before = set(sys.modules); from whimbrel.cli.httpd import run; {ready}"
        f"status = run(['whimbrel-httpd', '-d', {str(root)!r}, '-f', {str(path)!r}, "
        f"{'-X' if serves else '-t'!r}]); "
        "print(status, *sorted(set(sys.modules) - before))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(whimbrel.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    status, *names = done.stdout.split()
    assert (status, done.stderr) == ("0", "" if serves else "Syntax OK\n")
    return names


def test_a_check_imports_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    names = imported_modules(tmp_path)
    assert "whimbrel.modules.filters.mod_include" in names
    assert not HEAVY & set(names)
    assert not [name for name in names if name.startswith(SERVING)]
    own_modules = [name for name in names if name.startswith("whimbrel")]
    assert len(own_modules) <= MAX_MODULES


@pytest.mark.parametrize("words", [("check",), ("check", "--format", "json")])
def test_a_check_of_an_upgrade_does_without_a_server(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A server takes a third of the time of a short check; the text that 2.4 refuses is loaded by one."""
    write_configuration(tmp_path, "DefaultType text/plain\n")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "whimbrel", *words, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert done.returncode == 1 and "whimbrel.upgrade.check.check" in names
    assert not names & {"asyncio", "pydantic", "whimbrel.engine.engine", "whimbrel.verify.side"}


def test_a_server_imports_nothing_that_its_configuration_cannot_ask_for(tmp_path: Path) -> None:
    names = imported_modules(tmp_path, serves=True)
    assert "whimbrel.engine.pipeline.process" in names
    assert not NOT_TO_SERVE & set(names)
    assert len(names) <= MAX_MODULES_TO_SERVE


def test_clients_may_connect_before_the_server_is_imported(tmp_path: Path) -> None:
    """The listening sockets need little beyond what a check imports."""
    path = write_configuration(tmp_path)
    if os.getuid() == 0:
        path.write_text(path.read_text() + "User www-data\n")
    code = (
        "import sys; from whimbrel.cli.httpd import run; from whimbrel.server.master import sockets\n"
        "def bind_all(*_arguments):\n    print(*sorted(sys.modules))\n    raise SystemExit\n"
        f"sockets.bind_all = bind_all; run(['whimbrel-httpd', '-d', {str(tmp_path)!r}, '-f', {str(path)!r}])"
    )
    (tmp_path / "mime.types").write_text("text/html html\n")
    path.write_text(path.read_text() + "TypesConfig mime.types\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(whimbrel.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    names = set(done.stdout.split())
    assert "whimbrel.server.master.sockets" in names, done.stderr
    assert not names & HEAVY
    servers = {"", ".master", ".master.messages", ".master.pidfile", ".master.privileges", ".master.sockets"}
    assert {name for name in names if name.startswith("whimbrel.server")} == {
        f"whimbrel.server{name}" for name in servers
    }


def check(options: LoadOptions) -> None:
    """Read a configuration as -t does."""
    server_spec(load(options, ALL, V24))


def hosts(count: int) -> str:
    """Return *count* virtual hosts."""
    return "".join(
        f'<VirtualHost *>\nServerName h{n}.example.org\nDocumentRoot "htdocs"\n</VirtualHost>\n'
        for n in range(count)
    )


def test_what_a_virtual_host_costs(tmp_path: Path) -> None:
    """Compare the calls of a thousand more hosts; the second reading counts, when everything is compiled."""
    counts = []
    for count in (500, 500, 1500):
        options = LoadOptions(
            server_root=str(tmp_path), file=str(write_configuration(tmp_path, hosts(count))), check_only=True
        )
        counts.append(count_calls(partial(check, options)))
    assert 0 < (counts[2] - counts[1]) / 1000 <= CALLS_PER_HOST
