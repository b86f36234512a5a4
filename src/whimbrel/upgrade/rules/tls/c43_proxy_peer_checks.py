"""C43: names and dates of back ends' certificates are checked.

Document: documents/C43-proxy-peer-checks.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.edits.helpers import insert_below
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.queries import lines_for_24, server_of

NAMES: Final = ("SSLProxyCheckPeerName", "SSLProxyCheckPeerCN")
"""Directives that disable the check of the name if one of them is Off."""
EXPIRE: Final = "SSLProxyCheckPeerExpire"


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every server with TLS to back ends and without a directive about their certificates."""
    declared = {
        name: {server_of(line) for line in lines_for_24(tree, name.lower())} for name in (*NAMES, EXPIRE)
    }
    for line in tree.named("sslproxyengine"):
        if [word.lower() for word in line.words()[:1]] != ["on"]:
            continue
        servers = {server_of(line), None}
        wanted = [] if any(declared[name] & servers for name in NAMES) else [f"{name} Off" for name in NAMES]
        wanted += [] if declared[EXPIRE] & servers else [f"{EXPIRE} Off"]
        if wanted:
            yield Finding(
                "C43",
                line.place,
                (
                    "2.4 checks the name and the dates of a back end's certificate and answers 500 (the "
                    "guide: 502) if they are wrong"
                ),
                (
                    f"write {', '.join(wanted)}, the behaviour of 2.2; omit them where the certificates "
                    "are valid"
                ),
                Risk.CHANGES,
                Safety.SAFE,
                insert_below(tree, line, wanted),
                decision="May the certificates of back ends stay unverified, as in 2.2?",
                answers=(
                    f"yes: upgrade writes {', '.join(wanted)}",
                    "no: # whimbrel: ignore[C43] above the line keeps the text as it is; "
                    "they have to be valid then",
                ),
            )


RULE = Rule("C43", "proxy-peer-checks", "Certificates of back ends are checked", check)
