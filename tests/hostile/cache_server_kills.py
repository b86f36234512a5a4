"""Workers, or the whole server, killed while responses are stored: every cached response is complete.

`python -m tests.hostile.cache_server_kills 1000` kills 1,000 times. After each kill Debian's htcacheclean
lists the entries, the disk store reads them, and a client requests every URL.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.hostile.cache_kills import is_whole, request
from tests.hostile.server import WHIMBREL, HostileSite, ServerProcess
from whimbrel.modules.cache.mod_cache_disk.store import DiskStore
from whimbrel.testing.fake_runtime import run_sync

HTCACHECLEAN = shutil.which("htcacheclean", path="/usr/bin:/usr/sbin")
URLS = [f"/p/{number}" for number in range(8)]
WINDOW = 0.05  # seconds between two kills in which clients request
CONF = """
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
LoadModule cache_module /usr/lib/apache2/modules/mod_cache.so
LoadModule cache_disk_module /usr/lib/apache2/modules/mod_cache_disk.so
CacheRoot {cache}
CacheEnable disk /p/
ProxyPass /p/ http://127.0.0.1:{port}/
"""


class Versions(BaseHTTPRequestHandler):
    """Each response is fresh for a second; its body repeats its version; odd URLs vary."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        version = f"{random.random()}"
        body = f"{version}\n".encode() * (100 * random.randrange(1, 60))
        self.send_response(200)
        self.send_header("Cache-Control", f"max-age={random.randrange(2)}")
        self.send_header("X-Version", version)
        if int(self.path[1:]) % 2:
            self.send_header("Vary", "X-V")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Origin(ThreadingHTTPServer):
    """An origin server without messages about connections that a killed worker resets."""

    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        pass


def response_state(port: int, url: str, variant: int) -> str:
    """Return "whole", "half", or "none" if the connection ends early, as it may while workers are killed."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        client.request("GET", url, headers={"Host": "localhost", "X-V": str(variant)})
        reply = client.getresponse()
        lines = reply.read().split(b"\n")
    except (OSError, http.client.HTTPException):
        return "none"
    finally:
        client.close()
    version = (reply.headers["X-Version"] or "").encode()
    is_complete = lines.pop() == b"" and set(lines) == {version} and len(lines) % 100 == 0
    return "whole" if reply.status == 200 and is_complete else "half"


class Attack:
    """A server, its clients, and what was found: `states` counts entries and responses by their state."""

    def __init__(self, server: ServerProcess, cache: Path, dice: random.Random) -> None:
        self.server, self.cache, self.dice = server, cache, dice
        self.states: Counter[str] = Counter()
        self._is_over = threading.Event()
        self._clients = [threading.Thread(target=self._request_often, args=(n,)) for n in range(4)]

    def _request_often(self, seed: int) -> None:
        dice = random.Random(seed)
        while not self._is_over.is_set():
            if response_state(self.server.port, dice.choice(URLS), dice.randrange(2)) == "half":
                self.states["half response under kills"] += 1

    def run(self, count: int) -> None:
        """Kill *count* times."""
        for client in self._clients:
            client.start()
        try:
            for number in range(count):
                time.sleep(self.dice.random() * WINDOW)
                self._kill(number)
                self._check()
        finally:
            self._is_over.set()
            for client in self._clients:
                client.join()

    def _kill(self, number: int) -> None:
        """Kill one worker, all, or every tenth time the master with them, which is then started again."""
        workers = self.server.workers()
        killed = [self.dice.choice(workers)] if workers and number % 2 else workers
        if number % 10 == 9:
            self.server.process.kill()
            killed = workers
        for pid in killed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if number % 10 == 9:
            self.server.process.wait(10)
            (self.server.logs / "pid").unlink(missing_ok=True)
            self.server.__enter__()

    def _check(self) -> None:
        assert HTCACHECLEAN is not None
        listed = subprocess.run(
            [HTCACHECLEAN, "-a", "-p", str(self.cache)], capture_output=True, text=True, timeout=30
        )
        if listed.returncode:
            self.states[f"htcacheclean: {listed.stderr}"] += 1
        for key in listed.stdout.split():
            for variant in range(2):
                entry = run_sync(DiskStore().open_entry(request(self.cache, variant), key))
                if entry is not None:
                    self.states["whole entry" if is_whole(entry) else "half entry"] += 1
                    entry.close()
        for url in URLS:
            self.states[f"{self._state_after(url)} response"] += 1

    def _state_after(self, url: str) -> str:
        """Return the state of the response once a worker answers."""
        end = time.monotonic() + 10
        while True:
            state = response_state(self.server.port, url, self.dice.randrange(2))
            if state != "none" or time.monotonic() > end:
                return state
            time.sleep(0.01)


def kill_often(count: int, seed: int = 1) -> Counter[str]:
    """Kill *count* times; return the numbers of entries and responses by their state."""
    origin = Origin(("127.0.0.1", 0), Versions)
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    with TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        cache = Path(root) / "cache"
        cache.mkdir()
        if os.getuid() == 0:
            shutil.chown(cache, "www-data", "www-data")
        conf = CONF.format(cache=cache, port=origin.server_address[1])
        with ServerProcess(WHIMBREL, HostileSite(conf, processes=2)) as server:
            attack = Attack(server, cache, random.Random(seed))
            attack.run(count)
    origin.shutdown()
    origin.server_close()
    return attack.states


def main() -> int:
    """Kill as often as the command line says; return 1 if a response or an entry was not whole."""
    states = kill_often(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
    print(dict(states))
    return int(set(states) != {"whole entry", "whole response"})


if __name__ == "__main__":
    sys.exit(main())
