"""mod_brotli's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import CheckContext, Rule, in_range, one_of


def _note(words: list[str], around: CheckContext) -> str | None:
    return (
        one_of("input output ratio", "Unknown BrotliFilterNote type '{0}'")(words, around)
        if len(words) > 1
        else None
    )


CHECKS: dict[str, Rule] = {
    "brotlialteretag": one_of(
        "AddSuffix NoChange Remove", "BrotliAlterETag accepts only 'AddSuffix', 'NoChange' and 'Remove'"
    ),
    "brotlicompressionmaxinputblock": in_range(
        16, 24, "BrotliCompressionMaxInputBlock must be between 16 and 24"
    ),
    "brotlicompressionquality": in_range(0, 11, "BrotliCompressionQuality must be between 0 and 11"),
    "brotlicompressionwindow": in_range(10, 24, "BrotliCompressionWindow must be between 10 and 24"),
    "brotlifilternote": _note,
}
