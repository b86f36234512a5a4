"""The list of cases that can't be met holds nothing more than it must."""

from __future__ import annotations

import pytest

from tests.conformance.cases import Exempt, covered, exempt
from tests.conformance.judge import needed


@pytest.mark.parametrize("entry", exempt(), ids=lambda e: e.pattern)
def test_every_exemption_has_a_reason_and_cases(entry: Exempt) -> None:
    assert len(entry.reason) > 20
    assert next(covered(entry), None) is not None


@pytest.mark.parametrize("entry", exempt(), ids=lambda e: e.pattern)
def test_every_exemption_is_still_needed(entry: Exempt) -> None:
    assert needed(entry), "these cases agree: take the line off"
