"""mod_md of one program with its own pebble: store, status, log and the requests to the authority."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import stat
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from tests.differential.servers import Program, ProgramProcess
from tests.support.pebble import Pebble, pebble
from whimbrel.testing.ports import free_ports

MODULES = "mpm_event authz_core dir alias ssl socache_shmcb md"
PREAMBLE = """\
ServerName localhost
Listen 127.0.0.1:{http}
Listen 127.0.0.1:{https}
PidFile {run}/pid
ErrorLog {run}/error_log
LogLevel info md:debug
DocumentRoot {run}/htdocs
MDStoreDir {run}/md
MDPortMap http:{http} https:{https}
MDCertificateAuthority {ca}
MDCACertificateFile {ca_file}
MDCertificateAgreement accepted
MDContactEmail me@example.org
MDPrivateKeys secp256r1
MDRetryDelay 1s
<Location /md-status>
SetHandler md-status
</Location>
"""
HOST = """\
<VirtualHost *:{http}>
ServerName {name}
{aliases}
</VirtualHost>
<VirtualHost *:{https}>
ServerName {name}
{aliases}
SSLEngine on
Protocols http/1.1 acme-tls/1
</VirtualHost>
"""
_CODE = re.compile(r"\[md:(\w+)\].*?(AH\d+)")
_REQUEST = re.compile(r" (GET|HEAD|POST) (/\S*) -> calling handler")
_DATE = re.compile(r"\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT")
_HEX = re.compile(r"\b[0-9a-fA-F]{14,}\b")


class ManagedProcess:
    """A program on a generated site with managed domains; see `managed`.

    Attributes:
        ca: the authority, for this program alone.
        http, https: its ports, where the authority validates.
    """

    def __init__(self, program: Program, run: Path, ca: Pebble, http_port: int, https: int) -> None:
        self.program, self.run, self.ca, self.http, self.https = program, run, ca, http_port, https
        self._begin = ca.log.stat().st_size if ca.log.exists() else 0
        self.process = ProgramProcess(program, run, run / "site.conf", run, http_port)

    def configure(self, text: str, *hosts: tuple[str, ...]) -> None:
        """Write a configuration: *text*, and a virtual host for http and for https of each of *hosts*."""
        values = {"http": self.http, "https": self.https, "run": self.run, "ca": self.ca.directory}
        values["ca_file"] = self.ca.ca_file if self.ca.management else "none"
        loads = "".join(
            f"LoadModule {name}_module {self.program.module_dir}/mod_{name}.so\n" for name in MODULES.split()
        )
        user = "User www-data\nGroup www-data\n" if os.getuid() == 0 else ""
        parts = [loads, user, PREAMBLE.format(**values), text.format(**values)]
        for name, *aliases in hosts:
            lines = f"ServerAlias {' '.join(aliases)}" if aliases else ""
            parts.append(HOST.format(name=name, aliases=lines, **values))
        (self.run / "site.conf").write_text("".join(parts))

    def start(self) -> None:
        """Start the program."""
        self.process.launch()

    def restart(self) -> None:
        """Restart gracefully; return when no process of the old configuration runs."""
        before = self._children()
        self.process.process.send_signal(signal.SIGUSR1)
        self.wait_for(lambda: self._children() and not before & self._children())

    def _children(self) -> set[str]:
        pid = self.process.process.pid
        return set(Path(f"/proc/{pid}/task/{pid}/children").read_text().split())

    def wait_for(self, condition: Callable[[], object], seconds: float = 60.0) -> None:
        """Wait for *condition*."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"{self.program.name}: {self.log()[-3000:]}"
            time.sleep(0.05)

    def log(self) -> str:
        """Return the error log."""
        path = self.run / "error_log"
        return path.read_text("latin-1") if path.exists() else ""

    def codes(self) -> Counter[str]:
        """Return the codes of mod_md in the error log with their levels."""
        return Counter(f"{level} {code}" for level, code in _CODE.findall(self.log()))

    def requests(self) -> Counter[str]:
        """Return the requests that the authority has received, without the names of resources."""
        log = self.ca.log.read_bytes()[self._begin :].decode("latin-1")
        return Counter(f"{method} {'/'.join(path.split('/')[:2])}" for method, path in _REQUEST.findall(log))

    def get(self, path: str) -> tuple[int, bytes]:
        """Return status and body of a response of the main server."""
        wire = http.client.HTTPConnection("127.0.0.1", self.http, timeout=10)
        wire.request("GET", path, headers={"Host": "localhost"})
        response = wire.getresponse()
        return response.status, response.read()

    def status(self, path: str = "/md-status") -> Any:
        """Return md-status without what differs from run to run."""
        return normal(json.loads(self.get(path)[1]), self)

    def store(self) -> dict[str, str]:
        """Return the files of the store with mode and owner."""
        found = {}
        for path in sorted((self.run / "md").rglob("*")):
            known = path.lstat()
            found[str(path.relative_to(self.run / "md"))] = f"{stat.filemode(known.st_mode)} {known.st_uid}"
        return found

    def load(self, path: str) -> Any:
        """Return a JSON file of the store."""
        return json.loads((self.run / "md" / path).read_bytes())


def normal(value: Any, process: ManagedProcess) -> Any:
    """Return JSON without dates, names and numbers of certificates, and ports."""
    if isinstance(value, dict):
        return {
            key: key.upper() if key in ("issuer-name", "ari-cert-id") else normal(each, process)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [normal(each, process) for each in value]
    if not isinstance(value, str):
        return value
    text = value.replace(process.ca.directory.rpartition("/")[0], "CA").replace(str(process.run), "RUN")
    return _HEX.sub("HEX", _DATE.sub("DATE", text))


class Authorities:
    """An authority for each program and its settings, which the tests of a module use one after the other;
    a context manager.  Each of them has an account of its own.
    """

    def __init__(self) -> None:
        self._running: dict[str, tuple[Pebble, int, int]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        self._stack.close()

    def of(self, program: Program, settings: Mapping[str, Any]) -> tuple[Pebble, int, int]:
        """Return a running authority, and the ports at which it validates."""
        key = f"{program.name} {settings}"
        if key not in self._running:
            ports = free_ports(2)
            folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="pebble-")))
            folder.chmod(0o755)  # servers read its certificate as another user
            ca = self._stack.enter_context(pebble(folder, *ports, 0, **settings))
            self._running[key] = (ca, ports[0], ports[1])
        return self._running[key]


@contextmanager
def managed(
    program: Program, authorities: Authorities, *, has_authority: bool = True, **settings: Any
) -> Iterator[ManagedProcess]:
    """Yield a process of *program*, which the caller configures and starts, with its authority."""
    base = Path(tempfile.mkdtemp(prefix="managed-"))
    base.chmod(0o755)
    try:
        (base / "run/htdocs").mkdir(parents=True)
        none = Pebble("https://127.0.0.1:1/dir", 0, base / "none.pem")
        places = authorities.of(program, settings) if has_authority else (none, *free_ports(2))
        process = ManagedProcess(program, base / "run", *places)
        try:
            yield process
        finally:
            if hasattr(process.process, "process"):
                process.process.__exit__()
    finally:
        shutil.rmtree(base, ignore_errors=True)
