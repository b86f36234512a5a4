"""whimbrel httxt2dbm equals httpd's httxt2dbm: recorded cases, and what they cannot show."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.cli.utility_cases import Case, call, cases, same, title

from whimbrel.utilities import usage


@pytest.mark.parametrize("case", cases("httxt2dbm"), ids=title)
def test_as_recorded(case: Case, tmp_path: Path) -> None:
    assert same(tmp_path, case, usage.HTTXT2DBM)


@pytest.mark.parametrize("kind", ["SDBM", "DB"])
def test_a_map_grows(kind: str, tmp_path: Path) -> None:
    assert call(tmp_path, ["httxt2dbm", "-f", kind, "-i", "-", "-o", "m"], "one 1\n")[0] == 0
    assert call(tmp_path, ["httxt2dbm", "-f", kind, "-i", "-", "-o", "m"], "two 2\n")[0] == 0
    assert call(tmp_path, ["htdbm", "-T" + kind, "-l", "m"])[2].endswith("Total #records : 2\n")
