"""Runs the table of faults and loads: `python -m tests.faults.run`; exits with 1 if a promise is broken."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.faults.cell import SPARE_DESCRIPTORS, Observation, Scene, failures
from tests.faults.interposer import COMPILER, remove_library
from tests.faults.loads import LOADS, Load
from tests.faults.plan import FAULTS, Fault
from tests.faults.site import BackEnd
from tests.hostile.run import split_section
from tests.hostile.server import APACHE, WHIMBREL, Program

SECONDS = 3.0
SECTION = """## Faults by plan

Written by `make faults FAULTS="--json FILE --document docs/reliability.md"`. In each cell six clients load a
server of two workers for a second; the fault lasts for three; then the load goes on until all responses have
been right for a second. The site lies on a tmpfs. A library that the linker loads first injects errors and
delays of the disk, jumps of the clock and lookups that hang (`tests/faults/interposer.c`). A cell is broken
by a response that the promise does not allow, a response without its line in the access log, a line without
a request, a traceback, a process or more than 16 descriptors left, or a recovery of more than 5 seconds.
`--only` runs some faults, loads or cells (`slow-disk`, `proxy`, `slow-disk/proxy`); other rows stay.

Loads: `static`: documents of three sizes, a missing one, a protected one. `proxy`: a back end's documents,
and bodies that it sends back. `tls-h2`: both over TLS and HTTP/2, three streams at the same time.
`dav-cache`: PUT, GET, PROPFIND, LOCK, UNLOCK and DELETE, and a back end's documents through mod_cache_disk.

| fault | promise |
|---|---|
"""
HEADER = """
Failures of a connection: `reset` (it ended before the response was complete), `refused`, `unanswered` (after
15 seconds). Recovery is the time from the end of the fault to the last response that was not right. Lines:
lost and repeated ones of the access log. Left: processes and descriptors. Each row is one run on two cores
that had other work: numbers of responses are no measure of speed. Where only right responses are counted, the
fault has met no request, or it has done no harm.

