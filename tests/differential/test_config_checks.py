"""Arguments of directives, judged by `apache2 -t` and by Whimbrel: the same exit code and the same text.

`config_checks.txt` has the configurations, separated by ``----``; ``M:`` names modules. DBDriver depends on
the libraries of a machine and is no subject here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.config_verdicts import assert_verdicts
from tests.differential.servers import APACHE

BLOCKS = (Path(__file__).parent / "config_checks.txt").read_text().split("----\n")
STEP = 40

pytestmark = pytest.mark.skipif(not Path(APACHE.argv[0]).exists(), reason="apache2 is not installed")


@pytest.mark.parametrize("first", range(0, len(BLOCKS), STEP))
def test_verdicts(first: int, tmp_path: Path) -> None:
    assert_verdicts(tmp_path, BLOCKS[first : first + STEP])
