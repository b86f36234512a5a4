"""A small disk of a test: a tmpfs that can be filled and made read-only. Needs root."""

from __future__ import annotations

import contextlib
import subprocess
import time
from pathlib import Path
from types import TracebackType


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


class Disk:
    """A tmpfs of *megabytes* on the directory *place*; a context manager that unmounts it."""

    def __init__(self, place: Path, megabytes: int = 64) -> None:
        self.place = place
        self._size = f"size={megabytes}m"

    def __enter__(self) -> Disk:
        self.place.mkdir(exist_ok=True)
        _mount("-t", "tmpfs", "-o", f"{self._size},mode=0755", "tmpfs", str(self.place))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        # a process that the server left has no say in this
        subprocess.run(["umount", "-l", str(self.place)], check=False, capture_output=True)

    def fill(self) -> None:
        """Write until nothing fits; room that is freed meanwhile is taken by the next call."""
        with (self.place / ".filler").open("ab", buffering=0) as file, contextlib.suppress(OSError):
            for size in (1 << 20, 1 << 12, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"\0" * size)

    def free(self) -> None:
        """Remove what `fill` wrote."""
        (self.place / ".filler").unlink(missing_ok=True)

    def set_writable(self, is_writable: bool) -> None:
        """Remount; a file that is being written delays the change to read-only for up to 3 seconds."""
        mode = "rw" if is_writable else "ro"
        end = time.monotonic() + 3
        while True:
            try:
                return _mount("-o", f"remount,{mode}", str(self.place))
            except subprocess.CalledProcessError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.002)
