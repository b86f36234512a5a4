"""whimbrel htdigest equals httpd's htdigest: recorded cases, and what they cannot show."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.cli.utility_cases import Case, cases, same, title

from whimbrel.utilities import usage


@pytest.mark.parametrize("case", cases("htdigest"), ids=title)
def test_as_recorded(case: Case, tmp_path: Path) -> None:
    assert same(tmp_path, case, usage.HTDIGEST)
