"""Numbers of mod_status. Expected texts are from server-status of httpd 2.4.71, and APR's ``%g``."""

from __future__ import annotations

import pytest

from whimbrel.modules.generators.mod_status.state import kilo, number, size, span


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.25, ".25"), (0, "0"), (3481.6, "3481.6"), (0.2, ".2"), (3072, "3072"), (10.5, "10.5")],
)
def test_number(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(3584, "3584 B"), (0, "0 B"), (5120, "5.0 kB"), (524288, "0.5 MB"), (5 << 30, "5.0 GB")],
)
def test_size(count: int, text: str) -> None:
    assert size(count) == text


def test_kilo() -> None:
    assert [kilo(n) for n in (14, 2048, 3 << 20)] == ["14 kB", "2.0 MB", "3.0 GB"]


def test_span() -> None:
    """Each unit with a blank before it, singular for one."""
    assert span(0) == ""
    assert span(90061) == " 1 day 1 hour 1 minute 1 second"
    assert span(7200) == " 2 hours"
