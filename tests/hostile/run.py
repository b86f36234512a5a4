"""Runs measures of reliability: `python -m tests.hostile.run [NAME ...]`; exits with 1 if a promise is
broken.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
import time
from dataclasses import asdict
from pathlib import Path

import tests.hostile
from tests.hostile.measure import Budget, Measure, Result


def measures() -> dict[str, Measure]:
    """Return all measures of this package by name."""
    modules = [
        importlib.import_module(f"tests.hostile.{m.name}")
        for m in pkgutil.iter_modules(tests.hostile.__path__)
        if m.name != "run" and not m.name.startswith("test_")
    ]
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
        print(f"    {line[:400]}", flush=True)
    if len(result.failures) > 20:
        print(f"    and {len(result.failures) - 20} more", flush=True)


DOCUMENT = """# Reliability

Written by `make hostile HOSTILE="--document docs/reliability.md"`. Each measure sends hostile or odd \
traffic to a server on the
loopback (with a limit on its memory, beside a real apache2 where the promise names it) and checks \
one promise. The figures are
those of one run on one machine with two cores. `--scale 0.1` runs a tenth of the cases; \
`--list` names the measures.

| measure | promise | result | seconds | figures |
|---|---|---|---:|---|
"""


def document(results: list[tuple[Measure, Result, float]]) -> str:
    """Return the text of docs/reliability.md for results and the seconds that each took."""
    rows = [
        f"| `{measure.name}` | {measure.promise} | {_verdict(result)} | {seconds:.0f} | {_listed(result)} |\n"
        for measure, result, seconds in results
    ]
    return DOCUMENT + "".join(rows)


def main() -> int:
    known = measures()
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.run", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="run these measures only (default: all)")
    parser.add_argument("--list", action="store_true", help="list the measures with their promises")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="multiply cases and seconds of each measure (default: 1)"
    )
    parser.add_argument("--seed", type=int, default=1, help="start random numbers here (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--document", type=Path, metavar="FILE", help="write a table of the results to FILE")
    options = parser.parse_args()
    if unknown := set(options.names) - known.keys():
        parser.error(f"no such measure: {', '.join(sorted(unknown))}; --list names all")
    chosen = [known[name] for name in options.names or sorted(known)]
    if options.list:
        for measure in chosen:
            print(f"{measure.name:24} {measure.promise}")
        return 0
    results = []
    for measure in chosen:
        begin = time.monotonic()
        budget = Budget(
            max(int(measure.cases * options.scale), 1), measure.seconds * options.scale, options.seed
        )
        result = measure.run(budget)
        results.append((measure, result, time.monotonic() - begin))
        report(*results[-1])
    if options.json:
        options.json.write_text(
            json.dumps({measure.name: asdict(result) for measure, result, _ in results}, indent=1)
        )
    if options.document:
        options.document.write_text(document(results))
    return any(result.failures for _, result, _ in results)


if __name__ == "__main__":
    sys.exit(main())
