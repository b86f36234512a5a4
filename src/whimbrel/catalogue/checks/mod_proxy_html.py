"""mod_proxy_html's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.numbers import strtol
from whimbrel.catalogue.checks.rules import Rule, when

CHECKS: dict[str, Rule] = {
    "proxyhtmlbufsize": when(lambda words, around: strtol(words[0])[1] != "" or words[0] == "-",
                             "Invalid value for directive ProxyHTMLBufSize, expected integer"),
}
