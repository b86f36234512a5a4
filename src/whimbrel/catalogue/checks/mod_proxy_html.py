"""mod_proxy_html's notice before the configuration is executed; the module has its argument rules itself."""

from __future__ import annotations

from collections.abc import Set

from whimbrel.catalogue.checks.rules import CheckWarning


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
