"""Long runs against a server on the loopback, for what short tests cannot show.

    tools/soak.py restarts [--requests 1000000]   a graceful restart each second, a killed worker every five
    tools/soak.py memory [--requests 5000000]     the growth of a worker

Both print their progress and final figures. They exit with 1 if a request fails that was not on a
connection of a killed worker, or if a worker grows by 1 MB. Linux only (/proc); as root the
workers become www-data.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whimbrel.testing.ports import free_port

LENGTH = re.compile(rb"\r\nContent-Length: (\d+)\r\n")
HOPELESS = 500  # failures of one client after which it gives up
MEMORY_PROMISED = 1024  # kilobytes
WARM = 0.2  # share of the requests before the first reading of the memory: caches fill up to their bounds
CONFIGURATION = """\
LoadModule mpm_event_module m/mod_mpm_event.so
LoadModule authz_core_module m/mod_authz_core.so
LoadModule authz_host_module m/mod_authz_host.so
LoadModule mime_module m/mod_mime.so
LoadModule dir_module m/mod_dir.so
LoadModule alias_module m/mod_alias.so
LoadModule setenvif_module m/mod_setenvif.so
LoadModule headers_module m/mod_headers.so
LoadModule rewrite_module m/mod_rewrite.so
LoadModule autoindex_module m/mod_autoindex.so
LoadModule include_module m/mod_include.so
LoadModule status_module m/mod_status.so
ServerName localhost
Listen 127.0.0.1:{port}
{user}
PidFile logs/httpd.pid
ErrorLog logs/error_log
DocumentRoot "{root}/htdocs"
TypesConfig conf/mime.types
LogFormat "%a %t \\"%r\\" %>s %b %{{User-Agent}}i" soak
CustomLog logs/access_log soak
MaxKeepAliveRequests 1000
KeepAliveTimeout 60
StartServers {workers}
<Directory "{root}/htdocs">
  Options Indexes Includes FollowSymLinks
  AllowOverride All
  Require all granted
</Directory>
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
SetEnvIf User-Agent "agent 7" seven
Header set X-Seven yes env=seven
Redirect /moved http://localhost/f/1.txt
RewriteEngine On
RewriteRule ^/w/(.*)$ /f/$1
<Location /server-status>
  SetHandler server-status
</Location>
"""


@dataclass
class Tally:
    """Result of one client: requests answered, and (time, own port, error) of the failed ones."""

    answered: int = 0
    failed: list[tuple[float, int, str]] = field(default_factory=list)


# the server ---------------------------------------------------------------------------------------
class Server:
    """Server with a server root in a temporary directory."""

    def __init__(self, workers: int) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="whimbrel-soak-"))
        self.root.chmod(0o755)
        self.port = free_port()
        for name in ("conf", "htdocs/f", "htdocs/i", "logs"):
            (self.root / name).mkdir(parents=True)
        for number in range(500):
            (self.root / f"htdocs/f/{number}.txt").write_text(f"{number}\n" * (1 + number % 40))
        (self.root / "htdocs/page.shtml").write_text('<p><!--#echo var="QUERY_STRING" --></p>\n')
        (self.root / "htdocs/i/.htaccess").write_text("IndexOptions FancyIndexing\n")
        (self.root / "htdocs/i/a.txt").write_text("a\n")
        (self.root / "conf/mime.types").write_text("text/plain txt\ntext/html html\n")
        user = "User www-data\nGroup www-data" if os.getuid() == 0 else ""
        (self.root / "conf/httpd.conf").write_text(
            CONFIGURATION.format(port=self.port, user=user, root=self.root, workers=workers)
        )
        command = [
            sys.executable,
            "-c",
            "from whimbrel.cli.httpd import main; main()",
            "--builtin",
            "debian",
            "-d",
            str(self.root),
            "-DFOREGROUND",
        ]
        with (self.root / "stderr").open("wb") as sink:
            self.process = subprocess.Popen(command, stderr=sink)
        end = time.monotonic() + 20
        while not (self.root / "logs/httpd.pid").exists():
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit((self.root / "stderr").read_text())
            time.sleep(0.05)

    def workers(self) -> list[int]:
        """Return the process ids of the running workers."""
        pid = self.process.pid
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def stop(self) -> None:
        """Stop the server and remove its directory."""
        self.process.terminate()
        try:
            self.process.wait(15)
        finally:
            self.process.kill()
        shutil.rmtree(self.root, ignore_errors=True)


def connections_of(pid: int) -> set[int]:
    """Return the local ports of the TCP connections of a client process."""
    inodes = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(link)
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return {int(row[2].partition(":")[2], 16) for row in rows if row[9] in inodes}


def private_memory(pid: int) -> int:
    """Return the kilobytes that belong to one process only."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(
        int(line.split()[1])
        for line in text.splitlines()
        if line.startswith(("Private_Clean", "Private_Dirty"))
    )


