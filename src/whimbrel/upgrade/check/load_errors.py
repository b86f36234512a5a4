"""Lines with which 2.4 does not start, or answers 500, after the upgrade, as findings.

Each text is loaded by the 2.4 side before it is shown, whether rules changed it or not: unknown names, texts
of other programs, and lines that 2.4 refuses although nothing in them is old.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from whimbrel.base.dialect import V24
from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.catalogue import catalogue
from whimbrel.catalogue.load import directive_names
from whimbrel.config.configuration import Configuration
from whimbrel.config.options import LoadOptions, with_real_paths
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.check.loading import (
    MAX_LINES,
    LoadedTexts,
    RefusedLine,
    htaccess_problems,
    is_of_damaged_text,
    is_of_this_machine,
    load,
    without,
)
from whimbrel.upgrade.check.lone_files import ACCESS_COMPAT, lone_problems
from whimbrel.upgrade.check.mpm_faults import missing_mpm, mpm_fault
from whimbrel.upgrade.check.new_lines import NUMBER as NEW_LINES
from whimbrel.upgrade.check.new_lines import add_new_lines
from whimbrel.upgrade.check.server_with_all import MAIN
from whimbrel.upgrade.check.start_faults import without_place
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.upgrade.model import LOAD_ERROR, LOADED_BUILDS, Finding, Risk
from whimbrel.upgrade.rules.modules.x24_successors import OF_FPM, PHP
from whimbrel.upgrade.rules.modules.x24_successors import RULE as SUCCESSORS
from whimbrel.upgrade.source.branches import MPMS
from whimbrel.upgrade.source.built_in_modules import as_its_build
from whimbrel.upgrade.source.config_tree import Role, Statement
from whimbrel.upgrade.source.foreign_text import CAMEL_CASE
from whimbrel.upgrade.source.text_faults import meant_name

_CLIENTS: Final = "write `from all`, an address, a network with a mask of at least one bit, or a host name"
_PROVIDERS: Final = "write a provider that 2.4 has: all, ip, host, env, method, expr, user, group, valid-user"
_ADVICE: Final = {
    "allow": _CLIENTS,
    "deny": _CLIENTS,
    "require": _PROVIDERS,
    "loadmodule": "install the module for 2.4, or remove the line",
}
_OF_PHP: Final = "load a module of PHP for 2.4, or remove the line"
_OF_ACCESS_COMPAT: Final = ("C17", "R10")
"""Rules whose findings say that lines need mod_access_compat."""


def add_load_errors(result: UpgradeResult, options: LoadOptions | None) -> None:
    """Add a finding for each line that 2.4 refuses; *options* are those of the server, None without one."""
    if result.end_of_start is not None:
        return  # behind such a line the text is read as the contents of other sections
    texts = LoadedTexts(result.tree, result.files, V24)
    problems = lone_problems(texts) if options is None else _server_problems(result, texts, options)
    known = _known(result)
    for problem in problems:
        finding = _finding(result, problem)
        if _is_of_other_mpm(result, finding.place):
            continue
        if _may_be_loaded(result, problem) or is_of_this_machine(texts, problem):
            continue
        if is_of_damaged_text(result.tree, finding.place.path):
            continue
        if _is_of_foreign_module(problem, options):
            result.scope = result.scope.with_items([_foreign_item(problem, finding.place)])
        elif (finding.place.path, finding.place.line) not in known:
            result.findings = [*result.findings, finding]
    if options is None:
        add_new_lines(result)
    _remove_contradicted(result)


def _remove_contradicted(result: UpgradeResult) -> None:
    """Remove what other findings say of 2.4 as a reader of lines that it refuses.

    One refused line makes 2.4 answer 500 for the whole .htaccess file, so the file opens nothing. A successor
    of a module that is not loaded is part of the advice about the line.
    """
    refused = [finding for finding in result.findings if finding.rule == LOAD_ERROR]
    lines = {(finding.place.path, finding.place.line) for finding in refused}
    files = {finding.place.path for finding in refused if finding.in_htaccess}
    result.findings = [
        finding
        for finding in result.findings
        if not (finding.rule == NEW_LINES and finding.risk is Risk.OPENS and finding.place.path in files)
        and not (finding.rule == SUCCESSORS.number and (finding.place.path, finding.place.line) in lines)
    ]


def _may_be_loaded(result: UpgradeResult, problem: RefusedLine) -> bool:
    """Return True for the lack of a module of httpd, where files with LoadModule lines were not read."""
    if result.tree.modules_unread is None:
        return False
    return problem.place is None or (
        bool(problem.name) and any(True for _ in catalogue("2.4").find(problem.name))
    )


def _known(result: UpgradeResult) -> set[tuple[str, int]]:
    """Return the lines of which a finding says that 2.4 refuses them.

    A section or file that keeps lines of mod_access_compat is marked at its first line, which may be wrong
    for another reason.
    """
    findings = [
        finding
        for finding in result.findings
        if (finding.needs_review or finding.waits_for) and finding.risk is Risk.BREAKS and not finding.edits
    ]
    places = {(finding.place.path, finding.place.line) for finding in findings}
    staying = {(f.place.path, f.place.line) for f in findings if f.rule in _OF_ACCESS_COMPAT}
    if staying:
        lines = result.tree.named(*ACCESS_COMPAT, include_inactive=True)
        staying -= {(line.place.path, line.place.line) for line in lines}
    return places - staying


def _server_problems(
    result: UpgradeResult, texts: LoadedTexts, options: LoadOptions
) -> Iterator[RefusedLine]:
    """Yield the problems of a whole server, then those of its .htaccess files; add a finding about its MPM to
    *result*."""
    options = _of_target(options, result)
    overlay = {**options.overlay, **texts.changed}
    for number in range(MAX_LINES):
        configuration, problem = load(replace(options, overlay=overlay), V24)
        if number == 0:
            result.loaded = configuration  # later ones lack lines
        if problem is None:
            break
        yield problem
        rest = without(texts, problem, overlay)
        if problem.place is None or rest is None:
            return
        overlay[problem.place.path] = rest
    if configuration is not None:
        if texts.tree.modules_unread is None:
            result.findings = [*result.findings, *missing_mpm(texts.tree, configuration)]
        accepted: set[bytes] = set()  # hosts repeat their files, of which most have no problem
        for file in texts.tree.files.values():
            if file.role is Role.HTACCESS and texts.data(file) not in accepted:
                problems = list(htaccess_problems(texts, configuration, file))
                if not problems:
                    accepted.add(texts.data(file))
                yield from problems


def load_new_texts(result: UpgradeResult, options: LoadOptions) -> Configuration | None:
    """Return the server of the new texts as 2.4 loads it, None if it is refused."""
    if result.loaded is None:
        options = _of_target(options, result)
        overlay = {**options.overlay, **with_real_paths(result.files)}
        result.loaded = load(replace(options, overlay=overlay), V24)[0]
    return result.loaded


def _of_target(options: LoadOptions, result: UpgradeResult) -> LoadOptions:
    """Return *options* to load the new text by the build of 2.4 for which it is written."""
    target = result.tree.options.target_build
    if target in LOADED_BUILDS:
        return replace(options, build=target.value)
    return as_its_build(options, result.tree.built_in)


# findings -----------------------------------------------------------------------------------------
def _finding(result: UpgradeResult, problem: RefusedLine) -> Finding:
    if problem.place is None:
        fault = mpm_fault(result.tree, problem.text)
        if fault is not None:
            return fault
        path = next(iter(result.tree.files), "")
        return Finding(
            LOAD_ERROR,
            SourceLocation(path, 1),
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
    # of a recursion the lines in between are the reason
    text = problem.text if "(through " in problem.text else without_place(problem.text)
    return Finding(
        LOAD_ERROR,
        SourceLocation(place.path, line, via if via is not None and via.path != MAIN else None),
        f"{effect} with this line{branch}: {text}",
        _advice(problem, statement),
        Risk.BREAKS,
        in_htaccess=is_htaccess,
    )


def _advice(problem: RefusedLine, statement: Statement | None) -> str:
    name = statement.name if statement is not None else ""
    if problem.name.lower() in PHP:
        return f"{_OF_PHP}; {OF_FPM.partition('; ')[2]}"
    if problem.name:
        close = _close_names(problem.name)
        if close and close[0].lower() != problem.name.lower():
            return f"write {close[0]}"
        from whimbrel.catalogue.third_party import product_of_directive  # for a refused line

        product = product_of_directive(problem.name)
        if product is not None:
            return f"remove the line, or load {product.modules[0].identifier}: {product.successor}"
        sources = [row.source for row in catalogue("2.4").find(problem.name)]
        module = " or ".join(source.removesuffix(".c") for source in sources) or "the module that declares it"
        return f"remove the line, or load {module}"
    if name == "require" and "provider" not in problem.text:
        return "correct the line for 2.4: addresses are separated by blanks, and a section grants by a line"
    needed = _needed_module(statement) if "undefined symbol" in problem.text and statement else ""
    if needed:
        return f"load {needed} above the line: this module needs it, or remove the line"
    return _ADVICE.get(name, "correct the line for 2.4, or remove it")


def _needed_module(line: Statement) -> str:
    """Return the module that the module of a LoadModule line needs to be loaded before it, "" for none."""
    identifier = next(iter(line.words()), "")
    rows = (catalogue(version).module(identifier) for version in ("2.4", "2.2"))
    return next((row.needs for row in rows if row is not None), "")


def _close_names(name: str) -> list[str]:
    names = directive_names()
    meant = meant_name(name)
    if meant:
        return [meant]
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


def _is_of_other_mpm(result: UpgradeResult, place: SourceLocation) -> bool:
    """Return True if a branch for another MPM holds the line: 2.4 skips it where the server runs.

    The MPM of Windows is compiled in there, which the text that is loaded here does not show.
    """
    line = _statement_at(result, place.path, place.line)
    branches = line.enclosing("<ifmodule") if line is not None else ()
    return any(
        branch.taken[1] is False and branch.args.strip().strip('"').removeprefix("!") in MPMS
        for branch in branches
    )


def _statement_at(result: UpgradeResult, path: str, line: int) -> Statement | None:
    """Return the statement of the original text at a line."""
    statements = result.tree.all_statements()
    return next((s for s in statements if s.place.path == path and s.place.line == line), None)
