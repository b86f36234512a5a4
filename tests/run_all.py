"""All tests in several processes; the few that fail beside others are run once more, alone.

    python -m tests.run_all [--beside DIRECTORY] WORDS OF PYTEST ...

The tests of DIRECTORY, which use the processor, run at the same time as the others, which wait for servers
and clocks: with a lower priority, with a worker for each processor, and their report is printed last.

A test that fails twice fails the run. One that passes alone depends on what else the machine does, which is a
fault of the test: the last lines of the run name it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

MAX_REPEATED: Final = 3
"""Failed tests that are run once more; where more fail, the machine is not the reason."""
BESIDE: Final = "--beside"
_CACHES: Final = (Path(".pytest_cache"), Path(".pytest_cache/beside"))
"""Where pytest notes what failed: two runs at the same time would write one file."""
_LOWER_PRIORITY: Final = 5
_ENDED: Final = 0
_TESTS_FAILED: Final = 1


def main(words: Sequence[str]) -> int:
    """Run pytest with *words*; return its exit status, or that of the second run."""
    for cache in _CACHES:
        _noted(cache).unlink(missing_ok=True)
    if words[:1] == [BESIDE]:
        statuses = _both(words[1], words[2:])
    else:
        statuses = [_waited(_started(words, _CACHES[0]))]
    failed = [
        name for cache in _CACHES if _noted(cache).exists() for name in json.loads(_noted(cache).read_text())
    ]
    status = max(statuses)
    if status != _TESTS_FAILED or not 0 < len(failed) <= MAX_REPEATED:
        return status
    print("\nonce more, alone:", flush=True)
    status = _waited(_started([*failed, "-q"], _CACHES[0]))
    if status == _ENDED:
        print("failed beside others and passed alone, which is a fault of the test:")
        print("\n".join(f"  {name}" for name in failed))
    return status


def _noted(cache: Path) -> Path:
    return cache / "v/cache/lastfailed"


def _both(directory: str, words: Sequence[str]) -> list[int]:
    """Run the tests of *directory* beside those of *words* without it; return both exit statuses."""
    workers = str(os.cpu_count() or 1)
    with tempfile.TemporaryFile() as report:
        # the first word has the tests; the last -n counts
        beside = _started([directory, *words[1:], "-n", workers], _CACHES[1], report)
        statuses = [_waited(_started([*words, "--ignore", directory], _CACHES[0])), _waited(beside)]
        report.seek(0)
        print(f"\nbeside them, {directory}:", flush=True)
        sys.stdout.buffer.write(report.read())
        sys.stdout.flush()
    return statuses


def _started(words: Sequence[str], cache: Path, report: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    """Start pytest; with a *report*, it writes there and has a lower priority."""
    command = [sys.executable, "-m", "pytest", *words, "-o", f"cache_dir={cache}"]
    if report is None:
        return subprocess.Popen(command)
    return subprocess.Popen(
        ["nice", "-n", str(_LOWER_PRIORITY), *command], stdout=report, stderr=subprocess.STDOUT
    )


def _waited(process: subprocess.Popen[bytes]) -> int:
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # pytest has it too, and ends with its report


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
