"""Applications whose processes are killed, hang and die: no other request is lost, no process is left."""

from __future__ import annotations

import http.client
import os
import random
import re
import signal
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.server import WHIMBREL, HostileSite, ServerProcess

PYTHON = Path("/usr/bin/python3")
CLIENTS = 6
PAUSE = 0.1  # seconds of a client between two requests: the machine has other work
KILL_INTERVAL = 4.0  # seconds between two processes that are killed or stopped
PATIENCE = 60.0  # seconds that a client waits for an answer
STREAM = 300_000  # bytes of a streamed response
LOAD = ("hello", "hello", "varied", "varied", "stream", "upload", "slow", "error")
FAULTS = ("die", "hang", "hold", "cut")
MANY = 20  # requests of one kind, of which some must have been answered
FAULTS_EACH = 150  # one request of a client in so many has a fault
APPLICATION = """
import ctypes, os, signal, time
JOURNAL = os.open(%r, os.O_WRONLY | os.O_APPEND)
def application(environ, start_response):
    name, _, number = environ["QUERY_STRING"].partition("=")
    os.write(JOURNAL, ("%%s %%d\\n" %% (number, os.getpid())).encode())
    if name == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "hang":
        time.sleep(1000)
    elif name == "hold":
        ctypes.PyDLL(None).sleep(1000)
    elif name == "slow":
        time.sleep(0.2)
    elif name == "error":
        raise ValueError(number)
    if name in ("stream", "cut"):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return pieces(name)
    data = number.encode()
    if name == "upload":
        data = b"%%d" %% len(environ["wsgi.input"].read())
    elif name == "varied":
        data = environ["HTTP_X_NUMBER"].encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(data)))])
    return [data]
def pieces(name):
    for _ in range(%d):
        yield b"x" * 1000
        if name == "cut":
            os.kill(os.getpid(), signal.SIGKILL)
"""
CONF = """
LoadModule wsgi_module /usr/lib/apache2/modules/mod_wsgi.so
LogLevel wsgi:info
WSGIPythonHome /usr
WSGIDaemonProcess site processes=2 threads=4 request-timeout=4 shutdown-timeout=1 deadlock-timeout=4
WSGIScriptAlias /app %ROOT%/htdocs/app.wsgi process-group=site application-group=%{GLOBAL}
"""
READ_ONLY = "status 500"
_STARTED = re.compile(r"\(pid=(\d+)\): Starting process")


