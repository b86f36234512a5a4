"""The packed recordings of 2.2 that the upgrade tests take their samples from."""

from __future__ import annotations

import os

from tests.conformance.case import Case
from tests.conformance.cases import load_cases
from tests.conformance.upgrade_run import is_upgradable
from tests.support.samples import amount

CASES = int(os.environ.get("WHIMBREL_CASES", amount(1, 2)))


def upgradable(family: str) -> list[Case]:
    """The packed cases of a family that can be upgraded."""
    return [case for case in load_cases(family, "2.2") if is_upgradable(case)]
