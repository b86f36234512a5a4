"""`whimbrel studio` as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

_START = "from whimbrel.cli.entry import main; main()"


class StudioServer:
    """The studio of one configuration; a context manager.

    Attributes:
        url: the address with the key, as it was printed.
        temporary: the directory for temporary files.
    """

    def __init__(self, root: Path, *words: str) -> None:
        self._words = [str(root), *words]
        self.temporary = root / "temporary"
        self.url = ""

    def __enter__(self) -> Self:
        self.temporary.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, "studio", *self._words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(self.temporary)},
            start_new_session=True,
        )
        assert self.process.stdout is not None and self.process.stderr is not None
        lines = [self.process.stdout.readline() for _ in range(2)]
        self.url = lines[-1].strip()
        if not self.url.startswith("http://127.0.0.1:"):
            raise AssertionError(f"{lines}: {self.process.stderr.read()}")
        return self

    def __exit__(self, *_problem: object) -> None:
        self.stop(signal.SIGTERM)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].partition("/")[0])

    @property
    def key(self) -> str:
        return self.url.partition("#key=")[2]

    def stop(self, number: int) -> int:
        """Send a signal as a terminal does, to the whole group, and return the exit status."""
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass
        return self.process.wait(10)
