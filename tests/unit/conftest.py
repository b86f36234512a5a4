"""What the tests of single modules have in common."""

from __future__ import annotations

import time

import pytest

from whimbrel.engine.deps import files


@pytest.fixture(autouse=True)
def ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Advance the file clock at each change of a file, so that a file just written is cacheable."""
    monkeypatch.setattr(files, "_clock", lambda kind: time.clock_gettime_ns(kind) + 10**9)
