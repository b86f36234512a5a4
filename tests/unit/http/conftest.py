"""Recorded cases of the real servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from tests.conformance.case import Record
from tests.conformance.cases import load


@pytest.fixture
def recorded() -> Callable[[str], Sequence[Record]]:
    """The cases of a family."""
    return load


@pytest.fixture
def answers(recorded: Callable[[str], Sequence[Record]]) -> Callable[..., Iterator[tuple[Any, ...]]]:
    """Return (case, version, request, response) of every recorded exchange of the cases whose title begins
    with the given text.
    """

    def walk(family: str, title: str = "") -> Iterator[tuple[Any, ...]]:
        for case in recorded(family):
            if not case["title"].startswith(title):
                continue
            for version, answer in case["answers"].items():
                for request, response in zip(
                    case.get("requests", []), answer.get("responses", []), strict=False
                ):
                    if response is not None:
                        yield case, version, request, response

    return walk
