"""Command line of `make nightly`: run all long tests in a given time; exit with 1 if a part is red.

The output of each part, the seeds and the page stay in a directory below build/nightly.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.nightly.page import Page, Row
from tests.nightly.parts import PARTS, ROOT, Part

BUILD = ROOT / "build" / "nightly"
MORE = 240.0  # seconds beyond twice its share after which a part is ended
GRACE = 20.0  # seconds that a part has to stop its servers
FIGURE = re.compile(r"\d")


def figures_of(output: str) -> str:
    """Return the last line of an output that has a figure."""
    lines = [line.strip() for line in output.splitlines() if FIGURE.search(line)]
    return re.sub(r"\s+", " ", lines[-1]) if lines else "no output"


def _verdict(part: Part, status: int) -> str:
    if status in part.unable:
        return "skipped"
    return "red" if status else "green"


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a part with its servers: by TERM first, so that it removes its files."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, number)
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                continue


def run_part(part: Part, seconds: float, seed: int, directory: Path) -> Row:
    """Run one part; its output goes to a file of *directory*."""
    command = part.command(seconds, seed)
    if not command:
        return Row(part.name, "skipped", 0.0, seed, "its command is not there", command)
    log = directory / f"{part.name}.log"
    begin = time.monotonic()
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True
        )
        try:
            status = process.wait(2 * seconds + MORE)
        except subprocess.TimeoutExpired:
            status = -1
        finally:
            _stop(process)
    spent = time.monotonic() - begin
    output = log.read_text("utf-8", "replace")
    figures = "did not end in time" if status == -1 else figures_of(output)
    if part.name in output and status != -1:  # the row of a measure begins with its name
        lines = [line for line in output.splitlines() if line.startswith(part.name)]
        figures = re.sub(r"\s+", " ", lines[-1]) if lines else figures
    return Row(part.name, _verdict(part, status), spent, seed, figures, command)


def run(parts: Sequence[Part], minutes: float, seed: int, directory: Path) -> Page:
    """Run *parts* one after the other; each has its share of the time that the ones before have left,
    and half of its share of the whole time at least.
    """
    dice = random.Random(seed)
    seeds = [dice.randrange(1, 1_000_000) for _ in parts]
    end = time.monotonic() + 60 * minutes
    whole = sum(part.share for part in parts)
    rows: list[Row] = []
    for at, (part, own) in enumerate(zip(parts, seeds, strict=True)):
        left = max(0.0, end - time.monotonic())
        least = max(1.0, 30 * minutes * part.share / whole)
        seconds = max(least, left * part.share / sum(one.share for one in parts[at:]))
        print(f"{part.name}: {seconds:.0f} s, seed {own}", file=sys.stderr, flush=True)
        rows.append(run_part(part, seconds, own, directory))
        (directory / "rows.json").write_text(json.dumps([asdict(row) for row in rows], indent=1))
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    date = time.strftime("%Y-%m-%d")
    return Page(date, commit.stdout.strip() or "unknown", seed, minutes, tuple(rows))


def main(arguments: Sequence[str] | None = None, parts: Sequence[Part] = PARTS) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="make nightly", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="time of all parts (default: 60)")
    parser.add_argument("--seed", type=int, default=0, help="0: another one each time (default)")
    parser.add_argument("--only", nargs="+", metavar="PART", help="run these parts only (default: all)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page to FILE in Markdown")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the page to FILE in HTML")
    parser.add_argument(
        "--directory", type=Path, default=BUILD, help="outputs of the parts (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    known = {part.name for part in parts}
    if unknown := sorted(set(options.only or ()) - known):
        parser.error(f"no part: {' '.join(unknown)}; there are {', '.join(sorted(known))}")
    chosen = [part for part in parts if not options.only or part.name in options.only]
    seed = options.seed or random.SystemRandom().randrange(1, 1_000_000)
    directory = options.directory / time.strftime("%Y-%m-%d-%H%M%S")
    directory.mkdir(parents=True, exist_ok=True)
    page = run(chosen, options.minutes, seed, directory)
    (directory / "page.txt").write_text(page.text())
    if options.markdown:
        options.markdown.write_text(page.markdown())
    if options.html:
        options.html.write_text(page.html())
    print(page.text(), end="")
    return int(any(row.verdict == "red" for row in page.rows))


if __name__ == "__main__":
    sys.exit(main())
