"""C42 and X05: SSLv2 is gone, SSLv3 in most builds of OpenSSL too.  Documents: documents/C42-ssl-v2.md, documents/X05-ssl-v3.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.estate import Estate, Statement
from whimbrel.upgrade.model import Finding, Risk, Rule, Safety
from whimbrel.upgrade.rules.helping import change


def check_v2(estate: Estate) -> Iterator[Finding]:
    """Lines that ask for SSLv2; ``-SSLv2`` is fine."""
    for line in estate.named("sslprotocol", "sslproxyprotocol"):
        if _asks(line, "sslv2"):
            yield _found(estate, line, "C42", "SSLv2", "SSLv2 is no longer supported: 2.4 does not start with it", Safety.SAFE)


def check_v3(estate: Estate) -> Iterator[Finding]:
    """Lines that ask for SSLv3, which OpenSSL of today is built without."""
    for line in estate.named("sslprotocol", "sslproxyprotocol"):
        if _asks(line, "sslv3"):
            message = "most builds of OpenSSL have no SSLv3 any more, and with those 2.4 does not start"
            yield _found(estate, line, "X05", "SSLv3", message, Safety.REVIEW)


def _asks(line: Statement, protocol: str) -> bool:
    return any(word.lower().lstrip("+") == protocol for word in line.words())


def _found(estate: Estate, line: Statement, rule: str, protocol: str, message: str, safety: Safety) -> Finding:
    words = line.words()
    kept = [word for word in words if word.lower().lstrip("+") != protocol.lower()]
    if not _leaves_any(words, kept):
        return Finding(rule, line.place, f"{message}, and nothing else is allowed here", "choose protocols: SSLProtocol all", Risk.BREAKS)
    return Finding(rule, line.place, message, f"take {protocol} away", Risk.BREAKS, safety, change(estate, line, " ".join(kept)))


def _leaves_any(words: list[str], kept: list[str]) -> bool:
    """Whether *kept* allows anything: each word without a sign starts anew, so that one that goes may not be the last of them."""
    bare = [word for word in words if word[:1] not in "+-"]
    if bare and bare[-1] not in kept:
        return False
    return any(word[:1] != "-" for word in kept)


RULE = Rule("C42", "ssl-v2", "SSLv2 is gone", check_v2)
V3 = Rule("X05", "ssl-v3", "SSLv3 is gone where OpenSSL has none", check_v3)
