"""C04: modules that 2.2 had compiled in need LoadModule lines.  Document: documents/C04-compiled-in.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.estate import Estate
from whimbrel.upgrade.loading import loading
from whimbrel.upgrade.mending import is_new, main_statements
from whimbrel.upgrade.model import Finding, Risk, Rule
from whimbrel.upgrade.needed_modules import of_rule


def check(estate: Estate) -> Iterator[Finding]:
    """Every module that is used without being loaded; a word where the text says nothing about modules."""
    own = main_statements(estate)
    if own and not is_new(estate) and not any(estate.named("loadmodule")) and not loading(estate).lines:
        yield Finding("C04", own[0].place,
                      "no LoadModule line: what 2.2 had compiled in is not in the text, and only what the directives show is loaded",
                      "compare with the list of `httpd -l` of the old server", Risk.CHANGES)
    yield from of_rule(estate, "C04")


RULE = Rule("C04", "compiled-in", "Modules that were compiled in need LoadModule lines", check, order=10)
