"""Runs measures of reliability: `python -m tests.hostile.run [NAME ...]`; exits with 1 if a promise is
broken.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import tests.hostile
from tests.hostile.measure import Budget, Measure, Result


def measures() -> dict[str, Measure]:
    """Return all measures of this package and of tests/soak by name."""
    modules = [
        importlib.import_module(f"tests.hostile.{m.name}")
        for m in pkgutil.iter_modules(tests.hostile.__path__)
        if m.name != "run" and not m.name.startswith("test_")
    ]
    modules += [importlib.import_module(name) for name in ("tests.soak.soak", "tests.soak.races")]
    return {measure.name: measure for module in modules for measure in getattr(module, "MEASURES", ())}


def _verdict(result: Result) -> str:
    return f"skipped: {result.skipped}" if result.skipped else "broken" if result.failures else "holds"


def _listed(result: Result) -> str:
    return ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in result.figures.items()
    )


def report(measure: Measure, result: Result, seconds: float) -> None:
    """Print the result of one measure."""
    print(f"{measure.name:24} {_verdict(result):8} {seconds:6.1f} s  {_listed(result)}", flush=True)
    for line in result.failures[:20]:
        print(f"    {line[:1000]}", flush=True)
    if len(result.failures) > 20:
        print(f"    and {len(result.failures) - 20} more", flush=True)


DOCUMENT = """# Reliability

Written by `make hostile HOSTILE="--json FILE --document docs/reliability.md"`. Each measure sends hostile or
odd traffic to a server on the loopback (with a limit on its memory, beside a real apache2 where the promise
names it) and checks one promise. Each row is the newest run of its measure on one machine with two cores;
`load` is that of the machine when the measure began. `--scale 0.1` runs a tenth of the cases; `--list` names
the measures. `make soak` and `make races` run theirs, with the same options in SOAK= and RACES=.

| measure | promise | result | seconds | load | figures |
|---|---|---|---:|---:|---|
"""


@dataclass(frozen=True)
class Run:
    """One run of a measure.

    Attributes:
        result: what it measured.
        seconds: how long it took.
        load: load average of the machine when it began; None where that was not recorded.
    """

    result: Result
    seconds: float
    load: float | None

    @property
    def shown_load(self) -> str:
        """The load for the table."""
        return "-" if self.load is None else f"{self.load:.1f}"


def read_runs(path: Path) -> dict[str, Run]:
    """Return the runs that `write_runs` stored by name of the measure; none where the file is missing."""
    if not path.exists():
        return {}
    stored = json.loads(path.read_text())
    return {name: Run(Result(**run.pop("result")), **run) for name, run in stored.items()}


def write_runs(path: Path, runs: dict[str, Run]) -> None:
    """Store runs; those of other measures that the file holds already stay."""
    merged = {**read_runs(path), **runs}
    path.write_text(json.dumps({name: asdict(run) for name, run in sorted(merged.items())}, indent=1))


def split_section(text: str) -> tuple[str, str]:
    """Split the text of docs/reliability.md before its first section, which `make faults` writes."""
    measured, mark, section = text.partition("\n## ")
    return measured.rstrip("\n") + "\n", mark.lstrip() + section


def table_rows(text: str) -> dict[str, str]:
    """Return the rows of the table of measures in the text of docs/reliability.md by name of the measure."""
    table, _ = split_section(text)
    return {line.split("`")[1]: line for line in table.splitlines() if line.startswith("| `")}


def document(runs: dict[str, Run], promises: dict[str, Measure], before: str = "") -> str:
    """Return the text of docs/reliability.md: a row for each run, and the rows of other measures and the
    section of *before*, the text that is replaced.
    """
    rows = table_rows(before) | {
        name: f"| `{name}` | {promises[name].promise} | {_verdict(run.result)} "
        f"| {run.seconds:.0f} | {run.shown_load} | {_listed(run.result)} |"
        for name, run in runs.items()
        if name in promises
    }
    table = "".join(f"{row}\n" for name, row in sorted(rows.items()) if name in promises)
    section = split_section(before)[1]
    return DOCUMENT + table + (f"\n{section}" if section else "")


def main() -> int:
    known = measures()
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.run", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="run these measures only (default: all)")
    parser.add_argument("--list", action="store_true", help="list the measures with their promises")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="multiply cases and seconds of each measure (default: 1)"
    )
    parser.add_argument("--seed", type=int, default=1, help="start random numbers here (default: 1)")
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="store the figures in FILE, beside those of other measures that it holds",
    )
    parser.add_argument(
        "--document",
        type=Path,
        metavar="FILE",
        help="write a table of the results to FILE; rows of other measures in FILE stay",
    )
    options = parser.parse_args()
    if unknown := set(options.names) - known.keys():
        parser.error(f"no such measure: {', '.join(sorted(unknown))}; --list names all")
    chosen = [known[name] for name in options.names or sorted(known)]
    if options.list:
        for measure in chosen:
            print(f"{measure.name:24} {measure.promise}")
        return 0
    runs: dict[str, Run] = {}
    for measure in chosen:
        begin, load = time.monotonic(), os.getloadavg()[0]
        budget = Budget(
            max(int(measure.cases * options.scale), 1), measure.seconds * options.scale, options.seed
        )
        run = Run(measure.run(budget), time.monotonic() - begin, load)
        runs[measure.name] = run
        report(measure, run.result, run.seconds)
        if options.json:
            write_runs(options.json, {measure.name: run})
    if options.document:
        before = options.document.read_text() if options.document.exists() else ""
        options.document.write_text(
            document(read_runs(options.json) if options.json else runs, known, before)
        )
    return any(run.result.failures for run in runs.values())


if __name__ == "__main__":
    sys.exit(main())
