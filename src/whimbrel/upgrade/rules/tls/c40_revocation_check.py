"""C40: revocation lists are checked only with SSLCARevocationCheck.

Document: documents/C40-revocation-check.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.edits.helpers import insert_below
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.queries import lines_for_24, server_of

MODE: Final = "chain no_crl_for_cert_ok"
"""The behaviour of 2.2: certificates of the whole chain are checked, and one without a list is valid."""
KINDS: Final = (
    (("sslcarevocationfile", "sslcarevocationpath"), "SSLCARevocationCheck"),
    (("sslproxycarevocationfile", "sslproxycarevocationpath"), "SSLProxyCARevocationCheck"),
)


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the last revocation list of each server, unless it or the main server
    has SSLCARevocationCheck."""
    for lists, wanted in KINDS:
        declared = {server_of(line) for line in lines_for_24(tree, wanted.lower())}
        last: dict[Statement | None, Statement] = {server_of(line): line for line in tree.named(*lists)}
        for server, line in last.items():
            if not declared & {server, None}:
                yield Finding(
                    "C40",
                    line.place,
                    (
                        f"2.4 checks revocation lists only with {wanted}: without it revoked certificates "
                        "are accepted"
                    ),
                    f"write {wanted} {MODE}, the behaviour of 2.2",
                    Risk.OPENS,
                    Safety.SAFE,
                    insert_below(tree, line, [f"{wanted} {MODE}"]),
                    decision="Is a certificate without a revocation list accepted, as in 2.2?",
                    answers=(
                        f"yes: upgrade writes {wanted} {MODE}",
                        "no: remove no_crl_for_cert_ok in the new text",
                    ),
                )


RULE = Rule("C40", "revocation-check", "Revocation lists need SSLCARevocationCheck", check)
