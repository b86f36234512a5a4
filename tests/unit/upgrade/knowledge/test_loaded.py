"""Items about lines that were left out: what follows for answers, and for a start here.

apache2 2.4.71 with ErrorLog in a directory that is missing: "AH02291: Cannot access directory", exit code 1.
"""

from __future__ import annotations

import pytest

from whimbrel.base.errors import ForeignDirective, MissingResource, ProgramNotRun
from whimbrel.upgrade.knowledge.loaded import item_of


@pytest.mark.parametrize(
    ("problem", "matters", "consequence"),
    [
        (
            MissingResource("AH02291: Cannot access directory '/x/logs/' for main error log"),
            False,
            "no answer depends on it, but no server starts here without it",
        ),
        (MissingResource("Include directory not found", matters=True), True, ""),
        (ForeignDirective("WSGIDaemonProcess"), True, "its effect is not decided"),
        (ProgramNotRun("exec:/bin/date"), True, "what it would print is not decided"),
    ],
)
def test_consequences(problem: MissingResource, matters: bool, consequence: str) -> None:
    item = item_of(problem)
    assert (item.matters, item.consequence) == (matters, consequence)
