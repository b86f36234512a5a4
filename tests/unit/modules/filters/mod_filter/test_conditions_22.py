"""Conditions of 2.2's FilterProvider."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from whimbrel.base.regex import compile_regex
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.filters.mod_filter.conditions_22 import read_condition_22


class Compiler:
    """The part of a command that conditions need."""

    def regex(self, pattern: str, *, ignore_case: bool = False) -> object:
        return compile_regex(pattern, ignore_case=ignore_case)


def request() -> Any:
    return SimpleNamespace(
        headers_in=Headers([("X-Up", "Yes 12")]),
        headers_out=Headers([("X-Size", "15 bytes")]),
        err_headers_out=Headers([("X-Err", "1")]),
        env={"UP": "1"},
        handler=None,
        finfo=None,
        content_type="text/html; charset=x",
    )


@pytest.mark.parametrize(
    ("criterion", "match", "expected"),
    [
        ("req=X-Up", "yes 12", True),
        ("req=X-Up", "yes", False),
        ("REQ=X-Up", "$YES", True),
        ("req=X-Up", "/^y/", False),
        ("req=X-Up", "/^y/i", True),
        ("req=X-None", "!x", True),  # a missing value matches nothing, and so every negation
        ("req=X-None", "*", False),
        ("resp=X-Size", "=15", True),
        ("X-Size", "<15", False),
        ("X-Size", "<=15", True),
        ("X-Size", ">14", True),
        ("X-Size", ">=16", False),
        ("X-Size", "!>=16", True),
        ("X-Err", "*", True),
        ("env=UP", "1", True),
        ("env=up", "1", False),
        ("Content-Type", "$TEXT/", True),
        ("resp=content-type", "text/html", False),
        ("handler", "text/html", True),
        ("handler", "*", True),
    ],
)
def test_criterion_and_match(criterion: str, match: str, expected: bool) -> None:
    test = read_condition_22(cast(Any, Compiler()), criterion, match)
    assert test(request()) is expected
