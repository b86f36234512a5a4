"""This checkout's programs, asked recorded cases; what the scheduler decides is asked again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conformance.case import VERSIONS, Case, case_of, has_version
from tests.conformance.cases import Exempt, covered
from tests.conformance.compare import FRAMING_FIELDS
from tests.conformance.evaluate import Result, evaluate
from tests.conformance.program import Program

HTTPD = Path(sys.executable).with_name("whimbrel-httpd")
UTILITIES = f"{Path(sys.executable).with_name('whimbrel')} {{}}"


def evaluate_checkout(case: Case) -> Result:
    """The result of asking whimbrel-httpd, or a utility, one case."""
    dialect = " --dialect 2.2" if case.version == "2.2" else ""
    program = Program.of(f"{HTTPD} --builtin debian{dialect}", case.version)
    return evaluate(case, program, f"{UTILITIES}{dialect}")


def settled(ask: Callable[[Case], Result], case: Case) -> Result:
    """Return the result of a case, of the last of three attempts while the framing of a response differs.

    The response of a program has a Content-Length if the program ends before the server reads its output; any
    other one is chunked, as httpd's. On a busy machine the scheduler decides.
    """
    result = ask(case)
    for _ in range(2):
        if not any(map(_differs_in_framing, result.differences)):
            break
        result = ask(case)
    return result


def _differs_in_framing(difference: dict[str, Any]) -> bool:
    sides = [difference["expected"], difference["actual"]]
    if not all(isinstance(side, dict) and "headers" in side for side in sides):
        return False
    expected, actual = ({name.lower() for name, _ in side["headers"]} & FRAMING_FIELDS for side in sides)
    return expected != actual


def is_needed(entry: Exempt) -> bool:
    """Return True if a packed case of the exemption still differs."""
    views = (
        case_of(record, version)
        for record in covered(entry)
        for version in VERSIONS
        if has_version(record, version)
    )
    return any(evaluate_checkout(case).differences for case in views)
