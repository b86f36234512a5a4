"""The list of cases that cannot agree holds nothing more than it must."""

from __future__ import annotations

import pytest

from tests.conformance.cases import Exempt, covered, exempt
from tests.conformance.judge import is_needed


@pytest.mark.parametrize("entry", exempt(), ids=lambda e: e.pattern)
def test_every_exemption_has_a_reason_and_cases(entry: Exempt) -> None:
    assert len(entry.reason) > 20
    assert next(covered(entry), None) is not None


@pytest.mark.parametrize("entry", exempt(), ids=lambda e: e.pattern)
def test_every_exemption_is_still_needed(entry: Exempt) -> None:
    assert is_needed(entry), "these cases agree: remove the line"


def test_an_exemption_of_cases_that_agree_is_found() -> None:
    entry = Exempt("config-args-0005", "an exemption of a case that agrees")
    assert next(covered(entry), None) is not None
    assert not is_needed(entry)