# the clients --------------------------------------------------------------------------------------
def request(number: int) -> tuple[bytes, bool]:
    """Return request *number*, and True if the response has no body (HEAD).

    Seven of eight are plain, each eighth is of one of sixteen kinds.
    """
    rare, plain = divmod(number, 8)
    if plain:
        return (
            f"GET /f/{rare % 500}.txt HTTP/1.1\r\nHost: localhost\r\n"
            f"User-Agent: agent {plain}\r\n\r\n".encode(),
            False,
        )
    kind = rare % 16
    more = f"User-Agent: agent {rare % 10_000}\r\n"
    method, path = "GET", f"/f/{rare % 500}.txt"
    if kind == 1:
        path = f"/none/{number}"
    elif kind == 2:
        path += f"?{number}"
    elif kind == 3:
        path = f"/w/{number % 500}.txt"
    elif kind == 4:
        more += f"Cookie: id={number}\r\nAccept-Language: de-{number % 97}\r\n"
    elif kind == 5:
        more += "Range: bytes=1-2\r\n"
    elif kind == 6:
        method = "HEAD"
    elif kind == 7:
        path = f"/page.shtml?{number}"
    elif kind == 8:
        path = "/i/"
    elif kind == 9:
        more += "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT\r\n"
    elif kind == 10:
        path = "/moved"
    elif kind == 11:
        more += f"X-{number}: {'x' * (number % 300)}\r\n"
    elif kind == 12 and rare % 1600 == 12:
        path = "/server-status?auto"
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n".encode(), method == "HEAD"


class Client:
    """Client with one connection at a time."""

    def __init__(self, port: int, tally: Tally) -> None:
        self.port, self.tally = port, tally
        self.wire: socket.socket | None = None
        self.own = 0
        self.rest = b""

    def send(self, requests: list[tuple[bytes, bool]]) -> int:
        """Send requests in one piece; return how many were answered until the server closed.

        Failures go to the tally.
        """
        try:
            if self.wire is None:
                self.wire = socket.create_connection(("127.0.0.1", self.port), timeout=30)
                self.own, self.rest = self.wire.getsockname()[1], b""
            self.wire.sendall(b"".join(data for data, _ in requests))
            for done, (_, bare) in enumerate(requests, 1):
                if self._answer(bare):
                    self._close()
                    self.tally.answered += done
                    return done
        except (OSError, ValueError) as problem:
            self.tally.failed.append((time.time(), self.own, repr(problem)))
            self._close()
            return 1
        self.tally.answered += len(requests)
        return len(requests)

    def _answer(self, bare: bool) -> bool:
        """Read one response; return True if it is the last of the connection."""
        while (end := self.rest.find(b"\r\n\r\n")) < 0:
            self._more()
        head = self.rest[: end + 2]
        if head[:9] != b"HTTP/1.1 " or head[9:10] not in b"23" and head[9:12] != b"404":
            raise ValueError(head[:60])
        if b"\r\nTransfer-Encoding: chunked\r\n" in head and not bare:
            while (stop := self.rest.find(b"\r\n0\r\n\r\n", end)) < 0:
                self._more()
            size = stop + 7
        else:
            found = LENGTH.search(head)
            size = end + 4 + (int(found[1]) if found is not None and not bare and head[9:12] != b"304" else 0)
        while len(self.rest) < size:
            self._more()
        self.rest = self.rest[size:]
        return b"\r\nConnection: close\r\n" in head

    def _more(self) -> None:
        assert self.wire is not None
        data = self.wire.recv(1 << 16)
        if not data:
            raise ValueError("closed early")
        self.rest += data

    def _close(self) -> None:
        if self.wire is not None:
            self.wire.close()
            self.wire = None


def send_many(port: int, first: int, count: int, depth: int, tally: Tally, seen: Any) -> None:
    """Send *count* requests from *number* first on, *depth* in one piece; *seen* counts along."""
    client = Client(port, tally)
    number, end = first, first + count
    while number < end and len(tally.failed) < HOPELESS:
        number += client.send([request(n) for n in range(number, min(number + depth, end))])
        seen.value = number - first


def send_in_process(port: int, first: int, count: int, depth: int, seen: Any, out: Any) -> None:
    """Do the same in a process of its own; put the tally into *out*."""
    tally = Tally()
    try:
        send_many(port, first, count, depth, tally, seen)
    finally:
        out.put(tally)


