"""R09: requests that violate the syntax of HTTP are refused. Document: documents/R09-strict-requests.md"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.queries import is_24_config, main_statements

SINCE: Final = 24
"""The N of 2.4.N with HttpProtocolOptions, which is Strict unless set."""


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding at the first Listen line of a server without HttpProtocolOptions."""
    if tree.options.target < SINCE or is_24_config(tree) or not main_statements(tree):
        return
    line = next(tree.named("listen"), None)
    if line is not None and not any(tree.named("httpprotocoloptions", include_inactive=True)):
        yield Finding(
            "R09",
            line.place,
            (
                "2.4 answers 400 to requests that violate the syntax of HTTP (a bare line feed, a "
                "blank in the URL or before the colon of a field, `GET *`, a second URL scheme); 2.2 "
                "before 2.2.32 accepted them"
            ),
            (
                "check whether old clients or monitors send such requests; HttpProtocolOptions Unsafe "
                "accepts some of them"
            ),
            Risk.COSMETIC,
        )


RULE = Rule("R09", "strict-requests", "Requests that break the syntax of HTTP are refused", check)
