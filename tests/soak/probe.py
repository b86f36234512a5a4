"""whimbrel-httpd whose forked processes count their objects: `main` runs it, `census` reads a process.

A thread of each process answers on an abstract socket of its own, so that no file is left.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Sized
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from tests.hostile.server import Program

NAME = "whimbrel-soak"
_is_copy = threading.Event()  # a fork makes a copy of a worker, not a worker
PROBED = Program(
    "whimbrel",
    (
        sys.executable,
        "-c",
        f"import sys; sys.path.append({str(Path(__file__).resolve().parents[2])!r}); "
        "from tests.soak.probe import main; main()",
        "--builtin",
        "debian",
    ),
)


@dataclass
class Census:
    """Objects of one process.

    Attributes:
        types: number of objects by type, those that garbage collection tracks.
        caches: sizes of bounded caches with their bounds: [entries, most entries, bytes, most bytes].
        connections: open connections of the worker.
        overdrawn: caches beyond their bound, or whose bytes are not those of their entries.
        blocks: memory blocks of Python's allocator in use: what no type shows, such as strings, counts here.
        heap_used, heap_free: bytes of the C library's heap; what is free there is lost to fragmentation.
    """

    types: dict[str, int]
    caches: dict[str, list[int]]
    connections: int
    overdrawn: list[str]
    blocks: int = 0
    heap_used: int = 0
    heap_free: int = 0


def census(pid: int, timeout: float = 60.0) -> Census:
    """Return the objects of a process of `PROBED`, after a full collection."""
    with socket.socket(socket.AF_UNIX) as wire:
        wire.settimeout(timeout)
        wire.connect(f"\0{NAME}-{pid}")
        data = b""
        while piece := wire.recv(1 << 16):
            data += piece
    return Census(**json.loads(data))


def _caches(objects: list[Any]) -> tuple[dict[str, list[int]], list[str]]:
    from whimbrel.base.bounded_dict import BoundedDict
    from whimbrel.base.second_chance import SecondChance

    caches: dict[str, list[int]] = {}
    overdrawn: list[str] = []
    for one in objects:
        kind = type(one)
        if kind is BoundedDict:
            sizes = [len(one), one.maxsize, 0, 0]
        elif kind is SecondChance:
            sizes = [len(one), one._most, one.bytes, one._most_bytes]
            weighed = one.weigh()
            if weighed != one.bytes:
                overdrawn.append(f"SecondChance: {one.bytes} bytes noted, {weighed} in its entries")
        else:
            continue
        if sizes[0] > sizes[1] or sizes[2] > sizes[3]:
            overdrawn.append(f"{kind.__name__}: {sizes}")
        before = caches.setdefault(kind.__name__, [0, 0, 0, 0])
        caches[kind.__name__] = [old + new for old, new in zip(before, sizes, strict=True)]
    return caches, overdrawn


def count_objects() -> Census:
    """Return the objects of this process."""
    from whimbrel.server.worker.worker import Worker

    gc.collect()
    objects = gc.get_objects()
    types = Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in objects)
    caches, overdrawn = _caches(objects)
    workers = [one for one in objects if type(one) is Worker]
    held: Sized = workers[0].service.connections if workers and hasattr(workers[0], "service") else ()
    return Census(dict(types), caches, len(held), overdrawn, sys.getallocatedblocks(), *_heap())


class _Heap(ctypes.Structure):
    """`struct mallinfo2` of the GNU C library (mallinfo(3))."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    )
    uordblks: int
    fordblks: int


def _heap() -> tuple[int, int]:
    """Return the bytes of the C library's heap that are in use and free; zeros for another library."""
    read = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if read is None:
        return 0, 0
    read.restype = _Heap
    heap: _Heap = read()
    return heap.uordblks, heap.fordblks


def _answer(listener: socket.socket) -> None:
    while True:
        wire = listener.accept()[0]
        with wire:
            try:
                wire.sendall(json.dumps(_counted().__dict__).encode())
            except OSError:
                time.sleep(0.1)  # the reader has gone


def _counted() -> Census:
    """Return the objects of this process, which a copy of it counts.

    In the process itself the count would leave its own memory, and `gc.unfreeze` would make each later
    collection look at the objects from before the fork, and the interpreter collect less often.
    """
    gc.collect()
    sizes = sys.getallocatedblocks(), *_heap()
    with TemporaryFile() as file:
        _is_copy.set()
        pid = os.fork()
        if not pid:
            try:
                gc.unfreeze()  # objects from before the fork of the worker count too
                census = count_objects()
                census.blocks, census.heap_used, census.heap_free = sizes
                os.pwrite(file.fileno(), json.dumps(census.__dict__).encode(), 0)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        _is_copy.clear()
        return Census(**json.loads(file.read()))


def _listen() -> None:
    if _is_copy.is_set():
        return
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"\0{NAME}-{os.getpid()}")
    listener.listen()
    threading.Thread(target=_answer, args=(listener,), daemon=True).start()


def main() -> None:
    """Run whimbrel-httpd with a probe in each process that it forks."""
    from whimbrel.cli.httpd import main as run

    os.register_at_fork(after_in_child=_listen)
    run()
