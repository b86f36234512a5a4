"""Processes that store entries of a disk cache are killed: every entry is one of the responses, or a miss.

`python -m tests.hostile.cache_kills 1000` kills 1,000 times; two processes write at any time.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from whimbrel.base.dialect import V24
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.cache.mod_cache_disk.settings import CacheDiskDirConfig, CacheDiskServerConfig
from whimbrel.modules.cache.mod_cache_disk.store import DiskStore
from whimbrel.modules.cache.store import CacheEntry, CacheInfo, StoreError
from whimbrel.registry.settings import with_defaults
from whimbrel.testing.fake_runtime import run_sync

KEYS = [f"http://localhost:80/{number}?" for number in range(3)]
LIVES = (0.0, 0.03)  # seconds for which a process writes before it is killed


def request(root: Path, variant: int = 0) -> Any:
    """Return what the store reads of a request."""
    server = with_defaults(CacheDiskServerConfig(root=str(root)))
    section = with_defaults(CacheDiskDirConfig())
    return SimpleNamespace(
        server_conf=lambda _: server,
        dir_config=lambda _: section,
        plan=SimpleNamespace(dialect=V24),
        log=lambda *_, **__: None,
        status=200,
        header_only=False,
        no_cache=False,
        connection=SimpleNamespace(aborted=False),
        headers_in=Headers([("X-V", str(variant))]),
        headers_out=Headers(),
    )


def store(root: Path, dice: random.Random) -> None:
    """Store one response, whose body repeats its version; every third one updates an entry."""
    number, variant = dice.randrange(len(KEYS)), dice.randrange(2)
    r, version = request(root, variant), f"{os.getpid()}-{dice.random()}"
    entry = run_sync(DiskStore().open_entry(r, KEYS[number])) if dice.random() < 0.3 else None
    try:
        if entry is not None:
            fields = entry.fields.copy()
            fields.set("X-Updated", version)
            run_sync(entry.update(r, fields, entry.request_fields))
            entry.close()
            return
        fields = Headers([("X-Version", version), *([("Vary", "X-V")] if number else [])])
        writer = DiskStore().create_entry(r, KEYS[number], CacheInfo(), fields, r.headers_in)
        for _ in range(dice.randrange(1, 20)):
            writer.write(f"{version}\n".encode() * 100)
        run_sync(writer.commit(r))
    except StoreError:
        pass


def is_whole(entry: CacheEntry) -> bool:
    """Return True if header and body are of one response, which is complete in pieces of 100 lines."""
    body = b"".join(part if isinstance(part, bytes) else part.read() for part in entry.body())  # type: ignore[union-attr]
    lines = body.split(b"\n")
    version = (entry.fields.get("X-Version") or "").encode()
    return lines.pop() == b"" and set(lines) == {version} and len(lines) % 100 == 0


def check(root: Path) -> tuple[int, int]:
    """Return the numbers of entries and of those that are not whole."""
    found = bad = 0
    for key in KEYS:
        for variant in range(2):
            entry = run_sync(DiskStore().open_entry(request(root, variant), key))
            if entry is not None:
                found += 1
                bad += not is_whole(entry)
                entry.close()
    return found, bad


def begin(root: Path, seed: int) -> int:
    """Return the process that stores until it is killed."""
    child = os.fork()
    if child:
        return child
    dice = random.Random(seed)
    try:
        while True:
            store(root, dice)
    finally:
        os._exit(1)


def kill_often(root: Path, count: int, seed: int = 1) -> tuple[int, int]:
    """Kill *count* processes at random moments; return the entries that were read, and the bad ones."""
    dice, found, bad = random.Random(seed), 0, 0
    other = begin(root, seed)
    try:
        for number in range(count):
            child = begin(root, seed + number + 1)
            time.sleep(dice.uniform(*LIVES))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            more, worse = check(root)
            found, bad = found + more, bad + worse
    finally:
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)
    return found, bad


def main() -> int:
    """Kill as often as the command line says; return 1 if an entry was not whole."""
    with TemporaryDirectory() as root:
        found, bad = kill_often(Path(root), int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
        print(f"{found} entries read after kills, {bad} not whole")
        return int(bad > 0 or not found)


if __name__ == "__main__":
    sys.exit(main())
