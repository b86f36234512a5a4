"""whimbrel rotatelogs equals httpd's rotatelogs: recorded cases, and what they cannot show."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.cli.utility_cases import Case, call, cases, same, title

from whimbrel.utilities import usage


@pytest.mark.parametrize("case", cases("rotatelogs"), ids=title)
def test_as_recorded(case: Case, tmp_path: Path) -> None:
    assert same(tmp_path, case, usage.ROTATELOGS.replace("@PATH@", "rotatelogs"))


def test_the_old_one_ends_with_three(tmp_path: Path) -> None:
    assert call(tmp_path, ["rotatelogs", "--dialect", "2.2", "out.%%", "86400"], "x\n") == (3, "", "")
    assert (tmp_path / "out.%").read_text() == "x\n"
    assert call(tmp_path, ["rotatelogs", "--dialect", "2.2", "-t", "out", "1M"])[0] == 1
