"""The .htaccess files that one version answers with 500 and the other reads.

2.2 parses each file as it stood before the first edit, with the modules of the server; without LoadModule
lines every module may be compiled in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from whimbrel.access.directory_walks import admitted_overrides
from whimbrel.access.sections import Override
from whimbrel.base.dialect import V22, V24, Dialect
from whimbrel.base.latin1 import to_bytes
from whimbrel.catalogue import catalogue
from whimbrel.config.configuration import Configuration
from whimbrel.config.model import SectionKind
from whimbrel.config.options import LoadOptions
from whimbrel.directives.spec import Context
from whimbrel.upgrade.access_control.analysis import AccessAnalysis, analyze_access, persistent_cache
from whimbrel.upgrade.access_control.sections import AccessSection
from whimbrel.upgrade.apply.written_texts import is_written_by_upgrade
from whimbrel.upgrade.check.loading import load, parse_htaccess
from whimbrel.upgrade.check.server_with_all import MAIN, UNUSED_PORT, configuration_with_all
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.queries import is_24_config, is_branch
from whimbrel.upgrade.source.walk import walk

_REFUSED: Final = ".htaccess files that 2.2 refuses"
"""Key in `persistent_cache`: name and arguments of the first line that 2.2 refuses before the first edit, by
the path of the file; "" for a line that 2.4 refuses too."""
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
_Line = tuple[str, str]


def htaccess_findings(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the .htaccess files that one version answers with 500 and the other reads.

    The cause is a line that one version lacks in .htaccess files, or refuses under the AllowOverride in
    force.
    """
    analysis = analyze_access(tree)
    overrides = admitted_overrides(analysis.inventory)
    sections = [
        section
        for section in analysis.inventory.sections
        if section.kind is SectionKind.HTACCESS and section in overrides
    ]
    refused_22 = _refused_by_22(tree, {section: _bits(overrides[section]) for section in sections})
    for section in sections:
        line_22 = refused_22.get(section.file.path)
        finding = (
            _refused_by_24(tree, analysis, section, overrides[section])
            if line_22 is None
            else _only_in_24(section, line_22)
        )
        if finding is not None:
            yield finding


def _bits(override: Override) -> int:
    return int(Context.OR_ALL) if override is None else sum(int(_BITS[name]) for name in override)


def _refused_by_22(tree: ConfigTree, sections: Mapping[AccessSection, int]) -> Mapping[str, _Line]:
    """Return the first line that 2.2 refuses of each file, computed before the first edit; *sections* have
    the bits of their overrides."""
    persistent = persistent_cache(tree)
    known = persistent.get(_REFUSED)
    if isinstance(known, dict):
        return known
    refused: dict[str, _Line] = {}
    persistent[_REFUSED] = refused
    if not sections or is_24_config(tree):
        return refused
    own = _server_of(tree) if tree.has("loadmodule") else None
    parsed: dict[tuple[bytes, int], _Line | None] = {}
    for section, bits in sections.items():
        key = (section.file.document.bytes, bits)
        if key not in parsed:
            line = _refused_line(section, bits, own or configuration_with_all(V22), V22)
            if line is not None and line == _refused_line(section, bits, configuration_with_all(V24), V24):
                line = ("", "")
            parsed[key] = line
        found = parsed[key]
        if found is not None and not (any(found) and is_written_by_upgrade(section.file.path, tree.root)):
            refused[section.file.path] = found
    return refused


def _server_of(tree: ConfigTree) -> Configuration | None:
    """Return a server of 2.2 with the modules of *tree*, those of other origin included; None if it does not
    load."""
    lines = ["ServerName localhost", f"Listen {UNUSED_PORT}"]
    loaded = [line for line in tree.named("loadmodule") if line.in_22 is not False]
    lines += [f"LoadModule {line.args}" for line in loaded]
    known = {line.words()[0] for line in loaded if line.words()}
    rows = {row.identifier: row for row in catalogue(V22.name).modules if not row.is_static}
    built_in = [rows[name] for name in tree.modules if name in rows and name not in known]
    lines += [f"LoadModule {row.identifier} modules/{row.file}.so" for row in built_in if row.kind != "mpm"]
    main = to_bytes("\n".join(lines) + "\n")
    return load(LoadOptions(server_root=tree.root, file=MAIN, overlay={MAIN: main}), V22)[0]


