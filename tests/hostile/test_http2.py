"""Short forms of the HTTP/2 measures: violations of RFC 9113, mutated frames, memory, floods."""

from __future__ import annotations

import pytest

pytest.importorskip("hpack", reason="the optional package hpack is not installed")

from tests.hostile import floods_http2, memory_http2, mutations_http2
from tests.hostile.http2_cases import recorded, verdicts
from tests.hostile.measure import Budget
from tests.hostile.server import APACHE, WHIMBREL


def test_violations_end_as_they_do_with_apache2() -> None:
    found, log = verdicts(WHIMBREL)
    assert found == {case: ours for case, (_theirs, ours) in recorded().items()}
    assert "Traceback" not in log


@pytest.mark.skipif(not APACHE.is_present, reason="apache2 is not installed")
def test_the_recorded_verdicts_are_those_of_apache2() -> None:
    wanted = {case: theirs for case, (theirs, _ours) in recorded().items()}
    found, _log = verdicts(APACHE)
    others = [case for case in wanted if found[case] != wanted[case]]
    assert len(others) <= 5, others  # more than a busy machine explains
    if others:
        found |= verdicts(APACHE, others)[0]
    assert found == wanted


def test_mutated_frames() -> None:
    result = mutations_http2.run(Budget(150, 30.0))
    assert not result.failures
    assert result.figures["sequences"] >= 100


@pytest.mark.parametrize(
    "name",
    [
        "cached page of 259 kB, 10,000 times",
        "fields unlike any other",
        "indexed fields, 120 kB",
        "unread bodies in frames of one byte",
    ],
)
def test_memory(name: str) -> None:
    result = memory_http2.run(Budget(1, 60.0), (name,), connections=8, seconds=1.0)
    assert not result.failures
    assert name in result.figures


@pytest.mark.skipif(not APACHE.is_present, reason="apache2 is not installed")
def test_an_honest_client_beside_a_flood() -> None:
    result = floods_http2.run(Budget(1, 60.0), ("rapid reset",), seconds=2.0)
    assert not result.failures
    assert result.figures
