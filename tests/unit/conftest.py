"""What the tests of single modules have in common."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from whimbrel.engine.deps import files


@pytest.fixture(scope="module", autouse=True)
def ticks() -> Iterator[None]:
    """Advance the file clock at each change of a file, so that a file just written is cacheable."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_clock", lambda kind: time.clock_gettime_ns(kind) + 10**9)
        yield
