"""mod_ratelimit: limits the bandwidth of response bodies in kibibytes per second.

The filter RATE_LIMIT reads the variables ``rate-limit`` and ``rate-initial-burst``. Manual:
mod/mod_ratelimit.html.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.numbers import atoi
from whimbrel.directives.spec import Versions
from whimbrel.engine.body import Source
from whimbrel.engine.output.filter import FilterType, OutputFilter
from whimbrel.modules.support.throttled_source import ThrottledSource
from whimbrel.registry.module import Module, Provider, Reads

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

KIBI: Final = 1024
STEPS: Final = 5  # pieces in a second


class RateLimit(OutputFilter):
    """Output filter RATE_LIMIT, behind the header filter."""

    name = "RATE_LIMIT"
    type = FilterType.PROTOCOL + 3
    reads = Reads.UNCACHEABLE

    def begin(self, r: Request) -> Source | None:
        """Return the throttled body; None without a limit."""
        rate = atoi(r.env.get("rate-limit", "")) * KIBI
        if rate <= 0 or r.main is not None or not r.body:
            return None
        burst = max(0, atoi(r.env.get("rate-initial-burst", "")) * KIBI)
        return ThrottledSource(r.body, max(1, rate // STEPS), 1 / STEPS, burst)


MODULE = Module(
    name="ratelimit_module",
    source="mod_ratelimit.c",
    providers=(Provider("output_filter", "rate_limit", RateLimit()),),
    versions=Versions.V24,
)
