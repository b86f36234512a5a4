"""Findings about access control without an edit: side effects of the new text, and differences that no text
removes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from whimbrel.access.sections import absolute_path
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes
from whimbrel.upgrade.access_control.analysis import analyze_access
from whimbrel.upgrade.access_control.effective import (
    flatten_directives,
    split_args,
)
from whimbrel.upgrade.access_control.sections import AccessSection
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.source.config_tree import ConfigTree

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost", "127.0.0.1/32", "127"})
_MAX_LINE_22: Final = 8191


def _note(number: str, section: AccessSection, message: str, advice: str = "do nothing") -> Finding:
    return Finding(number, section.place, message, advice, Risk.COSMETIC)


def satisfy_any_logs(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the sections that keep Satisfy Any."""
    for section, written in analyze_access(tree).plans.items():
        if any(
            line.name == "satisfy" and line.args.lower() == "any"
            for line in flatten_directives(written.control)
        ):
            yield _note(
                "X13",
                section,
                "2.4 logs AH01797 under Satisfy Any for requests that it then answers with 200",
                "ignore such lines where a program reads the error log, for example fail2ban",
            )


def outvoted(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the sections of 2.4 with Require all granted beside other lines."""
    for section in analyze_access(tree).inventory.sections:
        if section.is_upgraded:
            texts = [line.args.lower().split() for line in section.lines_24 if line.name == "require"]
            if any(text[:1] == ["not"] for text in texts):
                yield Finding(
                    "X14",
                    section.place,
                    (
                        f"Require not stands among lines without a container: 2.4 {section.file.refusal} "
                        "with it (negative Require directive has no effect in <RequireAny>)"
                    ),
                    "put the lines into <RequireAll>",
                    Risk.BREAKS,
                )
            elif ["all", "granted"] in texts and any(text != ["all", "granted"] for text in texts):
                yield _note(
                    "X14",
                    section,
                    "lines without a container are alternatives: Require all granted admits every client",
                    "remove the line, or put the others into <RequireAll>",
                )


def loopback(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the sections that admit the loopback address."""
    analysis = analyze_access(tree)
    for section in analysis.plans:
        entries = [
            word.lower()
            for line in flatten_directives(analysis.decisions.lines[section])
            if line.name == "allow"
            for word in split_args(line.args)[1:]
        ]
        if _LOOPBACK.intersection(entries):
            yield _note(
                "X18",
                section,
                (
                    "an address stays one address; Require local is wider: 127.0.0.0/8, ::1, connections "
                    "of the machine to itself"
                ),
                "write Require local if that is meant",
            )


def by_environment(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the sections that test environment variables."""
    analysis = analyze_access(tree)
    for section in analysis.plans:
        if any(
            word.lower().startswith("env=")
            for line in flatten_directives(analysis.decisions.lines[section])
            if line.name in ("allow", "deny") and "env=" in line.args.lower()
            for word in split_args(line.args)
        ):
            yield _note(
                "X21",
                section,
                (
                    "env= of Allow and Deny is Require env; set the variables as early as before, by "
                    "SetEnvIf, not SetEnv"
                ),
            )


def bounds_exceeded(tree: ConfigTree) -> Iterator[Finding]:
    """Yield one finding, at the first section about access, with the bounds that the analysis exceeded."""
    analysis = analyze_access(tree)
    first = next(iter(analysis.plans), None)
    if first is not None and any(written.control for written in analysis.plans.values()):
        for what in analysis.bounds.exceeded:
            yield Finding(
                "C17",
                first.place,
                f"not all sections that can apply to one request were compared: {what}",
                "check the sections with patterns against the others",
                Risk.COSMETIC,
            )


# users ----------------------------------------------------------------------------------------------
def user_checks(tree: ConfigTree) -> Iterator[Finding]:
    """Yield digest logins, and lines of password and group files that exceed the line length of 2.2."""
    for line in tree.named("authtype"):
        if line.in_24 is not False and line.args.strip().strip('"').lower() == "digest":
            yield Finding(
                "C46",
                line.place,
                "2.4 refuses Digest logins without qop, and nonces of 2.2",
                "use Basic over TLS for such old clients",
                Risk.CLOSES,
            )
    for line in tree.named("authuserfile", "authgroupfile"):
        path = absolute_path(tree.text_root, line.words()[0]) if line.words() else ""
        if _has_long_line(tree.disk.on_disk(path)):
            yield Finding(
                "C46",
                line.place,
                (
                    f"{path} has a line of more than {_MAX_LINE_22} bytes, which 2.2 truncates and 2.4 "
                    "does not"
                ),
                "check the names at the end of that line",
                Risk.OPENS,
            )


def _has_long_line(path: str) -> bool:
    try:
        if os.path.getsize(to_bytes(path)) <= _MAX_LINE_22:
            return False
        lines = read_regular(to_bytes(path)).split(b"\n")
        return any(len(line) > _MAX_LINE_22 for line in lines)
    except OSError:
        return False
