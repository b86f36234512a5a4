"""Findings about access control without an edit: side effects of the new text, and differences that no text
removes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

from whimbrel.access.chains import admitted_overrides
from whimbrel.access.sections import Override, absolute_path
from whimbrel.base.dialect import V22
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes
from whimbrel.catalogue import DirectiveEntry, catalogue
from whimbrel.config.model import SectionKind
from whimbrel.directives.spec import Context
from whimbrel.upgrade.access_control.analysis import (
    CONTAINERS_24,
    GIVEN,
    AccessAnalysis,
    analyze_access,
    persistent_cache,
)
from whimbrel.upgrade.access_control.effective import (
    flatten_directives,
    split_args,
)
from whimbrel.upgrade.access_control.sections import AccessSection
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.queries import is_branch
from whimbrel.upgrade.source.walk import walk

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost", "127.0.0.1/32", "127"})
_MAX_LINE_22: Final = 8191
_ADDED_BY_RULES: Final = frozenset({"substitutemaxlinelength"})
"""Directives that other rules add beside a line of 2.2."""
_NEW_FLAGS: Final = frozenset(("end", "qsd", "qsdiscard", "qsl", "qslast", "bne"))
"""Flags of RewriteRule that 2.2 refuses, without those that R01 adds to a line of 2.2."""
_MIN_ARGS: Final = {
    "NO_ARGS": 0,
    "TAKE1": 1,
    "TAKE12": 1,
    "TAKE123": 1,
    "TAKE13": 1,
    "ITERATE": 1,
    "FLAG": 1,
    "TAKE2": 2,
    "TAKE23": 2,
    "ITERATE2": 2,
    "TAKE3": 3,
}
_BITS: Final = {
    "authconfig": Context.OR_AUTHCFG,
    "limit": Context.OR_LIMIT,
    "fileinfo": Context.OR_FILEINFO,
    "indexes": Context.OR_INDEXES,
    "options": Context.OR_OPTIONS,
}
_WORDS: Final = {
    "authconfig": "AuthConfig",
    "limit": "Limit",
    "fileinfo": "FileInfo",
    "indexes": "Indexes",
    "options": "Options",
}


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
                        "Require not stands among lines without a container: 2.4 does not start with it "
                        "(negative Require directive has no effect in <RequireAny>)"
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
            if line.name in ("allow", "deny")
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


# .htaccess files ------------------------------------------------------------------------------------
def htaccess_findings(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the .htaccess files that one version answers with 500 and the other reads.

    The cause is a directive that one version lacks in .htaccess files, or refuses under the AllowOverride in
    force.
    """
    analysis = analyze_access(tree)
    overrides = admitted_overrides(tree.root, analysis.inventory)
    given = persistent_cache(tree)[GIVEN]
    assert isinstance(given, frozenset)
    by_lines = tree.has("loadmodule")  # without LoadModule lines every module may be compiled in
    for section in analysis.inventory.sections:
        if section.kind is SectionKind.HTACCESS and section in overrides:
            is_given = section.file.path in given
            htaccess_finding = _htaccess_finding(
                analysis, section, overrides[section], by_lines=by_lines, is_given=is_given
            )
            if htaccess_finding is not None:
                yield htaccess_finding


