"""Workers that are killed while WebDAV methods change files: every file stays old or new, never in part."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.server import WHIMBREL, HostileSite, ServerProcess

SIZE = 1 << 20  # bytes of a file of PUT
MEMBERS = 12  # files of a tree, of a tenth of that
WINDOW = 0.03  # seconds after a request within which the workers are killed
CONF = """
LoadModule dav_module /usr/lib/apache2/modules/mod_dav.so
LoadModule dav_fs_module /usr/lib/apache2/modules/mod_dav_fs.so
DavLockDB %ROOT%/htdocs/locks/db
<Directory "%ROOT%/htdocs/dav">
    Dav On
    DirectoryIndex disabled
</Directory>
"""
OLD, NEW = b"old", b"new"


def content(kind: bytes, size: int) -> bytes:
    """Return a content that tells whether it is complete."""
    return kind + b"%d" % size + kind * (size // len(kind))


def _tree(root: Path, name: str, kind: bytes) -> None:
    for number in range(MEMBERS):
        path = root / name / f"d{number % 3}" / f"f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(kind, SIZE // 10))


def _prepare(server: ServerProcess) -> Path:
    root = server.root / "htdocs/dav"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    (root / "put").write_bytes(content(OLD, SIZE))
    _tree(root, "source", NEW)
    _tree(root, "target", OLD)
    if os.getuid() == 0:
        for path in (root, *root.rglob("*")):
            shutil.chown(path, "www-data", "www-data")
    return root


def _state(path: Path, size: int) -> str:
    """Return "missing", "old", "new" or "half"."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return "missing"
    for kind in (OLD, NEW):
        if data == content(kind, size):
            return kind.decode()
    return "half"


def _members(root: Path, name: str) -> list[str]:
    return [_state(root / name / f"d{n % 3}" / f"f{n}", SIZE // 10) for n in range(MEMBERS)]


def _put_failure(root: Path) -> str:
    state = _state(root / "put", SIZE)
    return "" if state in ("old", "new") else f"PUT left a file {state}"


def _copy_failure(root: Path) -> str:
    source, target = set(_members(root, "source")), set(_members(root, "target"))
    if source != {"new"}:
        return f"COPY left its source {source}"
    return "" if target in ({"old"}, {"new"}) else f"COPY left its target {target}"


def _move_failure(root: Path) -> str:
    source, target = set(_members(root, "source")), set(_members(root, "target"))
    is_done = source == {"missing"} and target == {"new"}
    is_undone = source == {"new"} and target in ({"old"}, {"missing"})
    return "" if is_done or is_undone else f"MOVE left {source} and {target}"


def _delete_failure(root: Path) -> str:
    target = set(_members(root, "target"))
    return "" if target <= {"old", "missing"} else f"DELETE left {target}"


Check = Callable[[Path], str]
METHODS: tuple[tuple[str, str, str, Check], ...] = (
    ("PUT", "/dav/put", "", _put_failure),
    ("COPY", "/dav/source/", "/dav/target/", _copy_failure),
    ("MOVE", "/dav/source/", "/dav/target/", _move_failure),
    ("DELETE", "/dav/target/", "", _delete_failure),
)


def _request(server: ServerProcess, method: str, path: str, destination: str) -> None:
    body = content(NEW, SIZE) if method == "PUT" else b""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close"]
    lines.append(f"Content-Length: {len(body)}")
    if destination:
        lines.append(f"Destination: http://localhost{destination}")
    with contextlib.suppress(OSError), server.connect(5) as wire:
        wire.sendall("\r\n".join((*lines, "", "")).encode() + body)
        while wire.recv(65536):
            pass


def _kill_workers(server: ServerProcess) -> int:
    """Kill the workers; return how many there were when others have replaced them."""
    killed = server.workers()
    for pid in killed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + 10
    while time.monotonic() < end and not set(server.workers()) - set(killed):
        time.sleep(0.005)
    return len(killed)


def measure(budget: Budget) -> Result:
    """Kill all workers at a random moment of each request."""
    result = Result()
    killed = 0
    site = HostileSite(CONF, {"locks/.keep": b""}, processes=2)
    with ServerProcess(WHIMBREL, site) as server:
        if os.getuid() == 0:
            shutil.chown(server.root / "htdocs/locks", "www-data")
        for number in range(budget.cases):
            if budget.is_spent:
                break
            method, path, destination, failure = METHODS[number % len(METHODS)]
            root = _prepare(server)
            sender = threading.Thread(target=_request, args=(server, method, path, destination))
            sender.start()
            time.sleep(budget.random.random() * WINDOW)
            killed += _kill_workers(server)
            sender.join()
            found = failure(root)
            if found:
                result.failures.append(found)
            result.figures["requests"] = number + 1
        result.figures["workers killed"] = killed
    return result


MEASURES = (
    Measure(
        "dav-kills",
        "After kill -9 of the workers in PUT, COPY, MOVE and DELETE every file is old or new, never half",
        measure,
        cases=500,
        seconds=900,
    ),
)