def _refused_line(
    section: AccessSection, bits: int, configuration: Configuration | None, dialect: Dialect
) -> _Line | None:
    """Return name and arguments of the first line of the file that a version refuses."""
    file = section.file
    if configuration is None:
        return None
    problem = parse_htaccess(configuration, file.path, file.document.bytes, bits, dialect)
    if problem is None or problem.place is None:
        return None
    if problem.name and configuration.foreign_modules and not catalogue(dialect.name).find(problem.name):
        return None  # it may belong to one of these modules
    number = problem.place.line
    statement = next((line for line in walk(file.statements) if line.node.number == number), None)
    return (statement.name, statement.args) if statement is not None else None


def _only_in_24(section: AccessSection, line_22: _Line) -> Finding | None:
    """Return the finding about a file of which 2.2 refuses a line."""
    statements = list(walk(section.file.statements))
    if line_22 == ("", "") or not statements:
        return None
    line = next((line for line in statements if (line.name, line.args) == line_22), statements[0])
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


def _refused_by_24(
    tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection, override: Override
) -> Finding | None:
    """Return the finding about a file of which 2.4 refuses a directive under this AllowOverride, unless 2.2
    refuses it likewise.
    """
    bits = _bits(override)
    is_of_24 = is_24_config(tree)  # no server of 2.2 was asked about its files
    refused = next(
        (
            line
            for line in walk(section.file.statements)
            if line.in_24 is not False
            and _is_refused(line.name, bits, V24.name)
            and not (is_of_24 and line.name != "require" and _is_refused(line.name, bits, V22.name))
            and not is_branch(line)
        ),
        None,
    )
    if refused is None:
        return None
    if refused.is_section and not refused.children:
        return Finding(
            "X22",
            refused.place,
            (
                f"2.4 refuses {_name(refused)} under this AllowOverride and answers 500; the line "
                "has no effect"
            ),
            "remove it",
            Risk.CLOSES,
            Safety.SAFE,
            (refused.remove(),),
        )
    return Finding(
        "X22",
        refused.place,
        f"2.4 refuses {_name(refused)} under this AllowOverride: 500 to every request for the directory",
        _admission(tree, analysis, section, override, refused.name),
        Risk.CLOSES,
    )


@lru_cache(maxsize=4096)
def _is_refused(name: str, bits: int, version: str) -> bool:
    """Return True if a version has the directive, and not where the classes *bits* are admitted."""
    rows = catalogue(version).find(name)
    return bool(rows) and not any(row.where & bits for row in rows)


def _admission(
    tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection, override: Override, name: str
) -> str:
    """Return the advice about the refused directive *name*, with the AllowOverride line that admits it."""
    rows = catalogue("2.4").find(name)
    missing = next((word for word in _BITS if any(row.where & _BITS[word] for row in rows)), "")
    if not missing or override is None:
        return "remove the line, or admit it by AllowOverride"
    words = " ".join(_WORDS[word] for word in _BITS if word in override or word == missing)
    holders = [
        unit.override_lines[-1]
        for unit in analysis.inventory.sections
        if unit.override_lines and section.directory.startswith(unit.pattern.rstrip("/"))
    ]
    where = " in the section of its directory"
    if holders:
        place = tree.original_place(holders[-1].place)
        where = f" in place of `{_text(holders[-1])}` at {place.path}:{place.line}"
    advice = f"remove the line, or write `AllowOverride {words}`{where}"
    if name.startswith("<"):
        return advice
    return f"{advice}; `AllowOverrideList {rows[0].name}` beside that line admits this directive alone"


def _text(line: Statement) -> str:
    return f"{line.node.name} {line.args.strip()}"


def _name(line: Statement) -> str:
    return line.node.name if not line.is_section else f"<{line.node.name}>"
