"""C41: the *_DN variables have the format of RFC 2253.  Document: documents/C41-dn-format.md"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.estate import Estate, Role, Statement
from whimbrel.upgrade.model import FileEdit, Finding, InputContext, Risk, Rule, Safety
from whimbrel.upgrade.rules.helping import at_server_level, below, change, in_24, server_of

VARIABLE: Final = re.compile(r"SSL_(?:CLIENT|SERVER)_[SI]_DN(?!_)")
LEGACY: Final = "LegacyDNStringFormat"
GIVING: Final = ("stdenvvars", "fakebasicauth")
"""Options that hand names to programs and password files."""


def check(estate: Estate) -> Iterator[Finding]:
    """Where names of certificates are used, each server with TLS and each line that sets the options anew."""
    if estate.context is not InputContext.SERVER and not any(True for _ in _engines(estate)):
        yield from _possible(estate)
    if not _used(estate):
        return
    options = list(estate.named("ssloptions"))
    for line in options:
        if not _legacy(line) and not _signed(line):
            yield _found(line, _with(estate, line))
    for engine in _engines(estate):
        server = server_of(engine)
        own = [line for line in in_24(estate, "ssloptions") if at_server_level(line) and server_of(line) in (server, None)]
        here = [line for line in own if server_of(line) is server]
        if any(_legacy(line) for line in (here or own)) or any(not _signed(line) for line in here):
            continue
        last = next((line for line in reversed(here) if line.in_22 is not False), None)
        yield _found(last, _with(estate, last)) if last is not None else _found(engine, below(estate, engine, [f"SSLOptions +{LEGACY}"]))


def _possible(estate: Estate) -> Iterator[Finding]:
    """The first line of each file that uses such a name, where the server that sets SSLEngine is not at
    hand.
    """
    if any(_legacy(line) for line in estate.named("ssloptions")):
        return
    seen: set[str] = set()
    for line in estate.everything():
        if (
            "_DN" in line.args
            and VARIABLE.search(line.args)
            and line.in_24 is not False
            and line.file.path not in seen
        ):
            seen.add(line.file.path)
            yield Finding(
                "C41",
                line.place,
                "possible: the *_DN variables have the format of RFC 2253 in 2.4 (CN=x,O=y instead of /O=y/CN=x); the "
                "SSLEngine and SSLOptions of this file stand elsewhere",
                f"write `SSLOptions +{LEGACY}` in the server, or compare with the new format",
            )


def _used(estate: Estate) -> bool:
    """Whether anybody is told the name in a certificate."""
    if any(_words(line) & set(GIVING) for line in estate.named("ssloptions")):
        return True
    if not any(True for _ in _engines(estate)):
        return False
    return any("_DN" in line.args and VARIABLE.search(line.args) for line in estate.everything() if line.in_24 is not False)


def _engines(estate: Estate) -> Iterator[Statement]:
    return (line for line in estate.named("sslengine") if line.file.role is not Role.FRAGMENT and _on(line))


def _on(line: Statement) -> bool:
    return [word.lower() for word in line.words()[:1]] in (["on"], ["optional"])


def _words(line: Statement) -> set[str]:
    return {word.lower().lstrip("+") for word in line.words()}


def _legacy(line: Statement) -> bool:
    return LEGACY.lower() in {word.lower().lstrip("+-") for word in line.words()}


def _signed(line: Statement) -> bool:
    return all(word[:1] in "+-" for word in line.words())


def _with(estate: Estate, line: Statement) -> tuple[FileEdit, ...]:
    return change(estate, line, f"{line.args.strip()} {'+' * _signed(line)}{LEGACY}")


def _found(line: Statement, edits: tuple[FileEdit, ...]) -> Finding:
    return Finding(
        "C41", line.place, "SSL_CLIENT_S_DN and its like read CN=...,C=... (RFC 2253) instead of /C=.../CN=...",
        f"SSLOptions {LEGACY} keeps the old format; or adapt what reads the names", Risk.CHANGES, Safety.SAFE, edits,
    )


RULE = Rule("C41", "dn-format", "Names of certificates have another format", check)