def _htaccess_finding(
    analysis: AccessAnalysis, section: AccessSection, override: Override, *, by_lines: bool, is_given: bool
) -> Finding | None:
    """Return the finding about a file that one version answers with 500.

    *is_given*: containers of 2.4 stood in it before the upgrade, and 2.2 refuses them.
    """
    bits = int(Context.OR_ALL) if override is None else sum(int(_BITS[name]) for name in override)
    loaded = analysis.decisions.cache.environment_22.settings(V22).configuration.modules
    catalogue_24, catalogue_22 = catalogue("2.4"), catalogue("2.2")
    refused_24: Statement | None = None
    for line in _all_statements(section.file.statements):
        rows_22, rows_24 = (
            loaded.rows(line.name) if by_lines else catalogue_22.find(line.name),
            catalogue_24.find(line.name),
        )
        if line.in_24 is False or line.name in _ADDED_BY_RULES:
            continue
        taken_24 = any(row.where & bits for row in rows_24)
        if line.in_22 is not False and (
            not rows_22
            or not any(row.where & bits for row in rows_22)
            or _too_short(line, str(rows_22[0].args), rows_24)
            or _has_new_argument(line)
        ):
            if not taken_24 or (line.name in CONTAINERS_24 and not is_given):
                return None
            return Finding(
                "X22",
                line.place,
                (
                    f"2.2 refuses {_name(line)} here and answers 500 to every request for the directory; "
                    "2.4 reads the file"
                ),
                "make sure that the directory may be served",
                Risk.OPENS,
            )
        if rows_24 and not taken_24 and refused_24 is None:
            refused_24 = line
    if refused_24 is None:
        return None
    if refused_24.is_section and not refused_24.children:
        return Finding(
            "X22",
            refused_24.place,
            (
                f"2.4 refuses {_name(refused_24)} under this AllowOverride and answers 500; the line "
                "has no effect"
            ),
            "remove it",
            Risk.CLOSES,
            Safety.SAFE,
            (refused_24.remove(),),
        )
    return Finding(
        "X22",
        refused_24.place,
        (f"2.4 refuses {_name(refused_24)} under this AllowOverride: 500 to every request for the directory"),
        _admission(analysis, section, override, catalogue_24.find(refused_24.name)),
        Risk.CLOSES,
    )


def _admission(
    analysis: AccessAnalysis, section: AccessSection, override: Override, rows: Sequence[DirectiveEntry]
) -> str:
    """Return the advice about a refused directive, with the AllowOverride line that admits it."""
    missing = next((word for word in _BITS if any(row.where & _BITS[word] for row in rows)), "")
    if not missing or override is None:
        return "remove the line, or admit it by AllowOverride"
    words = " ".join(_WORDS[word] for word in _BITS if word in override or word == missing)
    holders = [
        unit.override_lines[-1]
        for unit in analysis.inventory.sections
        if unit.override_lines and section.directory.startswith(unit.pattern.rstrip("/"))
    ]
    # the text, not the number of its line: edits of other rules move it
    where = " in the section of its directory"
    if holders:
        where = f" in place of `{_text(holders[-1])}` of {holders[-1].place.path}"
    return f"remove the line, or write `AllowOverride {words}`{where}"


def _too_short(line: Statement, args_22: str, rows_24: Sequence[DirectiveEntry]) -> bool:
    """Return True if the line has fewer arguments than 2.2 requires, but enough for 2.4."""
    if line.is_section or not rows_24 or _MIN_ARGS.get(args_22, 0) <= _MIN_ARGS.get(rows_24[0].args, 9):
        return False
    return _MIN_ARGS.get(rows_24[0].args, 9) <= len(line.words()) < _MIN_ARGS[args_22]


def _text(line: Statement) -> str:
    return f"{line.node.name} {line.args.strip()}"


def _has_new_argument(line: Statement) -> bool:
    """Return True for a flag of RewriteRule or a condition of Header that 2.2 refuses."""
    words = line.words() if line.name in ("rewriterule", "header", "requestheader") else []
    if line.name == "rewriterule":
        flags = words[2][1:-1].split(",") if len(words) > 2 and words[2][:1] == "[" else []
        return any(flag.partition("=")[0].strip().lower() in _NEW_FLAGS for flag in flags)
    return len(words) > 2 and words[-1].startswith("expr=")


def _name(line: Statement) -> str:
    return line.node.name if not line.is_section else f"<{line.node.name}>"


def _all_statements(statements: list[Statement]) -> Iterator[Statement]:
    """Yield the statements that a version may execute, those of branches for 2.4 alone too."""
    return (statement for statement in walk(statements) if not is_branch(statement))


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
        path = absolute_path(tree.root, line.words()[0]) if line.words() else ""
        if _has_long_line(path):
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
