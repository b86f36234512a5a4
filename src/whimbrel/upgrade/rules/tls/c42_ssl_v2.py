"""C42 and X05: SSLv2 is gone, SSLv3 in most builds of OpenSSL too.  Documents: documents/C42-ssl-v2.md, documents/X05-ssl-v3.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.edits.helpers import change_args
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement


def check_v2(tree: ConfigTree) -> Iterator[Finding]:
    """Lines that ask for SSLv2; ``-SSLv2`` is fine."""
    for line in tree.named("sslprotocol", "sslproxyprotocol"):
        if _enables(line, "sslv2"):
            yield _finding(
                tree,
                line,
                "C42",
                "SSLv2",
                "SSLv2 is no longer supported: 2.4 does not start with it",
                Safety.SAFE,
            )


def check_v3(tree: ConfigTree) -> Iterator[Finding]:
    """Lines that ask for SSLv3, which OpenSSL of today is built without."""
    for line in tree.named("sslprotocol", "sslproxyprotocol"):
        if _enables(line, "sslv3"):
            message = "most builds of OpenSSL have no SSLv3 any more, and with those 2.4 does not start"
            yield _finding(tree, line, "X05", "SSLv3", message, Safety.REVIEW)


def _enables(line: Statement, protocol: str) -> bool:
    return any(word.lower().lstrip("+") == protocol for word in line.words())


def _finding(
    tree: ConfigTree, line: Statement, rule: str, protocol: str, message: str, safety: Safety
) -> Finding:
    words = line.words()
    remaining = [word for word in words if word.lower().lstrip("+") != protocol.lower()]
    if not _leaves_any(words, remaining):
        return Finding(
            rule,
            line.place,
            f"{message}, and nothing else is allowed here",
            "choose protocols: SSLProtocol all",
            Risk.BREAKS,
        )
    return Finding(
        rule,
        line.place,
        message,
        f"take {protocol} away",
        Risk.BREAKS,
        safety,
        change_args(tree, line, " ".join(remaining)),
    )


def _leaves_any(words: list[str], remaining: list[str]) -> bool:
    """Whether *kept* allows anything: each word without a sign starts anew, so that one that goes may not be the last of them."""
    bare = [word for word in words if word[:1] not in "+-"]
    if bare and bare[-1] not in remaining:
        return False
    return any(word[:1] != "-" for word in remaining)


RULE = Rule("C42", "ssl-v2", "SSLv2 is gone", check_v2)
V3 = Rule("X05", "ssl-v3", "SSLv3 is gone where OpenSSL has none", check_v3)
