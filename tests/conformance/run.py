"""Send the recorded requests to an httpd-compatible program, compare its answers, print the agreement.

Columns, at rising strictness: status, and header fields, and body (full).  Two more columns count
the error logs and the access log lines that agree.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.conformance.case import VERSIONS, Case
from tests.conformance.cases import Exempt, exempt, packed, read_cases
from tests.conformance.evaluate import Result, evaluate, failed
from tests.conformance.program import MODULE_DIRECTORY, Program, absolute, apache
from tests.conformance.report import by_family, figures, table, total

EPILOG = """\
exit codes:
  0  the run is complete, and agreement is not below --floor
  1  agreement is below --floor
  2  the command line is wrong, or no case is selected

examples:
  python -m tests.conformance.run --program .venv/bin/whimbrel-httpd --every 40
  python -m tests.conformance.run --program ".venv/bin/whimbrel-httpd --dialect 2.2" --version 2.2
  python -m tests.conformance.run --apache --every 40
"""


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the options that select cases and write reports, which both runners have."""
    parser.add_argument(
        "--only",
        metavar="PATTERN",
        default="",
        help="select ids that match a regular expression (default: all; example: '^core-')",
    )
    parser.add_argument(
        "--every",
        metavar="N",
        type=_positive,
        default=1,
        help="select every Nth case (default: 1; example: 40)",
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=_positive,
        default=2,
        help="run N cases at a time (default: 2; example: 4)",
    )
    parser.add_argument(
        "--details",
        metavar="FILE",
        type=Path,
        help="write every difference as JSON lines (default: none; example: /tmp/details.jsonl)",
    )
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="write the figures as JSON, - for standard output (default: none; example: figures.json)",
    )
    parser.add_argument(
        "--except",
        metavar="FILE",
        dest="exemptions",
        type=Path,
        help="exclude the cases of a table PATTERN<TAB>REASON (default: none; example: EXCEPTIONS.tsv)",
    )
    parser.add_argument(
        "--floor",
        metavar="PERCENT",
        type=float,
        help="exit with 1 below this percentage of agreement (default: none; example: 99.5)",
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def arguments(argv: Sequence[str] | None) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """The parser and the parsed command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance.run",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    program = parser.add_mutually_exclusive_group(required=True)
    program.add_argument(
        "--program",
        metavar="COMMAND",
        help="test this command (no default; example: '.venv/bin/whimbrel-httpd --dialect 2.2')",
    )
    program.add_argument(
        "--apache",
        action="store_true",
        help="test Debian's apache2 of this machine, which checks the comparison itself",
    )
    parser.add_argument(
        "--version",
        choices=VERSIONS,
        default="2.4",
        help="compare with the answers of this version (default: 2.4; example: 2.2)",
    )
    parser.add_argument(
        "--utilities",
        metavar="COMMAND",
        default="{}",
        help="call utilities by this command, {} is the name (default: {}; example: '.venv/bin/whimbrel {}')",
    )
    parser.add_argument(
        "--module-dir",
        metavar="DIR",
        default=MODULE_DIRECTORY,
        help="name this directory in LoadModule lines; it need not exist "
        f"(default: {MODULE_DIRECTORY}; example: modules)",
    )
    parser.add_argument(
        "--builtin",
        metavar="NAMES",
        help="omit LoadModule lines of these modules (default: those that the recorded server "
        "had built in; example: so,core,http)",
    )
    add_selection(parser)
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        type=Path,
        help="read recordings, .jsonl or .jsonl.xz "
        "(default: the packed ones; example: tests/conformance/cases/core-*.xz)",
    )
    return parser, parser.parse_args(argv)


def program_of(options: argparse.Namespace) -> Program:
    """The program under test."""
    if options.apache:
        return apache()
    built_in = None if options.builtin is None else frozenset(filter(None, options.builtin.split(",")))
    return Program.of(options.program, options.version, options.module_dir, built_in)


def evaluate_all(cases: Sequence[Case], program: Program, utilities: str, jobs: int) -> Iterator[Result]:
    """Evaluate the cases, *jobs* at a time; yield the results in the order of the cases."""

    def attempt(case: Case) -> Result:
        try:
            return evaluate(case, program, utilities)
        except Exception as error:  # a failing case does not end the run
            return failed(case, error)

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(attempt, cases)


def detail(result: Result) -> dict[str, Any]:
    """A result with differences, for --details."""
    return {
        "id": result.case.id,
        "title": result.case.title,
        "levels": result.levels,
        "differences": result.differences,
    }


def write_json(path: str | None, value: object) -> None:
    """Write figures to a file, or to standard output for ``-``."""
    text = json.dumps(value, indent=1) + "\n"
    if path == "-":
        sys.stdout.write(text)
    elif path:
        Path(path).write_text(text, encoding="utf-8")


def split_exempt(results: Sequence[Result], entries: Sequence[Exempt]) -> tuple[list[Result], list[Result]]:
    """The results that count, and those of exempt cases."""
    parts: tuple[list[Result], list[Result]] = ([], [])
    for result in results:
        parts[any(entry.covers(result.case.id) for entry in entries)].append(result)
    return parts


def missing(paths: Sequence[Path]) -> list[str]:
    """The paths that are no files."""
    return [str(path) for path in paths if not path.is_file()]


def main(argv: Sequence[str] | None = None) -> int:
    parser, options = arguments(argv)
    exemptions = [options.exemptions] if options.exemptions else []
    if absent := missing([*options.files, *exemptions]):
        parser.error(f"no such file: {', '.join(absent)}")
    utilities = "{}" if options.utilities == "{}" else shlex.join(absolute(options.utilities))
    cases = list(read_cases(options.files or packed(), options.version, options.only))[:: options.every]
    if not cases:
        parser.error("no case is selected")
    results = list(evaluate_all(cases, program_of(options), utilities, options.jobs))
    if options.details:
        lines = (
            json.dumps(detail(result), ensure_ascii=False) + "\n" for result in results if result.differences
        )
        options.details.write_text("".join(lines), encoding="utf-8")
    counted, apart = split_exempt(results, [entry for path in exemptions for entry in exempt(path)])
    return print_report(options, counted, apart)


def print_report(options: argparse.Namespace, counted: Sequence[Result], apart: Sequence[Result]) -> int:
    """Print the table and the agreement; return the exit code."""
    totals = by_family(counted)
    overall = total(totals.values())
    unneeded = [result.case.id for result in apart if not result.differences]
    if options.json != "-":
        print(table(totals))
        if apart:
            print(
                f"exempt: {len(apart)} cases"
                + (f"; these agree now, remove them from the list: {' '.join(unneeded)}" if unneeded else "")
            )
        print(f"agreement {overall.percent:.2f} % of {overall.answers} answers")
    write_json(
        options.json,
        {
            "version": options.version,
            "families": figures(totals),
            "exempt": [result.case.id for result in apart],
            "unneeded": unneeded,
        },
    )
    return 1 if options.floor is not None and overall.percent < options.floor else 0


if __name__ == "__main__":
    sys.exit(main())
