"""Each module runs as a server with nothing replaced, beside apache2: one row, one request, one proof."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.differential.module_row import Row
from tests.differential.module_site import FLAGS, NEEDS, ModuleSite, programs, running_backends
from tests.differential.module_table import ROWS

Answers = Callable[[str, str], dict[str, dict[str, str]]]


@pytest.fixture(scope="module")
def answers() -> Answers:
    """Return a function of dialect and process: the evidence of all its rows, by program and host."""

    @cache
    def collected(version: str, process: str) -> dict[str, dict[str, str]]:
        rows = [row for row in ROWS if version in row.versions and row.process == process]
        rows = [row for row in rows if not NEEDS[row.needs]]
        found = {}
        # not below pytest's directory, which every start of pytest closes to other users
        with TemporaryDirectory(prefix="whimbrel-rows-") as base, running_backends(Path(base)) as places:
            for program in programs(version):
                root = Path(base) / program.name
                asked = [row for row in rows if program.name == "whimbrel" or not row.apart]
                with ModuleSite(program, root, rows, version, places) as site:
                    assert site.started, site.output
                    found[program.name] = {row.host: site.evidence(row) for row in asked}
                assert "Traceback" not in _log(root)
        return found

    return collected


def _log(root: Path) -> str:
    return (root / "run/error_log").read_text("latin-1") + (root / "run/output").read_text("latin-1")


CASES = [(version, row) for row in ROWS for version in row.versions]


@pytest.mark.parametrize(("version", "row"), CASES, ids=[f"{row.host}-{version}" for version, row in CASES])
def test_module_acts(answers: Answers, version: str, row: Row) -> None:
    if NEEDS[row.needs]:
        pytest.skip(NEEDS[row.needs])
    for program, found in answers(version, row.process).items():
        if row.host in found:
            assert re.search(row.shows, found[row.host], FLAGS), f"{program}: {found[row.host][:600]}"