| fault and load | result | responses | recovery s | slowest s | lines | tracebacks | left | apache2 |
|---|---|---|---:|---:|---:|---:|---:|---|
"""


@dataclass
class CellResult:
    """A cell on Whimbrel and, where it is installed, on apache2; *failures* break the promise."""

    whimbrel: Observation
    apache: Observation | None
    failures: list[str] = field(default_factory=list)


def missing() -> str:
    """Return what this machine lacks for the table, "" if nothing."""
    if os.getuid() != 0:
        return "only root can mount a disk"
    return "" if COMPILER else "there is no C compiler"


def observe(program: Program, fault: Fault, load: Load, seconds: float) -> Observation:
    """Return what a cell shows on one program."""
    with BackEnd() as back_end:
        return Scene(program, fault, load, seconds, back_end).observe()


def run_cell(fault: Fault, load: Load, seconds: float) -> CellResult:
    """Run a cell on Whimbrel and, where it is installed, on apache2."""
    whimbrel = observe(WHIMBREL, fault, load, seconds)
    apache = observe(APACHE, fault, load, seconds) if APACHE.is_present else None
    return CellResult(whimbrel, apache, failures(fault, load, whimbrel))


def responses(found: Observation) -> str:
    """Return the numbers of responses for the table."""
    return ", ".join(f"{name} {count}" for name, count in sorted(found.outcomes.items(), key=_rank))


def _rank(item: tuple[str, int]) -> tuple[bool, str]:
    return item[0] != "right", item[0]


def seconds_of(found: Observation) -> str:
    """Return the time of the recovery for the table."""
    return "never" if found.recovery is None else f"{found.recovery:.1f}"


def summary(found: Observation) -> str:
    """Return a line about one program."""
    noted = {
        "lines lost": found.lost,
        "lines repeated": found.repeated,
        "processes left": found.processes,
        "descriptors left": found.descriptors if found.descriptors > SPARE_DESCRIPTORS else 0,
    }
    more = "".join(f", {name} {count}" for name, count in noted.items() if count)
    return f"{responses(found)}; recovery {seconds_of(found)}, slowest {found.slowest:.1f}{more}"


def row(name: str, result: CellResult) -> str:
    """Return the row of a cell."""
    found = result.whimbrel
    verdict = f"broken: {'; '.join(result.failures)}" if result.failures else "holds"
    apache = summary(result.apache) if result.apache else "-"
    return (
        f"| `{name}` | {verdict} | {responses(found)} | {seconds_of(found)} | {found.slowest:.1f} "
        f"| {found.lost} and {found.repeated} | {found.tracebacks} "
        f"| {found.processes} and {found.descriptors} | {apache} |"
    )


def cell_names() -> list[str]:
    """Return the names of all cells in their order."""
    return [f"{fault}/{load}" for fault in FAULTS for load in LOADS]


def cell_rows(text: str) -> dict[str, str]:
    """Return the rows of the cells in the text of docs/reliability.md by name."""
    _, section = split_section(text)
    rows = {line.split("`")[1]: line for line in section.splitlines() if line.startswith("| `")}
    return {name: line for name, line in rows.items() if "/" in name}


def document(results: dict[str, CellResult], before: str) -> str:
    """Return the text of docs/reliability.md with a row for each result; other rows of *before* stay."""
    rows = cell_rows(before) | {name: row(name, result) for name, result in results.items()}
    promises = "".join(f"| `{fault.name}` | {fault.promise} |\n" for fault in FAULTS.values())
    cells = "".join(f"{rows[name]}\n" for name in cell_names() if name in rows)
    return f"{split_section(before)[0]}\n{SECTION}{promises}{HEADER}{cells}"


def read_results(path: Path) -> dict[str, CellResult]:
    """Return the results that `write_results` stored; none where the file is missing."""
    if not path.exists():
        return {}
    return {
        name: CellResult(
            Observation(**item["whimbrel"]),
            Observation(**item["apache"]) if item["apache"] else None,
            item["failures"],
        )
        for name, item in json.loads(path.read_text()).items()
    }


def write_results(path: Path, results: dict[str, CellResult]) -> None:
    """Store results; those of other cells that the file holds already stay."""
    merged = {**read_results(path), **results}
    path.write_text(json.dumps({name: asdict(merged[name]) for name in sorted(merged)}, indent=1))


def chosen_cells(only: list[str]) -> list[str]:
    """Return the cells that *only* names, all without a name; raises ValueError for an unknown name."""
    names = cell_names()
    if unknown := [name for name in only if name not in names and name not in FAULTS and name not in LOADS]:
        raise ValueError(f"no such fault, load or cell: {', '.join(unknown)}; --list names all")
    return [name for name in names if not only or not {name, *name.split("/")}.isdisjoint(only)]


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.run", description=__doc__)
    parser.add_argument("--list", action="store_true", help="list the faults with their promises")
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="NAME",
        help="run some faults, loads or cells (FAULT/LOAD) only (default: all)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        help=f"let each fault last for so many seconds (default: {SECONDS:g})",
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="store the figures in FILE, beside those of other cells that it holds",
    )
    parser.add_argument(
        "--document",
        type=Path,
        metavar="FILE",
        help="write the section of the results to FILE; rows of other cells in FILE stay",
    )
    options = parser.parse_args(arguments)
    try:
        options.cells = chosen_cells(options.only)
    except ValueError as problem:
        parser.error(str(problem))
    return options


def main() -> int:
    options = parse(sys.argv[1:])
    if options.list:
        for fault in FAULTS.values():
            print(f"{fault.name:20} {fault.promise}")
        return 0
    if reason := missing():
        print(f"skipped: {reason}")
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    results: dict[str, CellResult] = {}
    try:
        for number, name in enumerate(options.cells, 1):
            print(f"{number} of {len(options.cells)}: {name}", file=sys.stderr, flush=True)
            begin = time.monotonic()
            fault, _, load = name.partition("/")
            result = run_cell(FAULTS[fault], LOADS[load], options.seconds)
            results[name] = result
            report(name, result, time.monotonic() - begin)
            if options.json:
                write_results(options.json, {name: result})
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    finally:
        remove_library()
    if options.document:
        before = options.document.read_text() if options.document.exists() else ""
        options.document.write_text(document(results, before))
    broken = sum(bool(result.failures) for result in results.values())
    print(f"{len(results)} cells, {broken} broken")
    return int(broken > 0)


def report(name: str, result: CellResult, seconds: float) -> None:
    """Print the result of one cell."""
    verdict = "broken" if result.failures else "holds"
    print(f"{name:28} {verdict:8} {seconds:5.1f} s  {summary(result.whimbrel)}", flush=True)
    for line in [*result.failures, *result.whimbrel.examples[:10]] if result.failures else []:
        print(f"    {line[:400]}", flush=True)
    if result.apache:
        print(f"{'':28} apache2           {summary(result.apache)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
