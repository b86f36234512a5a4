"""This checkout's programs, asked recorded cases."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.conformance.case import VERSIONS, Case, case_of, has_version
from tests.conformance.cases import Exempt, covered
from tests.conformance.evaluate import Result, evaluate
from tests.conformance.program import Program

HTTPD = Path(sys.executable).with_name("whimbrel-httpd")
UTILITIES = f"{Path(sys.executable).with_name('whimbrel')} {{}}"


def evaluate_checkout(case: Case) -> Result:
    """The result of asking whimbrel-httpd, or a utility, one case."""
    dialect = " --dialect 2.2" if case.version == "2.2" else ""
    program = Program.of(f"{HTTPD} --builtin debian{dialect}", case.version)
    return evaluate(case, program, f"{UTILITIES}{dialect}")


def is_needed(entry: Exempt) -> bool:
    """Return True if a packed case of the exemption still differs."""
    views = (
        case_of(record, version)
        for record in covered(entry)
        for version in VERSIONS
        if has_version(record, version)
    )
    return any(evaluate_checkout(case).differences for case in views)
