"""Recorded cases of the real servers, where they are at hand."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]


@cache
def _given() -> Path:
    return Path(os.environ.get("WHIMBREL_SHARED") or REPOSITORY.parent / "shared") / "conformance" / "given"


@cache
def _load(family: str) -> list[dict[str, Any]]:
    with open(_given() / f"{family}.jsonl", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture
def recorded() -> Callable[[str], list[dict[str, Any]]]:
    """The cases of a family; the test is skipped where the recordings are absent."""

    def load(family: str) -> list[dict[str, Any]]:
        if not (_given() / f"{family}.jsonl").exists():
            pytest.skip(f"no recordings of {family} below {_given()} (set WHIMBREL_SHARED)")
        return _load(family)

    return load


@pytest.fixture
def answers(recorded: Callable[[str], list[dict[str, Any]]]) -> Callable[..., Iterator[tuple[Any, ...]]]:
    """(case, version, request, response) of every recorded answer of the cases whose title begins so."""

    def walk(family: str, title: str = "") -> Iterator[tuple[Any, ...]]:
        for case in recorded(family):
            if not case["title"].startswith(title):
                continue
            for version, answer in case["answers"].items():
                for request, response in zip(case.get("requests", []), answer.get("responses", []), strict=False):
                    if response is not None:
                        yield case, version, request, response

    return walk
