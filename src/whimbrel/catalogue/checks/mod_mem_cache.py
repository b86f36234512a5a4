"""mod_mem_cache's argument rules (2.2)."""

from __future__ import annotations

from whimbrel.catalogue.checks.numbers import strtol
from whimbrel.catalogue.checks.rules import Rule, in_range, when

NUMBERLESS = "{} value must be an integer{}"


def _starts(message: str) -> Rule:
    """The argument begins with a number."""
    return when(lambda words, around: strtol(words[0])[1] == words[0], message)


CHECKS: dict[str, Rule] = {
    "mcachesize": _starts(
        "MCacheSize argument must be an integer representing the max cache size in KBytes."
    ),
    "mcachemaxobjectcount": _starts(NUMBERLESS.format("MCacheMaxObjectCount", "")),
    "mcachemaxobjectsize": _starts(NUMBERLESS.format("MCacheMaxObjectSize", " (bytes)")),
    "mcacheminobjectsize": in_range(1, None, "MCacheMinObjectSize value must be an positive integer (bytes)"),
    "mcachemaxstreamingbuffer": when(
        lambda words, around: strtol(words[0])[1] != "", "MCacheMaxStreamingBuffer value must be a number"
    ),
}
