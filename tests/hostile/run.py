"""Run measures of reliability: `python -m tests.hostile.run [NAME ...]`; exits with 1 if a promise is broken."""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
import time
from pathlib import Path

import tests.hostile
from tests.hostile.measure import Budget, Measure, Result


def measures() -> dict[str, Measure]:
    """All measures of this package by name."""
    modules = [
        importlib.import_module(f"tests.hostile.{m.name}")
        for m in pkgutil.iter_modules(tests.hostile.__path__)
        if m.name != "run" and not m.name.startswith("test_")
    ]
    return {measure.name: measure for module in modules for measure in getattr(module, "MEASURES", ())}


def report(measure: Measure, result: Result, seconds: float) -> None:
    """Print what one measure found."""
    verdict = f"skipped: {result.skipped}" if result.skipped else "broken" if result.failures else "kept"
    figures = ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in result.figures.items()
    )
    print(f"{measure.name:24} {verdict:8} {seconds:6.1f} s  {figures}", flush=True)
    for line in result.failures[:20]:
        print(f"    {line[:400]}", flush=True)
    if len(result.failures) > 20:
        print(f"    and {len(result.failures) - 20} more", flush=True)


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
    options = parser.parse_args()
    if unknown := set(options.names) - known.keys():
        parser.error(f"no such measure: {', '.join(sorted(unknown))}; --list names all")
    chosen = [known[name] for name in options.names or sorted(known)]
    if options.list:
        for measure in chosen:
            print(f"{measure.name:24} {measure.promise}")
        return 0
    found = {}
    for measure in chosen:
        begin = time.monotonic()
        result = measure.run(
            Budget(max(int(measure.cases * options.scale), 1), measure.seconds * options.scale, options.seed)
        )
        report(measure, result, time.monotonic() - begin)
        found[measure.name] = {
            "figures": result.figures,
            "failures": result.failures,
            "skipped": result.skipped,
        }
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return any(entry["failures"] for entry in found.values())


if __name__ == "__main__":
    sys.exit(main())
