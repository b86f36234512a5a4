"""Findings about a protocol of SSLProtocol or SSLProxyProtocol that 2.4 no longer supports."""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.edits.helpers import change_args
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement


def findings_of_protocol(
    tree: ConfigTree, rule: str, protocol: str, message: str, safety: Safety
) -> Iterator[Finding]:
    """Yield a finding for each line that enables *protocol*; an argument such as ``-SSLv2`` disables it and
    is accepted."""
    for line in tree.named("sslprotocol", "sslproxyprotocol"):
        if any(word.lower().lstrip("+") == protocol.lower() for word in line.words()):
            yield _finding(tree, line, rule, protocol, message, safety)


def _finding(
    tree: ConfigTree, line: Statement, rule: str, protocol: str, message: str, safety: Safety
) -> Finding:
    words = line.words()
    remaining = [word for word in words if word.lower().lstrip("+") != protocol.lower()]
    if not _leaves_any(words, remaining):
        return Finding(
            rule,
            line.place,
            f"{message}, and no other protocol is enabled here",
            "choose protocols: SSLProtocol all",
            Risk.BREAKS,
        )
    return Finding(
        rule,
        line.place,
        message,
        f"remove {protocol}",
        Risk.BREAKS,
        safety,
        change_args(tree, line, " ".join(remaining)),
    )


def _leaves_any(words: list[str], remaining: list[str]) -> bool:
    """Return True if *remaining* enables a protocol.

    Each argument without a sign replaces those before it, so a removed one must not be the last of them.
    """
    bare = [word for word in words if word[:1] not in "+-"]
    if bare and bare[-1] not in remaining:
        return False
    return any(word[:1] != "-" for word in remaining)
