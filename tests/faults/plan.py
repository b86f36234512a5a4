"""The faults of the plan: a promise, what clients may see meanwhile, and a function that breaks and heals."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.faults.site import HTACCESS, PASSWORD, write_documents
from tests.faults.wires import TIMEOUT

if TYPE_CHECKING:
    from tests.faults.cell import Scene

SLOW = 0.005  # seconds of each operation on a slow disk
OTHER_LOCKS = 'DavLockDB "{root}/locks/db"\n'  # a database that is open for writing keeps its disk writable
LOG_PROGRAM = 'CustomLog "|{root}/logger.sh" wide\n'


@dataclass(frozen=True)
class Fault:
    """A fault.

    Attributes:
        promise: what a client may get meanwhile, what the log holds, when the service is complete again.
        run: breaks, waits for the time of the scene, and heals.
        may: statuses of errors that a client may get.
        failures: failures of connections that a client may see (`reset`, `refused`, `unanswered`).
        loses_lines: a process that dies may lose the lines of the responses that its clients have just got.
        hits: loads that meet the fault for certain; one of their cells without a hit proves nothing.
        longest: seconds that a right response may take.
        conf: more configuration.
    """

    name: str
    promise: str
    run: Callable[[Scene], None]
    may: frozenset[int] = frozenset()
    failures: frozenset[str] = frozenset()
    loses_lines: bool = False
    hits: frozenset[str] = frozenset()
    longest: float = TIMEOUT
    conf: str = ""


@contextlib.contextmanager
def _interposed(scene: Scene, **values: int) -> Iterator[None]:
    scene.interposer.set(**values)
    try:
        yield
    finally:
        scene.interposer.set(**dict.fromkeys(values, 0))


def _full_disk(scene: Scene) -> None:
    try:
        for _ in scene.moments(0.02):
            scene.disk.fill()
    finally:
        scene.disk.free()


def _full_log_disk(scene: Scene) -> None:
    try:
        for _ in scene.moments(0.02):
            scene.log_disk.fill()
    finally:
        scene.log_disk.free()


def _read_only(scene: Scene) -> None:
    with scene.without_clients():  # a file that is being written keeps the disk writable
        scene.disk.set_writable(False)
    try:
        scene.wait()
    finally:
        scene.disk.set_writable(True)


def _descriptors(scene: Scene) -> None:
    """Leave each worker two descriptors more than it has, for connections and files together."""
    with contextlib.ExitStack() as stack:
        for pid in scene.server.workers():
            count = len(os.listdir(f"/proc/{pid}/fd"))
            stack.enter_context(_limited(pid, "nofile", count + 2))
        scene.wait()


def _memory(scene: Scene) -> None:
    """Leave each worker no address space beyond what it has mapped."""
    with contextlib.ExitStack() as stack:
        for pid in scene.server.workers():
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
            stack.enter_context(_limited(pid, "as", pages * resource.getpagesize()))
        scene.wait()


@contextlib.contextmanager
def _limited(pid: int, kind: str, limit: int) -> Iterator[None]:
    """Lower a soft limit of a worker; its own user may do so."""
    user = Path(f"/proc/{pid}").owner()
    command = ["prlimit", f"--pid={pid}", f"--{kind}"]

    def run(*more: str) -> str:
        result = subprocess.run([*command, *more], user=user, group=user, capture_output=True, text=True)
        return result.stdout

    before = run("--output=SOFT", "--noheadings", "--raw").strip()
    run(f"--{kind}={limit}:")
    try:
        yield
    finally:
        run(f"--{kind}={before}:")


def _read_errors(scene: Scene) -> None:
    with _interposed(scene, read_error=3):
        scene.wait()


def _write_errors(scene: Scene) -> None:
    with _interposed(scene, write_error=2):
        scene.wait()


def _slow_disk(scene: Scene) -> None:
    with _interposed(scene, delay=int(SLOW * 1e6)):
        scene.wait()


def _killed_workers(scene: Scene) -> None:
    for number in scene.moments(0.7):
        workers = scene.server.workers()
        if workers:
            scene.kill(workers[number % len(workers)])


def _stopped_worker(scene: Scene) -> None:
    pid = scene.server.workers()[0]
    os.kill(pid, signal.SIGSTOP)
    try:
        scene.wait()
    finally:
        os.kill(pid, signal.SIGCONT)


def _killed_master(scene: Scene) -> None:
    """Kill the master; the server is started again once its workers have ended, at the latest after the time
    of the scene.
    """
    scene.kill(scene.server.process.pid)
    scene.server.process.wait(10)
    end = time.monotonic() + scene.seconds
    while scene.processes() and time.monotonic() < end:
        time.sleep(0.02)
    scene.end_processes()
    (scene.server.logs / "pid").unlink(missing_ok=True)
    scene.server.__enter__()


def _hung_back_ends(scene: Scene) -> None:
    scene.back_end.answers.clear()
    try:
        with scene.more_clients("/back/small.txt", 80):
            scene.wait()
    finally:
        scene.back_end.answers.set()


def _clock_jumps(scene: Scene) -> None:
    steps = (3600, -7200, 86400, -3600, 60)
    with _interposed(scene, clock_offset=0):
        for number in scene.moments(scene.seconds / len(steps)):
            scene.interposer.set(clock_offset=steps[number % len(steps)])


def _vanished_root(scene: Scene) -> None:
    scene.state.is_replaced = True
    root = scene.disk.place / "www"
    root.rename(root.with_name("gone"))
    try:
        scene.wait()
    finally:
        root.with_name("gone").rename(root)


def _replaced_root(scene: Scene) -> None:
    """Exchange the tree for one of another version, and back; each document is of one version."""
    scene.state.is_replaced = True
    root = scene.disk.place / "www"
    other = root.with_name("next")
    shutil.copytree(root, other, ignore=shutil.ignore_patterns(".*.tmp", "dav"))
    (other / "dav").mkdir()
    shutil.chown(other / "dav", "www-data", "www-data")
    write_documents(other / "htdocs", 2)
    try:
        for number in scene.moments(scene.seconds / 4):
            scene.state.versions = frozenset((1, 2))
            root.rename(root.with_name("last"))
            other.rename(root)
            root.with_name("last").rename(other)
            time.sleep(scene.seconds / 8)
            scene.state.versions = frozenset((2 - number % 2,))
    finally:
        scene.state.versions = frozenset((1, 2))
        if version_on(root) == 2:
            root.rename(root.with_name("last"))
            other.rename(root)
        time.sleep(0.1)
        scene.state.versions = frozenset((1,))


def version_on(root: Path) -> int:
    """Return the version of the documents of a tree."""
    return int((root / "htdocs/small.txt").read_text().split()[2])


def _replace(path: Path, text: str) -> None:
    new = path.with_name(".new")
    new.write_text(text)
    new.rename(path)


def _replaced_htaccess(scene: Scene) -> None:
    """Exchange the file among three: the account, nobody, and a syntax error."""
    path = scene.disk.place / "www/htdocs/private/.htaccess"
    account = HTACCESS.format(disk=scene.disk.place)
    try:
        for number in scene.moments(0.01):
            _replace(path, (account, "Require all denied\n", account + "Nonsense on\n")[number % 3])
    finally:
        _replace(path, account)


def _replaced_passwords(scene: Scene) -> None:
    """Exchange the file, and write it anew in place, line by line behind the first account."""
    path = scene.disk.place / "passwords"
    try:
        for number in scene.moments(0.01):
            more = "".join(f"other{n}:{{SHA}}{number}\n" for n in range(number % 50))
            if number % 2:
                _replace(path, PASSWORD + more)
                continue
            path.write_text(PASSWORD)
            with path.open("a") as file:
                for line in more.splitlines(keepends=True):
                    file.write(line)
                    file.flush()
    finally:
        _replace(path, PASSWORD)


def _reload(scene: Scene) -> None:
    for _ in scene.moments(0.7):
        scene.server.process.send_signal(signal.SIGUSR1)
    scene.wait_for_restart()


def _hung_lookups(scene: Scene) -> None:
    target = "/back/named/small.txt" if scene.load.name == "proxy" else "/named"
    with _interposed(scene, is_lookup_hung=1), scene.more_clients(target, 80):
        scene.wait()


def _full_log_pipe(scene: Scene) -> None:
    stopped = scene.processes(b"cat")
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
        scene.observation.hits += 1
    try:
        scene.wait()
    finally:
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


FILES = frozenset(("static", "tls-h2", "dav-cache"))
ALL = FILES | {"proxy"}
RESET = frozenset(("reset",))
GONE = frozenset(("reset", "refused", "unanswered"))
FAULTS = {
    fault.name: fault
    for fault in (
        Fault(
            "full-disk",
            "Reads are served; a write that does not fit gets 507 or 500 and leaves the file of before; "
            "the cache passes responses on.",
            _full_disk,
            frozenset((500, 507)),
        ),
        Fault(
            "full-log-disk",
            "Every request is answered; its line waits and is written when there is room.",
            _full_log_disk,
        ),
        Fault(
            "read-only-disk",
            "Reads are served; a write gets 403 or 500 and changes nothing; the cache passes responses on.",
            _read_only,
            frozenset((403, 500)),
            conf=OTHER_LOCKS,
        ),
        Fault(
            "no-descriptors",
            "A request may get 403, 500, 502 or 503 or lose its connection, and is never answered wrongly.",
            _descriptors,
            frozenset((403, 500, 502, 503)),
            RESET,
        ),
        Fault(
            "no-memory",
            "A request may get 500, 502 or 503 or lose its connection; a worker that ends is replaced.",
            _memory,
            frozenset((500, 502, 503)),
            RESET,
            loses_lines=True,
        ),
        Fault(
            "read-errors",
            "A file that cannot be read gets 401 (accounts), 403, 404 or 500, or its response ends early.",
            _read_errors,
            frozenset((401, 403, 404, 500)),
            RESET,
            hits=FILES,
        ),
        Fault(
            "write-errors",
            "A write that fails gets an error and leaves the file of before; the cache passes responses on.",
            _write_errors,
            frozenset((403, 500, 507)),
            hits=frozenset(("dav-cache",)),
        ),
        Fault("slow-disk", "Every request is answered rightly, later.", _slow_disk, hits=FILES),
        Fault(
            "killed-workers",
            "A request may lose its connection; another worker takes the place of the killed one.",
            _killed_workers,
            failures=RESET,
            loses_lines=True,
        ),
        Fault(
            "stopped-worker",
            "The other worker serves; requests of the stopped one are answered when it goes on.",
            _stopped_worker,
        ),
        Fault(
            "killed-master",
            "The workers end with their master, so a new start finds the address free.",
            _killed_master,
            failures=GONE,
            loses_lines=True,
        ),
        Fault(
            "hung-back-ends",
            "Requests to them get 502 or 504 after ProxyTimeout; all others are served beside them.",
            _hung_back_ends,
            frozenset((502, 503, 504)),
        ),
        Fault(
            "clock-jumps",
            "Every request is answered rightly; a WebDAV lock ends when the clock passes its time (400).",
            _clock_jumps,
            frozenset((400,)),
        ),
        Fault(
            "vanished-root",
            "A missing document gets 404, and WebDAV 405; when the tree is back, so are the responses.",
            _vanished_root,
            frozenset((400, 403, 404, 405, 409, 423)),
        ),
        Fault(
            "replaced-root",
            "Each response is of one version, and soon of the new one.",
            _replaced_root,
            frozenset((400, 404, 409, 423)),
        ),
        Fault(
            "replaced-htaccess",
            "Each request meets one of the files; nobody enters without the account.",
            _replaced_htaccess,
            frozenset((403, 500)),
        ),
        Fault(
            "replaced-passwords",
            "An account that each version holds enters; nobody else does.",
            _replaced_passwords,
            frozenset((401,)),
        ),
        Fault(
            "reload",
            "No request is lost: the old workers answer theirs, the new ones serve.",
            _reload,
        ),
        Fault(
            "hung-lookups",
            "Requests that need no lookup are answered beside those that wait for one.",
            _hung_lookups,
            hits=ALL,
            longest=2.0,
        ),
        Fault(
            "full-log-pipe",
            "A log program that does not read delays lines and may delay responses; none is lost.",
            _full_log_pipe,
            hits=ALL,
            conf=LOG_PROGRAM,
        ),
    )
}
