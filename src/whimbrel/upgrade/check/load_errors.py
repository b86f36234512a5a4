"""Lines with which 2.4 does not start, or answers 500, after the upgrade, as findings.

Each text is loaded by the 2.4 side before it is shown, whether rules changed it or not: unknown names, texts
of other programs, and lines that 2.4 refuses although nothing in them is old. A file without its server is
loaded into one that has all modules of httpd, so that only what no server accepts is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from whimbrel.base.dialect import V24
from whimbrel.base.errors import ConfigError, SourceLocation, StartError, UnknownDirective
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.base.programs import without_programs
from whimbrel.catalogue import catalogue
from whimbrel.catalogue.load import directive_names
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import OPT_ALL, OPT_MULTI, OPT_SYM_OWNER
from whimbrel.config.execute import IN_MAIN_FILE, IN_SECTION
from whimbrel.config.htaccess import ALL, Override, parse
from whimbrel.config.load import DeepRecursion, complete, read_as_its_build
from whimbrel.config.messages import format_error
from whimbrel.config.options import LoadOptions
from whimbrel.modules import ALL as MODULES
from whimbrel.syntax import tree
from whimbrel.syntax.lines import V24_LINES
from whimbrel.syntax.tree import Directive, Node, Section
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.upgrade.model import LOAD_ERROR, Finding, Risk
from whimbrel.upgrade.source.config_tree import Role, SourceFile, Statement
from whimbrel.upgrade.source.foreign_text import CAMEL_CASE
from whimbrel.upgrade.source.queries import BRANCH_SECTIONS
from whimbrel.upgrade.source.text_faults import FaultKind

MAX_LINES: Final = 10
"""The maximum number of lines of a text that are reported: each needs the text to be loaded again."""
_CLIENTS: Final = "write `from all`, an address, a network with a mask of at least one bit, or a host name"
_PROVIDERS: Final = "write a provider that 2.4 has: all, ip, host, env, method, expr, user, group, valid-user"
_ADVICE: Final = {
    "allow": _CLIENTS,
    "deny": _CLIENTS,
    "require": _PROVIDERS,
    "loadmodule": "install the module for 2.4, or remove the line",
}
_NOT_ALLOWED: Final = "not allowed here"
_OF_OTHERS: Final = (
    "Unknown Authn provider",
    "Unknown DAV provider",
    "not defined",
    "cannot be accessed",
)
"""Parts of messages about lines that other surroundings than those of a file alone may admit, wherever they
stand."""
_FOREIGN: Final = {"php": "libphp", "fcgid": "mod_fcgid", "fastcgi": "mod_fastcgi"}
"""Modules of other origin that are known, with the names of their files."""
_ACCESS_COMPAT: Final = ("order", "allow", "deny", "satisfy")
"""Names of mod_access_compat, which rules mark where they stay."""
_OF_ACCESS_COMPAT: Final = ("C17", "R10")
"""Rules whose findings say that lines need mod_access_compat."""
_WITHOUT_ACCESS_COMPAT: Final = ("!mod_access_compat.c", "!access_compat_module")
_UNUSED_PORT: Final = 65534
"""A port that no file alone listens on: a second Listen of one port is an error."""
_MAIN: Final = "/whimbrel-all-modules.conf"


_EVERYTHING: Final = Override(ALL, OPT_ALL | OPT_MULTI | OPT_SYM_OWNER)
"""AllowOverride All with every option: what the real AllowOverride forbids is a question of the server."""


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """One reason why 2.4 refuses a text; *name* is that of an unknown directive, else ""."""

    text: str
    place: SourceLocation | None
    name: str = ""


def add_load_errors(result: UpgradeResult, options: LoadOptions | None) -> None:
    """Add a finding for each line that 2.4 refuses; *options* are those of the server, None without one."""
    problems = _file_problems(result) if options is None else _server_problems(result, options)
    known = _known(result)
    for problem in problems:
        finding = _finding(result, problem)
        if _is_of_this_machine(result, problem) or _is_of_damaged_text(result, finding):
            continue
        if _is_of_foreign_module(problem, options):
            result.scope = result.scope.with_items([_foreign_item(problem, finding.place)])
        elif (finding.place.path, finding.place.line) not in known:
            result.findings = [*result.findings, finding]


def _known(result: UpgradeResult) -> set[tuple[str, int]]:
    """Return the lines of which a finding says that 2.4 refuses them.

    A section or file that keeps lines of mod_access_compat is marked at its first line, which may be wrong
    for another reason.
    """
    findings = [
        finding
        for finding in result.findings
        if finding.needs_review and finding.risk is Risk.BREAKS and not finding.edits
    ]
    places = {(finding.place.path, finding.place.line) for finding in findings}
    kept = {(f.place.path, f.place.line) for f in findings if f.rule in _OF_ACCESS_COMPAT}
    if kept:
        lines = result.tree.named(*_ACCESS_COMPAT, include_inactive=True)
        kept -= {(line.place.path, line.place.line) for line in lines}
    return places - kept


def _is_of_this_machine(result: UpgradeResult, problem: RefusedLine) -> bool:
    """Return True if the line has a variable without a value here, or names what has no behaviour here: both
    are items of the scope."""
    if "no behaviour here" in problem.text:
        return True
    file = result.tree.files.get(problem.place.path) if problem.place is not None else None
    if problem.place is None or file is None:
        return False
    lines = result.files.get(file.path, file.document.bytes).split(b"\n")
    return 0 < problem.place.line <= len(lines) and b"${" in lines[problem.place.line - 1]


def _is_of_damaged_text(result: UpgradeResult, finding: Finding) -> bool:
    """Return True if the file is a template, or the finding follows from a fault that is reported."""
    file = result.tree.files.get(finding.place.path)
    if file is None:
        return False
    return file.is_template or any(fault.kind is not FaultKind.MISSPELLED for fault in file.faults)


# loading ------------------------------------------------------------------------------------------
def _load(options: LoadOptions) -> tuple[Configuration | None, RefusedLine | None]:
    """Load a configuration under 2.4; what this machine lacks is left out."""
    options = replace(options, is_elsewhere=True, check_only=True)
    try:
        with without_programs():
            return complete(read_as_its_build(options, MODULES, V24)), None
    except ConfigError as problem:
        return None, _problem(problem)
    except StartError as problem:
        return None, RefusedLine(problem.lines[0], None)


def _problem(problem: ConfigError) -> RefusedLine:
    name = problem.reason.split("'")[1] if isinstance(problem, UnknownDirective) else ""
    return RefusedLine(format_error(problem, V24, is_short=True).splitlines()[-1], problem.place, name)


def _server_problems(result: UpgradeResult, options: LoadOptions) -> Iterator[RefusedLine]:
    """Yield the problems of a whole server, then those of its .htaccess files."""
    overlay = {**options.overlay, **result.files}
    for _ in range(MAX_LINES):
        configuration, problem = _load(replace(options, overlay=overlay))
        if problem is None:
            break
        yield problem
        without = _without(result, problem, overlay)
        if problem.place is None or without is None:
            return
        overlay[problem.place.path] = without
    if configuration is not None:
        for file in result.tree.files.values():
            if file.role is Role.HTACCESS:
                yield from _htaccess_problems(result, configuration, file)


def _file_problems(result: UpgradeResult) -> Iterator[RefusedLine]:
    """Yield the problems of files without their server, under each surroundings that their branches test."""
    seen: set[tuple[str, int]] = set()
    for options in _surroundings(result):
        configuration, _problem_of_all = _load(options)
        if configuration is None:
            return
        for file in result.tree.files.values():
            if file.foreign or file.is_template:
                continue
            for problem in (
                _htaccess_problems(result, configuration, file)
                if file.role is Role.HTACCESS
                else _fragment_problems(result, options, file)
            ):
                place = (problem.place.path, problem.place.line) if problem.place is not None else ("", 0)
                if place not in seen and problem.name.lower() not in _ACCESS_COMPAT:
                    seen.add(place)
                    yield problem


def _surroundings(result: UpgradeResult) -> Iterator[LoadOptions]:
    """Yield servers with all modules of httpd: plain; where a branch tests for them, without
    mod_access_compat, and with all names defined."""
    yield _server_with_all(frozenset(), frozenset())
    tests = [(line.name, line.args.strip().strip('"')) for line in result.tree.all_statements()]
    names = frozenset(args.lstrip("!") for name, args in tests if name == "<ifdefine")
    if any(name == "<ifmodule" and args.lower() in _WITHOUT_ACCESS_COMPAT for name, args in tests):
        yield _server_with_all(frozenset(("access_compat_module",)), frozenset())
    if names:
        yield _server_with_all(frozenset(), names)


def _server_with_all(without: frozenset[str], names: frozenset[str]) -> LoadOptions:
    """Return a server that has all modules but *without*, and in which *names* are defined."""
    lines = ["ServerName localhost", f"Listen {_UNUSED_PORT}"]
    lines += [f"LoadModule {name}_module modules/{file}.so" for name, file in _FOREIGN.items()]
    for module in sorted(catalogue("2.4").modules, key=lambda module: bool(module.needs)):
        is_of_mpm = module.kind == "mpm" and module.identifier != "mpm_event_module"
        if not module.is_static and not is_of_mpm and module.identifier not in without:
            lines.append(f"LoadModule {module.identifier} modules/{module.file}.so")
    main = to_bytes("\n".join(lines) + "\n")
    return LoadOptions(server_root="/", file=_MAIN, overlay={_MAIN: main}, defines=tuple(sorted(names)))


def _fragment_problems(
    result: UpgradeResult, options: LoadOptions, file: SourceFile
) -> Iterator[RefusedLine]:
    """Yield the problems of a file that an unknown server includes: of its lines for servers at the top
    level, of those for directories alone in a <Directory>."""
    data = result.files.get(file.path, file.document.bytes)
    include = b'Include "' + to_bytes(file.path) + b'"\n'
    of_server = _lines_for(IN_MAIN_FILE, data)
    yield from _included_problems(result, options, file, of_server, include)
    if of_server != data:
        of_directory = _lines_for(IN_SECTION, data)
        section = b'<Directory "/">\n' + include + b"</Directory>\n"
        yield from _included_problems(result, options, file, of_directory, section)
        if of_directory != data:  # no place admits all lines
            yield from _included_problems(result, options, file, data, include, is_complete=True)


def _lines_for(context: int, data: bytes) -> bytes:
    """Return the text without the lines outside of sections that 2.4 refuses in *context*."""
    nodes = list(tree.parse(data, V24_LINES).children)
    text = bytearray(data)
    for start, end in _spans_of_others(nodes, context):
        text[start:end] = re.sub(rb"[^\n]", b" ", text[start:end])
    return bytes(text)


def _spans_of_others(nodes: Iterable[Node], context: int) -> Iterator[tuple[int, int]]:
    for node in nodes:
        if not isinstance(node, Directive | Section):
            continue
        name = node.name.lower() if isinstance(node, Directive) else f"<{node.name.lower()}"
        rows = catalogue("2.4").find(name)
        if name in BRANCH_SECTIONS and isinstance(node, Section):
            yield from _spans_of_others(node.children, context)
        elif rows and not any(row.where & context for row in rows):
            yield node.start, node.end


def _included_problems(
    result: UpgradeResult,
    options: LoadOptions,
    file: SourceFile,
    data: bytes,
    include: bytes,
    *,
    is_complete: bool = False,
) -> Iterator[RefusedLine]:
    """Yield the problems of the text *data* of a file that the lines *include* add to a server; those of
    directives that stand at a wrong place only if *is_complete*."""
    admitted = _OF_OTHERS if is_complete else (_NOT_ALLOWED, *_OF_OTHERS)
    overlay = {file.path: data}
    text = options.overlay[_MAIN] + include
    for _ in range(MAX_LINES):
        _, problem = _load(replace(options, overlay={**overlay, _MAIN: text}))
        if problem is None or problem.place is None or problem.place.path != file.path:
            return
        if not any(part in problem.text for part in admitted) and not _is_of_another_mpm(problem):
            yield problem
        without = _without(result, problem, overlay)
        if without is None:
            return
        overlay[file.path] = without


def _is_of_another_mpm(problem: RefusedLine) -> bool:
    """Return True for a directive of a module of 2.4 that cannot be loaded beside the others."""
    return bool(problem.name) and bool(catalogue("2.4").find(problem.name.lower()))


def _htaccess_problems(
    result: UpgradeResult, configuration: Configuration, file: SourceFile
) -> Iterator[RefusedLine]:
    """Yield the problems of a .htaccess file that may have every directive."""
    overlay = {file.path: result.files.get(file.path, file.document.bytes)}
    for _ in range(MAX_LINES):
        with DeepRecursion(), without_programs():
            parsed = parse(configuration, configuration.main, file.path, overlay[file.path], _EVERYTHING)
        refusal = parsed.problem
        if refusal is None:
            return
        problem = replace(_problem(refusal), text=refusal.reason)
        yield problem
        without = _without(result, problem, overlay)
        if without is None:
            return
        overlay[file.path] = without


def _without(result: UpgradeResult, problem: RefusedLine, overlay: Mapping[str, bytes]) -> bytes | None:
    """Return the file of *problem* with its line empty, or the section that begins there; of an unknown name,
    with all its lines empty. None for an unknown file."""
    place = problem.place
    file = result.tree.files.get(place.path) if place is not None else None
    if place is None or file is None:
        return None
    lines = overlay.get(place.path, file.document.bytes).split(b"\n")
    if not 0 < place.line <= len(lines) or not lines[place.line - 1].strip():
        return None
    starts = [place.line - 1]
    if problem.name:
        name = to_bytes(problem.name).lower()
        starts += [n for n, line in enumerate(lines) if line.split()[:1] and line.split()[0].lower() == name]
    for start in starts:
        for number in range(start, _end_of(lines, start)):
            lines[number] = b""
    return b"\n".join(lines)


def _end_of(lines: list[bytes], start: int) -> int:
    """Return the number of the line behind a section, or behind a directive with its continuation lines."""
    first = lines[start].lstrip()
    if first[:1] == b"<" and first[1:2].isalpha():
        closing = b"</" + first[1:].split(b">")[0].split()[0].lower()
        ends = (n for n in range(start, len(lines)) if lines[n].lstrip().lower().startswith(closing))
        return next(ends, len(lines) - 1) + 1
    end = start
    while end < len(lines) - 1 and lines[end].rstrip(b"\r").endswith(b"\\"):
        end += 1
    return end + 1


# findings -----------------------------------------------------------------------------------------
def _finding(result: UpgradeResult, problem: RefusedLine) -> Finding:
    if problem.place is None:
        path = next(iter(result.tree.files), "")
        return Finding(
            LOAD_ERROR,
            SourceLocation(path, 0),
            f"2.4 does not start: {problem.text}",
            "correct the configuration for 2.4",
            Risk.BREAKS,
        )
    place = problem.place
    via = place.included_from
    line_map = result.line_maps.get(place.path)
    line = line_map.original_line(place.line) if line_map is not None else place.line
    statement = _statement_at(result, place.path, line)
    branch = " of a branch that 2.2 does not read" if statement is not None and not statement.in_22 else ""
    file = result.tree.files.get(place.path)
    is_htaccess = file is not None and file.role is Role.HTACCESS
    effect = "2.4 answers 500 in this directory" if is_htaccess else "2.4 does not start"
    return Finding(
        LOAD_ERROR,
        SourceLocation(place.path, line, via if via is not None and via.path != _MAIN else None),
        f"{effect} with this line{branch}: {problem.text}",
        _advice(problem, statement),
        Risk.BREAKS,
    )


def _advice(problem: RefusedLine, statement: Statement | None) -> str:
    name = statement.name if statement is not None else ""
    if problem.name:
        close = _close_names(problem.name)
        if close and close[0].lower() != problem.name.lower():
            return f"write {close[0]}"
        return "remove the line, or load the module that declares it"
    if name == "require" and "provider" not in problem.text:
        return "correct the line for 2.4: addresses are separated by blanks, and a section grants by a line"
    return _ADVICE.get(name, "correct the line for 2.4, or remove it")


def _close_names(name: str) -> list[str]:
    names = directive_names()
    found = get_close_matches(name.lower(), names, 1, 0.85)
    return [names[low] for low in found]


def _is_of_foreign_module(problem: RefusedLine, options: LoadOptions | None) -> bool:
    """Return True if a file alone has a directive that a module of another origin may declare."""
    if options is not None or not problem.name or _close_names(problem.name):
        return False
    return CAMEL_CASE.fullmatch(problem.name.lstrip("<")) is not None


def _foreign_item(problem: RefusedLine, place: SourceLocation) -> UnknownItem:
    return UnknownItem(
        UnknownKind.LEFT_OUT,
        place,
        f"{problem.name} is no directive of httpd's own modules",
        "the file works only where a module declares it",
    )


def _statement_at(result: UpgradeResult, path: str, line: int) -> Statement | None:
    """Return the statement of the original text at a line."""
    statements = result.tree.all_statements()
    return next((s for s in statements if s.place.path == path and s.place.line == line), None)
