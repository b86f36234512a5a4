"""A server under attack: Whimbrel or apache2 on a loopback port with a memory limit."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from whimbrel.testing.ports import free_port

MEMORY_LIMIT = 4 << 30  # bytes of address space of each process
MODULES = (
    "mpm_event authn_core authn_file authz_core authz_host authz_user auth_basic alias autoindex cgi "
    "deflate dir env filter headers http2 "
    "include info mime negotiation rewrite setenvif status".split()
)
FRAME = """\
{loads}{user}ServerRoot "{root}"
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {logs}/pid
DefaultRuntimeDir {logs}
ErrorLog {logs}/error_log
LogFormat "%h %l %u %t \\"%r\\" %>s %b \\"%{{Referer}}i\\" \\"%{{User-Agent}}i\\"" combined
CustomLog {logs}/access_log combined
TypesConfig {root}/mime.types
DocumentRoot "{root}/htdocs"
StartServers {processes}
ServerLimit {processes}
ThreadsPerChild 64
MaxRequestWorkers {workers}
MinSpareThreads 1
MaxSpareThreads {workers}
<Directory "{root}/htdocs">
    Require all granted
    Options +ExecCGI +Indexes +Includes
    AddHandler cgi-script .cgi
</Directory>
{conf}
"""


@dataclass(frozen=True)
class Program:
    """A program with httpd's command line."""

    name: str
    argv: tuple[str, ...]

    @property
    def is_present(self) -> bool:
        """True if it is installed on this machine."""
        return shutil.which(self.argv[0]) is not None


APACHE = Program("apache2", ("/usr/sbin/apache2",))
WHIMBREL = Program(
    "whimbrel",
    (sys.executable, "-c", "from whimbrel.cli.httpd import main; main()", "--builtin", "debian"),
)


@dataclass
class HostileSite:
    """Served content: configuration after `FRAME` (%ROOT% is the server root), documents by name (executable:
    .cgi).
    """

    conf: str = ""
    documents: dict[str, bytes] = field(
        default_factory=lambda: {"index.html": b"front\n", "a.txt": b"plain a\n"}
    )
    processes: int = 1


class ServerProcess:
    """*program* serving *site*; a context manager. `errors` is the error log, `access` the access log."""

    def __init__(self, program: Program, site: HostileSite) -> None:
        self.program, self.port = program, free_port()
        self.root = Path(tempfile.mkdtemp(prefix="whimbrel-hostile-"))
        self.root.chmod(0o755)
        self.logs = self.root / "logs"
        self.logs.mkdir()
        for name, data in site.documents.items():
            self.write(name, data)
        (self.root / "mime.types").write_text("text/html html\ntext/plain txt\n")
        loads = "".join(f"LoadModule {m}_module /usr/lib/apache2/modules/mod_{m}.so\n" for m in MODULES)
        self.conf = self.root / "httpd.conf"
        self.conf.write_text(
            FRAME.format(
                loads=loads,
                user="User www-data\nGroup www-data\n" if os.getuid() == 0 else "",
                root=self.root,
                port=self.port,
                logs=self.logs,
                processes=site.processes,
                workers=64 * site.processes,
                conf=site.conf.replace("%ROOT%", str(self.root)),
            )
        )

    def write(self, name: str, data: bytes, seconds: float = 1_600_000_000.0) -> Path:
        """Write a document, last modified at *seconds*."""
        path = self.root / "htdocs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if name.endswith(".cgi"):
            path.chmod(0o755)
        os.utime(path, (seconds, seconds))
        return path

    def __enter__(self) -> ServerProcess:
        argv = [*self.program.argv, "-d", str(self.root), "-f", str(self.conf), "-DFOREGROUND"]
        with (self.logs / "output").open("wb") as sink:
            self.process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                cwd=self.root,
                start_new_session=True,
                preexec_fn=_limit_memory,
            )
        end = time.monotonic() + 30
        while self.process.poll() is None and time.monotonic() < end:
            with socket.socket() as probe:
                if (self.logs / "pid").exists() and probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.02)
        output = self.output
        self.__exit__(None, None, None)
        raise RuntimeError(f"{self.program.name} did not start: {output}")

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(5)
        shutil.rmtree(self.root, ignore_errors=True)

    @property
    def output(self) -> str:
        """Its output and its error log."""
        return "".join(
            p.read_text("latin-1") for p in (self.logs / "output", self.logs / "error_log") if p.exists()
        )

    @property
    def access(self) -> list[str]:
        """The lines of the access log."""
        path = self.logs / "access_log"
        return path.read_text("latin-1").splitlines() if path.exists() else []

    def workers(self) -> list[int]:
        """Return the process IDs of the workers."""
        task = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in task.read_text().split()] if task.exists() else []

    def peak_memory(self) -> float:
        """Return the maximum resident memory of one worker since `reset_peak`, in MB."""
        return max((_status_kilobytes(pid, "VmHWM") for pid in self.workers()), default=0) / 1024

    def reset_peak(self) -> None:
        """Start a new `peak_memory`."""
        for pid in self.workers():
            Path(f"/proc/{pid}/clear_refs").write_text("5")

    def connect(self, timeout: float = 30.0) -> socket.socket:
        """Open a connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def exchange(self, *pieces: bytes, pause: float = 0.02, timeout: float = 10.0) -> bytes:
        """Send *pieces* with pauses; return all data until the server closes, or b"" and the data until the
        *timeout*.
        """
        out = bytearray()
        with self.connect(timeout) as wire:
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                for number, piece in enumerate(pieces):
                    if number:
                        time.sleep(pause)
                    wire.sendall(piece)
                while data := wire.recv(65536):
                    out += data
            except OSError:
                pass
        return bytes(out)

    def get(self, target: str = "/a.txt", *fields: str) -> bytes:
        """Return the response to a GET on a new connection."""
        lines = (f"GET {target} HTTP/1.1", "Host: localhost", "Connection: close", *fields, "", "")
        return self.exchange("\r\n".join(lines).encode("latin-1"))


def read_until_closed(
    wire: socket.socket, end: float, last: bytes | None = None, moment: float = 0.0
) -> tuple[bytes, bool]:
    """Read until the server closes or *end* (monotonic); return the data and True if it has closed.

    After *last* the reader waits only *moment* seconds for each further piece.
    """
    out, closed = bytearray(), False
    try:
        while time.monotonic() < end:
            if last is not None and last in out:
                wire.settimeout(moment)
            data = wire.recv(65536)
            if not data:
                closed = True
                break
            out += data
    except TimeoutError:
        pass
    except OSError:
        closed = True
    return bytes(out), closed


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))


def _status_kilobytes(pid: int, name: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(name + ":")), 0)
