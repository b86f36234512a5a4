"""The faults of `interposer.c`: a library that the linker loads first, and its control block."""

from __future__ import annotations

import mmap
import shutil
import struct
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

SOURCE = Path(__file__).with_name("interposer.c")
COMPILER = next((path for path in map(shutil.which, ("cc", "gcc", "clang")) if path), None)
FIELDS = ("read_error", "write_error", "delay", "clock_offset", "is_lookup_hung", "device", "hits")
TEXTS = {"directory": 256, "host": 64}
_WORD = struct.calcsize("l")


@cache
def library() -> Path:
    """Return the compiled library; raises RuntimeError without a compiler."""
    if COMPILER is None:
        raise RuntimeError("there is no C compiler")
    path = Path(mkdtemp(prefix="whimbrel-faults-")) / "interposer.so"
    path.parent.chmod(0o755)
    command = [COMPILER, "-shared", "-fPIC", "-O2", "-o", str(path), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return path


def remove_library() -> None:
    """Remove the compiled library, if there is one."""
    if library.cache_info().currsize:
        shutil.rmtree(library().parent, ignore_errors=True)
        library.cache_clear()


class Interposer:
    """The control block of one server: `set` switches faults on and off while it runs.

    Attributes:
        environment: variables for `env` that load the library into a program.
    """

    def __init__(self, path: Path, directory: Path, host: str) -> None:
        size = _WORD * len(FIELDS) + sum(TEXTS.values())
        path.write_bytes(bytes(size))
        with path.open("r+b") as file:
            self._block = mmap.mmap(file.fileno(), size)
        at = _WORD * len(FIELDS)
        for text, room in zip((str(directory), host), TEXTS.values(), strict=True):
            self._block[at : at + len(text)] = text.encode()
            at += room
        self.set(device=directory.stat().st_dev)
        self.environment = (f"LD_PRELOAD={library()}", f"WHIMBREL_TEST_FAULTS={path}")

    def set(self, **values: int) -> None:
        """Set fields of the control block by name."""
        for name, value in values.items():
            struct.pack_into("l", self._block, FIELDS.index(name) * _WORD, value)

    @property
    def hits(self) -> int:
        """The number of faults so far."""
        return int(struct.unpack_from("l", self._block, FIELDS.index("hits") * _WORD)[0])