class Load:
    """The clients, and what became of their requests.

    Attributes:
        failures: requests without a correct answer: their kind and number.
        sent, answered: requests by kind.
    """

    def __init__(self, server: ServerProcess, seed: int) -> None:
        self.server = server
        self.failures: list[tuple[str, int, str]] = []
        self.sent: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.is_over = threading.Event()
        self._seed = seed
        self._lock = threading.Lock()

    def run(self, budget: Budget) -> None:
        """Send requests until the budget is spent."""
        threads = [threading.Thread(target=self._client, args=(number,)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        while not budget.is_spent:
            time.sleep(0.1)
        self.is_over.set()
        for thread in threads:
            thread.join(2 * PATIENCE)

    def _client(self, client: int) -> None:
        dice = random.Random(self._seed * CLIENTS + client)
        wire: http.client.HTTPConnection | None = None
        count = 0
        while not self.is_over.is_set():
            count += 1
            kind = dice.choice(FAULTS) if count % FAULTS_EACH == FAULTS_EACH // 2 else dice.choice(LOAD)
            number = count * CLIENTS + client
            if wire is None:
                wire = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
            problem = ask(wire, kind, number)
            with self._lock:
                self.sent[kind] += 1
                if problem:
                    self.failures.append((kind, number, problem))
                else:
                    self.answered[kind] += 1
            if problem or dice.random() < 0.05:
                wire.close()
                wire = None
            time.sleep(PAUSE * 2 * dice.random())


def ask(wire: http.client.HTTPConnection, kind: str, number: int) -> str:
    """Send one request; return what is wrong with the answer, "" for the right one."""
    body = b"y" * (number % 100_000) if kind == "upload" else None
    fields = {"X-Number": str(number), "Cookie": f"n={number}"} if kind == "varied" else {}
    wanted = {"upload": b"%d" % len(body or b""), "stream": b"x" * STREAM}.get(kind, b"%d" % number)
    try:
        wire.request("POST" if body is not None else "GET", f"/app?{kind}={number}", body, fields)
        answer = wire.getresponse()
        data = answer.read()
    except (OSError, http.client.HTTPException) as problem:
        return f"{type(problem).__name__}: {problem}"
    if kind == "error":
        return "" if answer.status == 500 else f"status {answer.status}"
    if answer.status != 200:
        return f"status {answer.status}"
    return "" if data == wanted else f"{len(data)} bytes, not those of the application"


def started(server: ServerProcess) -> list[int]:
    """Return the processes of applications that were started, by the log."""
    return [int(each) for each in _STARTED.findall(server.output)]


def is_alive(pid: int, session: int) -> bool:
    """Return True if the process of an application runs in *session*, the one that its server leads.

    Its number may belong to another process, or to a thread of one.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        state = fields[0]
        is_own = int(fields[3]) == session
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        leader = re.search(r"^Tgid:\s*(\d+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except OSError:
        return False
    is_process = leader is not None and int(leader[1]) == pid
    return is_own and is_process and state != "Z" and command.startswith(b"/usr/bin/python")


def kill_some(load: Load, seed: int, found: dict[int, str]) -> None:
    """Kill or stop one process after the other, until the load is over; put them into *found*."""
    dice = random.Random(seed)
    while not load.is_over.wait(KILL_INTERVAL * 2 * dice.random()):
        alive = [
            pid for pid in started(load.server) if pid not in found and is_alive(pid, load.server.process.pid)
        ]
        if len(alive) > 1:
            pid = dice.choice(alive)
            which = dice.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP))
            found[pid] = which.name
            with suppress(ProcessLookupError):
                os.kill(pid, which)


def measure(budget: Budget) -> Result:
    """Send requests of all kinds while processes end."""
    result = Result()
    if not PYTHON.exists():
        result.skipped = "no /usr/bin/python3 that the server's user may run"
        return result
    killed: dict[int, str] = {}
    with ServerProcess(WHIMBREL, HostileSite(CONF, {"app.wsgi": b""})) as server:
        journal = server.root / "journal"
        journal.touch()
        journal.chmod(0o666)
        (server.root / "htdocs/app.wsgi").write_text(APPLICATION % (str(journal), STREAM // 1000))
        load = Load(server, budget.seed)
        killer = threading.Thread(target=kill_some, args=(load, budget.seed, killed))
        killer.start()
        load.run(budget)
        killer.join()
        begun = [line.split() for line in journal.read_text().splitlines()]
        pids = started(server)
        log = server.output
    judge(result, load, killed, begun, log)
    left = [pid for pid in pids if is_alive(pid, server.process.pid)]
    if left:
        result.failures.append(f"processes left after the stop: {left}")
    result.figures.update(
        {
            "requests": sum(load.sent.values()),
            "processes started": len(pids),
            "killed or stopped": len(killed),
            "requests lost with their process": len(load.failures) - len(result.failures),
        }
    )
    return result


def judge(result: Result, load: Load, killed: dict[int, str], begun: list[list[str]], log: str = "") -> None:
    """Add the failures of *load* that no process explains: the number was in none that ended early.

    *begun* are pairs of a request's number and its process; *log* is that of the server.
    """
    places: dict[str, set[int]] = {}
    for number, pid in begun:
        places.setdefault(number, set()).add(int(pid))
    faulty = {
        pid
        for kind, number, _problem in load.failures
        if kind in FAULTS
        for pid in places.get(str(number), ())
    }
    for kind, asked, problem in load.failures:
        pids = places.get(str(asked), set())
        if not pids and problem == READ_ONLY:
            continue  # a process had read it before it ended: of an unread one the server sends it again
        if kind not in FAULTS and not pids & (killed.keys() | faulty):
            about = [
                line[:200]
                for line in log.splitlines()
                if any(str(pid) in line for pid in pids) and "Exception occurred" not in line
            ]
            result.failures.append(f"{kind} {asked}: {problem}, in {sorted(pids)}: {about[-4:]}")
    for number, pids in places.items():
        if len(pids) > 1 and not pids & (killed.keys() | faulty):
            result.failures.append(f"request {number} ran in {sorted(pids)}")
    for kind in LOAD:
        if load.sent[kind] >= MANY and not load.answered[kind]:
            result.failures.append(f"no answer to {kind}")


MEASURES = (
    Measure(
        "wsgi-kills",
        "In half an hour of requests to applications whose processes are killed, stopped, hang and die, "
        "every request is answered that was not in an ended process, and no process is left after the stop",
        measure,
        1,
        1800,
    ),
)
