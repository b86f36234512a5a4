"""C41: the *_DN variables have the format of RFC 2253.  Document: documents/C41-dn-format.md"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.edits.helpers import change_args, insert_below
from whimbrel.upgrade.model import FileEdit, Finding, InputContext, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.queries import has_server_context, lines_for_24, server_of

VARIABLE: Final = re.compile(r"SSL_(?:CLIENT|SERVER)_[SI]_DN(?!_)")
LEGACY: Final = "LegacyDNStringFormat"
GIVING: Final = ("stdenvvars", "fakebasicauth")
"""Options that pass names to programs and password files."""


def check(tree: ConfigTree) -> Iterator[Finding]:
    """If names of certificates are used, yield each server with TLS and each line that resets the options."""
    if tree.context is not InputContext.SERVER and not any(True for _ in _engines(tree)):
        yield from _possible(tree)
    if not _uses_dn(tree):
        return
    for line in tree.named("ssloptions"):
        if _is_reset(line) and _legacy(line) is None:
            yield _finding(line, _with_legacy_format(tree, line))
    for engine in _engines(tree):
        server = server_of(engine)
        options_24 = [
            line
            for line in lines_for_24(tree, "ssloptions")
            if has_server_context(line) and server_of(line) in (server, None)
        ]
        server_options = [line for line in options_24 if server_of(line) is server]
        # what a line resets in the server is a finding of its own; the main server's lines may set the rest
        if any(_is_reset(line) for line in server_options) or any(
            _legacy(line) is not None for line in options_24
        ):
            continue
        last = next((line for line in reversed(server_options) if line.in_22 is not False), None)
        yield (
            _finding(last, _with_legacy_format(tree, last))
            if last is not None
            else _finding(engine, insert_below(tree, engine, [f"SSLOptions +{LEGACY}"]))
        )


def _possible(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the first line of each file that uses such a name, if the server with SSLEngine is not in the
    input."""
    if any(_legacy(line) is not None for line in tree.named("ssloptions")):
        return
    seen: set[str] = set()
    for line in tree.all_statements():
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
                (
                    "possible: the *_DN variables have the format of RFC 2253 in 2.4 (CN=x,O=y instead of "
                    "/O=y/CN=x); the SSLEngine and SSLOptions for this file are elsewhere"
                ),
                f"write `SSLOptions +{LEGACY}` in the server, or compare with the new format",
            )


def _uses_dn(tree: ConfigTree) -> bool:
    """Return True if a program, a log or an expression reads a name of a certificate."""
    if any(_is_giving(line) for line in tree.named("ssloptions")):
        return True
    if not any(True for _ in _engines(tree)):
        return False
    return any(
        "_DN" in line.args and VARIABLE.search(line.args)
        for line in tree.all_statements()
        if line.in_24 is not False
    )


def _engines(tree: ConfigTree) -> Iterator[Statement]:
    return (line for line in tree.named("sslengine") if line.file.role is not Role.FRAGMENT and _on(line))


def _on(line: Statement) -> bool:
    return [word.lower() for word in line.words()[:1]] in (["on"], ["optional"])


def _since_reset(line: Statement) -> list[str]:
    """Return the lower-case words from the last one without a sign on, or all: mod_ssl of 2.2 and 2.4 leaves
    no option of the words before it, of the same line either.
    """
    words = [word.lower() for word in line.words()]
    bare = [number for number, word in enumerate(words) if word[:1] not in "+-"]
    return words[bare[-1] :] if bare else words


def _is_reset(line: Statement) -> bool:
    """Return True if the line has a word without a sign, which leaves no option of outer sections."""
    return any(word[:1] not in "+-" for word in line.words())


def _is_giving(line: Statement) -> bool:
    """Return True if the line sets an option of `GIVING`."""
    return any(word.removeprefix("+") in GIVING for word in _since_reset(line))


def _legacy(line: Statement) -> bool | None:
    """Return True or False if the line sets or removes the old format by its name, None if it does not."""
    words = [word for word in _since_reset(line) if word.lstrip("+-") == LEGACY.lower()]
    return words[-1][:1] != "-" if words else None


def _with_legacy_format(tree: ConfigTree, line: Statement) -> tuple[FileEdit, ...]:
    # with a sign: a further word without one would remove the options of the words before it
    return change_args(tree, line, f"{line.args.strip()} +{LEGACY}")


def _finding(line: Statement, edits: tuple[FileEdit, ...]) -> Finding:
    return Finding(
        "C41",
        line.place,
        ("SSL_CLIENT_S_DN and similar variables contain CN=...,C=... (RFC 2253) instead of /C=.../CN=..."),
        (
            f"write SSLOptions +{LEGACY}, which restores the old format, or adapt the programs that "
            "read the names"
        ),
        Risk.CHANGES,
        Safety.SAFE,
        edits,
    )


RULE = Rule("C41", "dn-format", "Names of certificates have another format", check)
