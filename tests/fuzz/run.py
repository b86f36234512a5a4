"""Fuzz the targets of tests/fuzz/targets one after the other (`make fuzz TIME=60 ONLY=head`).

Each runs in a process of its own for the given time. Corpora and findings stay in build/fuzz, a directory
for each target; a later run goes on from there. The exit code is 1 if there is a finding: its input belongs
into a test, and its cause out of the package.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.fuzz.fuzzer import EXECUTED
from tests.fuzz.target import names

ROOT: Final = Path(__file__).resolve().parent.parent.parent
BUILD: Final = ROOT / "build" / "fuzz"
MORE: Final = 300.0  # seconds for the end of a run beyond its time


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", help="names of targets (default: all)")
    parser.add_argument("--seconds", type=float, default=60.0, help="time of each target (default: 60)")
    parser.add_argument("--directory", type=Path, default=BUILD, help="corpora and findings")
    parser.add_argument("--list", action="store_true", help="print the names of the targets")
    options = parser.parse_args(arguments)
    known = names()
    if options.list:
        print("\n".join(known))
        return 0
    unknown = sorted(set(options.targets) - set(known))
    if unknown:
        parser.error(f"no target: {' '.join(unknown)} (--list names them)")
    problems = [fuzz(name, options.seconds, options.directory / name) for name in options.targets or known]
    return int(any(problems))


def fuzz(name: str, seconds: float, directory: Path) -> int:
    """Fuzz one target, print a line about it; return the number of its findings."""
    directory.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "tests.fuzz.fuzzer", name, str(seconds), str(directory)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=seconds + MORE
        )
        status, log = done.returncode, done.stderr
    except subprocess.TimeoutExpired as problem:
        status, log = -1, problem.stderr or b""
    (directory / "log").write_bytes(log)
    count = re.search(rf"{EXECUTED} *(\d+)".encode(), log)
    findings = sorted((directory / "findings").glob("*.txt"))
    inputs = count[1].decode() if count else "no"
    print(f"{name}: {inputs} inputs, {len(findings)} findings, {lines(name, directory)}")
    for finding in findings:
        print(f"  {finding}: {finding.read_text('utf-8').partition(chr(10))[0]}")
    if status and not findings:
        print(f"  the fuzzer ended with {status}: {directory}/log")
    sys.stdout.flush()
    return len(findings) + (status != 0)


def lines(name: str, directory: Path) -> str:
    """Return the share of lines that the corpus of a target runs, and write the others to its directory."""
    command = [sys.executable, "-m", "tests.fuzz.reached", name, str(directory)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=MORE * 2)
    if done.returncode:
        return "lines not measured"
    found: dict[str, tuple[int, list[int]]] = json.loads(done.stdout)
    statements = sum(count for count, _missing in found.values())
    missing = sum(len(numbers) for _count, numbers in found.values())
    (directory / "missing").write_text(
        "".join(f"{file}: {numbers}\n" for file, (_, numbers) in found.items())
    )
    return f"{100 - 100 * missing / max(statements, 1):.1f} % of {statements} lines"


if __name__ == "__main__":
    sys.exit(main())
