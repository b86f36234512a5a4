"""Random configurations that apache2 and Whimbrel check, start and stop: a sample of `make starts`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.servers import APACHE
from tests.differential.start_grammar import generate
from tests.differential.start_runs import compare, reason

# Of series 1: right and wrong text, a warning of the MPM, an ErrorLogFormat, a library that is none.
SAMPLE = (0, 3, 44, 144, 162)

pytestmark = pytest.mark.skipif(not Path(APACHE.argv[0]).exists(), reason="apache2 is not installed")


@pytest.mark.parametrize("number", SAMPLE)
def test_the_same_course(number: int) -> None:
    case = generate(number, 1)
    found = compare(case)
    assert not found or reason(case, found), case.text


def test_a_series_is_repeatable() -> None:
    assert generate(7, 1) == generate(7, 1)
    assert generate(7, 1) != generate(7, 2)
