"""C10: EnableSendfile is Off unless set.  Document: documents/C10-sendfile.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.estate import Estate
from whimbrel.upgrade.mending import is_new, main_statements
from whimbrel.upgrade.model import Finding, Risk, Rule


def check(estate: Estate) -> Iterator[Finding]:
    """A configuration that never speaks about it."""
    own = main_statements(estate)
    if own and not is_new(estate) and not any(estate.named("enablesendfile")):
        yield Finding("C10", own[0].place, "EnableSendfile is Off unless set, where 2.2 had it On: the same answers, sent otherwise",
                      "write EnableSendfile On if the file system is a local one and it made a difference", Risk.COSMETIC)


RULE = Rule("C10", "sendfile", "EnableSendfile is Off unless set", check)
