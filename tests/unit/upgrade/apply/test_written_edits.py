"""The finding behind a written line."""

from __future__ import annotations

from random import Random

import pytest

from whimbrel.upgrade.apply.written_edits import LineWriters


@pytest.mark.parametrize("seed", range(200))
def test_the_nearest_finding_is_that_of_a_search_of_all(seed: int) -> None:
    random = Random(seed)
    findings = [(random.randrange(9), random.choices("abc", k=random.randrange(4))) for _ in range(seed % 12)]
    writers = LineWriters(findings)
    for text in "abcd":
        for number in range(-1, 11):
            able = [at for at, (_, texts) in enumerate(findings) if text in texts]
            expected = min(able, key=lambda at: abs(findings[at][0] - number), default=None)
            assert writers.nearest(text, number) == expected, (findings, text, number)
