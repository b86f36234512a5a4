"""mod_proxy_html's argument rules."""

from __future__ import annotations

from collections.abc import Set

from whimbrel.catalogue.checks.numbers import strtol
from whimbrel.catalogue.checks.rules import CheckWarning, Rule, when

CHECKS: dict[str, Rule] = {
    "proxyhtmlbufsize": when(
        lambda words, around: strtol(words[0])[1] != "" or words[0] == "-",
        "Invalid value for directive ProxyHTMLBufSize, expected integer",
    ),
}


def before(loaded: Set[str]) -> CheckWarning | None:
    """Return a notice if mod_xml2enc is not loaded."""
    return (
        None
        if "xml2enc_module" in loaded
        else CheckWarning(
            "I18n support in mod_proxy_html requires mod_xml2enc. Without it, non-ASCII characters in "
            "proxied pages are likely to display incorrectly.",
            "AH01425",
            "notice",
        )
    )
