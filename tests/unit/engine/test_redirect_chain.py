"""Chains of internal redirects."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from whimbrel.engine.redirect_chain import first_request


def test_the_first_request_of_a_chain() -> None:
    first: Any = SimpleNamespace(prev=None)
    second: Any = SimpleNamespace(prev=first)
    third: Any = SimpleNamespace(prev=second)
    assert [first_request(r) for r in (first, second, third)] == [first] * 3
