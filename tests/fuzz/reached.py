"""The lines of a target that its corpus runs, by coverage.py.

    python -m tests.fuzz.reached NAME DIRECTORY

Prints JSON: for each file that the target covers, its statements and the lines not run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import coverage

from whimbrel import __file__ as package


def reached(name: str, directory: Path) -> dict[str, tuple[int, list[int]]]:
    """Run the seeds and the corpus of the target *name*; return statements and missing lines of each file.

    The modules of the package are imported here, so that lines of imports count.
    """
    measure = coverage.Coverage(
        data_file=None,
        config_file=False,
        include=[f"{Path(package).parent}/*"],
        concurrency=["thread", "greenlet"],
    )
    measure.exclude("if TYPE_CHECKING:|@overload")
    measure.start()
    from tests.fuzz.target import load

    target = load(name)
    corpus = directory / "corpus"
    inputs = [*target.seeds(), *(path.read_bytes() for path in (corpus.iterdir() if corpus.is_dir() else ()))]
    for data in inputs:
        try:
            target.run(data)
        except Exception:
            continue  # a finding, which the fuzzer has written
    measure.stop()
    found = {}
    for file in target.COVERED:
        _name, statements, _excluded, missing, _text = measure.analysis2(str(Path(package).parent / file))
        found[file] = (len(statements), missing)
    return found


if __name__ == "__main__":
    print(json.dumps(reached(sys.argv[1], Path(sys.argv[2]))))
