"""C34: AddOutputFilterByType is mod_filter's.  Document: documents/C34-output-filter-by-type.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.estate import Estate
from whimbrel.upgrade.model import Finding, Risk, Rule
from whimbrel.upgrade.rules.helping import lacks


def check(estate: Estate) -> Iterator[Finding]:
    """The lines where mod_filter is missing; else the first one, whose error pages change."""
    missing = lacks(estate, "filter_module")
    for line in estate.named("addoutputfilterbytype"):
        if missing:
            yield Finding("C34", line.place, "AddOutputFilterByType belongs to mod_filter, which is not loaded: 2.4 does not start",
                          "load mod_filter", Risk.BREAKS)
            continue
        yield Finding("C34", line.place, "2.4 filters answers only; 2.2 also put error pages of such a type through the filter",
                      "nothing, unless error pages must be filtered: then SetOutputFilter", Risk.COSMETIC)
        break


RULE = Rule("C34", "output-filter-by-type", "AddOutputFilterByType is mod_filter's", check)
