"""No pair of configurations is called the same that apache2 answers otherwise."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.corpus.httpd_check import needs_apache
from tests.support.samples import some
from tests.verify.subtle_pairs import PAIRS
from tests.verify.subtle_run import tried
from whimbrel.verify.verification import Verdict


@pytest.fixture
def base() -> Iterator[Path]:
    """A directory that the user of apache2 may enter."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name).resolve()


@needs_apache
@pytest.mark.parametrize("name", some([*PAIRS], 6))
def test_a_pair_is_not_called_the_same(name: str, base: Path) -> None:
    found = tried(PAIRS[name], base)
    assert found.visible, "apache2 answers every request alike"
    assert not found.verified.errors[0] and not found.verified.errors[1]
    assert found.verified.verdict is not Verdict.SAME