def run_clients(server: Server, requests: int, clients: int, depth: int, watch: Any) -> list[Tally]:
    """Send *requests* with several processes; *watch* is called four times a second with the count so far."""
    out: Any = multiprocessing.Queue()
    seen = [multiprocessing.Value("l", 0, lock=False) for _ in range(clients)]
    share = requests // clients
    processes = [
        multiprocessing.Process(
            target=send_in_process, args=(server.port, n * share, share, depth, seen[n], out)
        )
        for n in range(clients)
    ]
    for process in processes:
        process.start()
    tallies: list[Tally] = []
    while len(tallies) < clients:
        time.sleep(0.25)
        while not out.empty():
            tallies.append(out.get())
        watch(sum(value.value for value in seen))
    for process in processes:
        process.join()
    return tallies


# the two runs -------------------------------------------------------------------------------------
class Trouble(threading.Thread):
    """Thread of restarts and kills, until stopped."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.over = threading.Event()
        self.restarts = self.kills = 0
        self.excused: set[int] = set()

    def run(self) -> None:
        beat = 0
        while not self.over.wait(1.0):
            beat += 1
            self.server.process.send_signal(signal.SIGUSR1)
            self.restarts += 1
            if beat % 5 == 0:
                self._kill(self.server.workers()[-1:])

    def _kill(self, victims: list[int]) -> None:
        for pid in victims:
            try:
                os.kill(pid, signal.SIGSTOP)
                time.sleep(0.01)
                self.excused |= connections_of(pid)
                os.kill(pid, signal.SIGKILL)
                self.kills += 1
            except (OSError, IndexError):
                continue


def restarts(requests: int, clients: int) -> int:
    """Run with restarts; return the exit status."""
    server = Server(2)
    begun = time.monotonic()
    try:
        trouble = Trouble(server)
        trouble.start()
        tallies = run_clients(server, requests, clients, 1, reporter(requests))
        trouble.over.set()
        trouble.join()
        failed = [one for tally in tallies for one in tally.failed]
        blamed = [one for one in failed if one[1] not in trouble.excused]
        seconds = time.monotonic() - begun
        excused = len(failed) - len(blamed)
        print(
            f"{sum(t.answered for t in tallies)} answered in {seconds:.0f} s, "
            f"{trouble.restarts} graceful restarts, {trouble.kills} workers killed; "
            f"{len(failed)} failed, {excused} of them on connections of a killed worker, "
            f"{len(blamed)} others"
        )
        for moment, port, what in blamed[:20]:
            print(f"  {moment:.3f} port {port}: {what}")
        log = (server.root / "logs/error_log").read_text(errors="replace")
        odd = [line for line in log.splitlines() if not re.search("AH0009[4]|AH00493|AH00489|AH00052", line)]
        print(f"error log: {len(odd)} unexpected lines", *odd[:10], sep="\n  ")
        return 1 if blamed else 0
    finally:
        server.stop()


def memory(requests: int, clients: int) -> int:
    """Run with memory readings; return the exit status."""
    server = Server(1)
    try:
        worker = server.workers()[0]
        print(f"worker {worker}: {private_memory(worker)} kB at its beginning", flush=True)
        seen: list[int] = []
        report = reporter(requests)

        def watch(count: int) -> None:
            if count >= requests * (WARM + 0.05 * len(seen)):
                seen.append(private_memory(worker))
                print(f"{count} requests: {seen[-1]} kB", flush=True)
            report(count)

        begun = time.monotonic()
        tallies = run_clients(server, requests, clients, 16, watch)
        time.sleep(1)
        seen.append(private_memory(worker))
        failed = [one for tally in tallies for one in tally.failed]
        print(
            f"{sum(t.answered for t in tallies)} answered in {time.monotonic() - begun:.0f} s, "
            f"{len(failed)} failed {failed[:3]}; {seen[0]} kB after {WARM:.0%}, {seen[-1]} kB at the end: "
            f"{seen[-1] - seen[0]:+} kB; the same worker: {worker in server.workers()}"
        )
        return 1 if failed or seen[-1] - seen[0] >= MEMORY_PROMISED or worker not in server.workers() else 0
    finally:
        server.stop()


def reporter(requests: int) -> Any:
    """Return a function that prints the progress ten times."""
    told = [0]

    def report(count: int) -> None:
        if count * 10 // requests > told[0]:
            told[0] = count * 10 // requests
            print(f"{time.strftime('%H:%M:%S')} {told[0] * 10} %", flush=True)

    return report


def main() -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(description="Long runs against a server on the loopback.")
    parser.add_argument("what", choices=("restarts", "memory"))
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--clients", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.what == "restarts":
        return restarts(arguments.requests or 1_000_000, arguments.clients or 3)
    return memory(arguments.requests or 5_000_000, arguments.clients or 1)


if __name__ == "__main__":
    sys.exit(main())
