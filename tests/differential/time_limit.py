"""How long the differential tests run: a few fixed examples, or random ones for WHIMBREL_DIFF_SECONDS."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, settings

SECONDS = float(os.environ.get("WHIMBREL_DIFF_SECONDS", "0"))


def bounded(examples: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a test with Hypothesis settings: *examples* fixed ones, or random ones while time is left."""
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    if SECONDS:
        return settings(
            max_examples=int(SECONDS * 3) + 1, deadline=None, suppress_health_check=quiet, database=None
        )
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=quiet,
        database=None,
        derandomize=True,
        phases=(Phase.generate,),
    )


class TimeLimit:
    """The time of one test; it begins at the first call of `over`."""

    def __init__(self) -> None:
        self.end = 0.0

    def over(self) -> bool:
        self.end = self.end or time.monotonic() + SECONDS
        return bool(SECONDS) and time.monotonic() > self.end
