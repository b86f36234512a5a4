"""All tests in several processes; the few that fail beside others are run once more, alone.

A test that fails twice fails the run. One that passes alone depends on what else the machine does, which is a
fault of the test: the last lines of the run name it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

MAX_REPEATED: Final = 3
"""Failed tests that are run once more; where more fail, the machine is not the reason."""
_FAILED: Final = Path(".pytest_cache/v/cache/lastfailed")
_TESTS_FAILED: Final = 1


def main(words: Sequence[str]) -> int:
    """Run pytest with *words*; return its exit status, or that of the second run."""
    _FAILED.unlink(missing_ok=True)
    status = _pytest(words)
    failed = list(json.loads(_FAILED.read_text())) if _FAILED.exists() else []
    if status != _TESTS_FAILED or not 0 < len(failed) <= MAX_REPEATED:
        return status
    print("\nonce more, alone:", flush=True)
    status = _pytest([*failed, "-q"])
    if status == 0:
        print("failed beside others and passed alone, which is a fault of the test:")
        print("\n".join(f"  {name}" for name in failed))
    return status


def _pytest(words: Sequence[str]) -> int:
    process = subprocess.Popen([sys.executable, "-m", "pytest", *words])
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # pytest has it too, and ends with its report


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
