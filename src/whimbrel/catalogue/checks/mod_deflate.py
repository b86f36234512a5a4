"""mod_deflate's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.numbers import strtol
from whimbrel.catalogue.checks.rules import CheckContext, Rule, in_range, one_of


def _limit(words: list[str], around: CheckContext) -> str | None:
    value, rest, cut = strtol(words[0])
    if cut:
        return "DeflateInflateLimitRequestBody is not parsable."
    return "DeflateInflateLimitRequestBody requires a non-negative integer." if rest or value < 0 else None


CHECKS: dict[str, Rule] = {
    "deflatebuffersize": in_range(1, None, "DeflateBufferSize should be positive"),
    "deflatecompressionlevel": in_range(1, 9, "Compression Level must be between 1 and 9"),
    "deflatememlevel": in_range(1, 9, "DeflateMemLevel must be between 1 and 9"),
    "deflatewindowsize": in_range(1, 15, "DeflateWindowSize must be between 1 and 15"),
    "deflateinflateratioburst": in_range(1, None, "DeflateInflateRatioBurst must be positive"),
    "deflateinflateratiolimit": in_range(1, None, "DeflateInflateRatioLimit must be positive"),
    "deflateinflatelimitrequestbody": _limit,
    "deflatealteretag": one_of(
        "AddSuffix NoChange Remove", "DeflateAlterETAG accepts only 'NoChange', 'AddSuffix', and 'Remove'"
    ),
    "deflatefilternote": lambda words, around: (
        one_of("input output ratio", "Unknown note type {0}")(words, around) if len(words) > 1 else None
    ),
}
