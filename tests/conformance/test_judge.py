"""A case whose answer depends on the scheduler is asked again, any other one is not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.case import Case
from tests.conformance.cases import load_cases
from tests.conformance.evaluate import Result
from tests.conformance.judge import settled

CHUNKED: dict[str, Any] = {"status": 200, "headers": [["Transfer-Encoding", "chunked"]]}
SHORT: dict[str, Any] = {"status": 200, "headers": [["Content-Length", "3"]]}
LONGER: dict[str, Any] = {"status": 200, "headers": [["content-length", "4"]]}


@pytest.mark.parametrize(
    ("differences", "calls"),
    [
        ([None], 1),
        ([(CHUNKED, SHORT), None], 2),
        ([(CHUNKED, SHORT), (SHORT, CHUNKED), (CHUNKED, SHORT)], 3),
        ([(SHORT, LONGER)], 1),
        ([(CHUNKED, None)], 1),
        ([("a log line", "")], 1),
    ],
)
def test_only_framing_is_asked_again(differences: list[tuple[object, object] | None], calls: int) -> None:
    case = load_cases("core-http", "2.4")[0]
    given: list[Result] = []

    def ask(asked: Case) -> Result:
        result = Result(asked)
        pair = differences[len(given)]
        if pair is not None:
            result.add_difference(*pair)
        given.append(result)
        return result

    assert settled(ask, case) is given[-1]
    assert len(given) == calls
