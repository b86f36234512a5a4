"""Checks and upgrades of named inputs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from whimbrel.api.conversion import finding_of, path_of, text_of, unknown_of
from whimbrel.api.errors import ConfigurationError
from whimbrel.api.findings import CheckReport, FileChange, UpgradePlan
from whimbrel.base.counts import and_more
from whimbrel.base.dialect import V22, V24
from whimbrel.base.errors import SourceLocation
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import from_system, to_bytes
from whimbrel.catalogue import catalogue
from whimbrel.config.execute import root_relative
from whimbrel.report.decisions import has_stop, is_to_decide, open_questions, to_decide
from whimbrel.report.entries import as_report, entry_of
from whimbrel.report.model import Report, ReportEntry
from whimbrel.report.questions import OF_CHECK, QuestionText, question_texts
from whimbrel.report.start_failures import reason_of
from whimbrel.upgrade.apply.left_decisions import LEFT, FoundDecision, findings_left
from whimbrel.upgrade.apply.moved_trees import decisions_of_moved
from whimbrel.upgrade.apply.transaction import decisions_left
from whimbrel.upgrade.apply.unread_journal import unread_journal
from whimbrel.upgrade.check.check import (
    Selection,
    UnknownRule,
    batches,
    check_all,
    parse_selection,
    source_lines,
)
from whimbrel.upgrade.check.diffs import diffs
from whimbrel.upgrade.check.fixpoint import NOT_SHOWN, DecideCallback, UpgradeResult, upgrade
from whimbrel.upgrade.check.load_errors import add_load_errors
from whimbrel.upgrade.check.unverified import has_too_many_hosts, too_many_hosts
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.files.shared_objects import examine
from whimbrel.upgrade.knowledge.scope import UnknownItem
from whimbrel.upgrade.model import (
    ACCESS_RULES,
    LOAD_ERROR,
    NEWEST,
    READ_ERROR,
    Finding,
    Risk,
    Style,
    UpgradeOptions,
)
from whimbrel.upgrade.rules import all_rules, rule_names
from whimbrel.upgrade.source.config_tree import ConfigTree, ReportProgress, no_progress
from whimbrel.upgrade.source.reading import Progress, Sources, read_config_tree
from whimbrel.upgrade.source.suppressions import OF_COMMENT
from whimbrel.upgrade.source.text_faults import COPY_LINKS, LINK_TEXT
from whimbrel.utilities.usage_error import UsageError

if TYPE_CHECKING:
    from whimbrel.api.named_files import NamedInput
    from whimbrel.config.options import LoadOptions
    from whimbrel.verify.side import Side

_UNKNOWN: Final = re.compile(r"Invalid command '([^']+)'")
_COMPARED: Final = frozenset({"R14"})
"""Rules about what every answer shows: a handler that is missing on both sides is no change."""
_RELEASE: Final = re.compile(r"2\.4(?:\.(\d{1,3}))?")


class OpenFindings(NamedTuple):
    """What a person must decide about a new text: a sentence, "" for nothing, and the questions with their
    answers; whether 2.4 stops until then; what no file shows; the findings that a comment with their rule
    exempts; and what the open ones say about access that no comparison of sections and requests shows.
    """

    to_decide: str
    questions: tuple[QuestionText, ...]
    has_stop: bool
    unknown: tuple[UnknownItem, ...]
    recorded: tuple[Finding, ...]
    open_access: tuple[str, ...]


def upgrade_options(style: str, target: str, *, also_22: bool, exact: bool) -> UpgradeOptions:
    """Return the options of an upgrade; raises ValueError."""
    found = _RELEASE.fullmatch(target)
    if found is None:
        raise ValueError(f"target {target!r}: not a release of 2.4, such as 2.4.58")
    number = int(found[1]) if found[1] else NEWEST
    return UpgradeOptions(style=Style(style), also_22=also_22, exact=exact, target=number)


def check_input(named: NamedInput, select: Sequence[str], ignore: Sequence[str]) -> CheckReport:
    """Return the findings; raises ConfigurationError if no file can be read, ValueError for unknown rules."""
    try:
        wanted = parse_selection(" ".join(select), " ".join(ignore))
    except UnknownRule as problem:
        raise ValueError(str(problem)) from None
    try:
        report = check_parts([(named.sources, "")], wanted)
    except UsageError as problem:
        raise ConfigurationError(named.path, 0, text_of(problem.message)) from None
    findings = [finding_of(entry) for entry in report.entries]
    return CheckReport(
        tuple(finding for finding in findings if not finding.is_note),
        tuple(finding for finding in findings if finding.is_note),
        tuple(map(path_of, report.files)),
        report.lines,
        unknown_of(report.scope),
    )


def check_parts(
    parts: list[tuple[Sources, str]],
    wanted: Selection,
    jobs: int = 1,
    progress: Progress | None = None,
    step: ReportProgress = no_progress,
    options: UpgradeOptions | None = None,
) -> Report:
    """Return one report about all parts, up to *jobs* of them at a time.

    Paths are relative to the directory of the only part (of a copy of a machine: to that copy), or to the
    working directory. Raises UsageError if no file can be read.
    """
    report = Report(titles={rule.number: rule.title for rule in all_rules()}, names=rule_names())
    work = [(batch, directory) for sources, directory in parts for batch in batches(sources)]
    unread: list[Finding] = []
    results = check_all([batch for batch, _ in work], wanted, jobs, progress, step, options)
    for (batch, directory), result in zip(work, results, strict=True):
        image = batch.options.image if batch.options is not None else ""
        base = (image or directory) if len(parts) == 1 else from_system(os.getcwd())
        if result.files:
            left = _left(directory, result.files, result.findings, wanted, batch.options)
            result.scope = result.scope.with_items(unread_journal(directory, result.files))
            result.findings += [one.finding for one in left if not one.is_exempt]
            result.recorded = _with_left(result.recorded, left)
            exempt = (one.finding for one in left if one.is_exempt)
            result.exempted = (
                *result.exempted,
                *(one for one in exempt if one.risk in (Risk.OPENS, Risk.CLOSES)),
            )
        part = as_report(result, base)
        part.written_in = directory
        report.add(part)
        unread += [finding for finding in result.findings if not result.files]
    if not report.files:
        raise UsageError("; ".join(f"{finding.place}: {finding.message}" for finding in unread) or "no files")
    return report


def _with_left(recorded: Collection[Finding], left: Collection[FoundDecision]) -> tuple[Finding, ...]:
    """Return *recorded* with what comments decide of *left*.

    The journal knows what such a comment is about: in its file a comment with that rule says nothing alone.
    """
    covered = [each for one in left for each in one.covered]
    known = {(one.rule, one.place.path) for one in covered}
    others = (one for one in recorded if one.message != OF_COMMENT or (one.rule, one.place.path) not in known)
    return *others, *covered


def _left(
    directory: str,
    files: Collection[str],
    findings: Collection[Finding],
    wanted: Selection,
    options: LoadOptions | None,
) -> list[FoundDecision]:
    """Return what an earlier upgrade of the tree *directory* leaves to decide about *files*, beside the
    *findings* about them.
    """
    overlay = options.overlay if options is not None else {}

    def text_of(path: str) -> bytes:
        try:
            return overlay[path] if path in overlay else read_regular(to_bytes(path))
        except OSError:
            return b""

    known = {(finding.rule, finding.place.path, finding.place.line) for finding in findings}
    left = decisions_left(directory) or decisions_of_moved(directory, files, text_of)
    return [
        one
        for one in findings_left(left, files, text_of)
        if wanted.selects(one.finding.rule)
        and (one.finding.rule, one.finding.place.path, one.finding.place.line) not in known
    ]


def open_findings(options: LoadOptions) -> OpenFindings:
    """Return what the findings about the new text of a comparison, which `check` shows, leave to a person.

    *options* are those of the compared side, which read its .htaccess files at the places of the old ones.
    """
    from whimbrel.verify.copied_htaccess import as_copied  # a check does not need the engine

    new_text = Sources(options=options)
    if not options.copies:
        new_text = as_copied(new_text)
    report = check_parts([(new_text, options.server_root)], Selection())
    entries = [entry for entry in report.entries if entry.rule not in _COMPARED]
    sentence = to_decide(entries) if any(map(is_to_decide, entries)) else ""
    shown = sum(entry.rule in _COMPARED for entry in filter(is_to_decide, report.entries))
    if sentence and shown:
        sentence += f", beside {shown:,} of {', '.join(sorted(_COMPARED))} in `whimbrel check`"
    return OpenFindings(
        sentence,
        tuple(question_texts(open_questions(entries), OF_CHECK)),
        has_stop(entries),
        tuple(item for item in report.scope.items if item.consequence == NOT_SHOWN),
        tuple(report.recorded),
        tuple(_open_access(entries)),
    )


def _open_access(entries: Iterable[ReportEntry]) -> list[str]:
    """Return the effects on access of the findings that a person must look at.

    What upgrade wrote is compared, as are the lines of access control.
    """
    from whimbrel.verify.verification import effects_on_access  # a check does not need the engine

    return effects_on_access(
        (entry.rule, entry.place, entry.risk, entry.message)
        for entry in filter(is_to_decide, entries)
        if entry.rule not in ACCESS_RULES and not entry.message.startswith(LEFT)
    )


def add_link_texts(report: Report) -> bool:
    """Put into `Report.stop` that files are texts in the place of links, as some programs copy them; return
    True if there are any.
    """
    links = [entry for entry in report.counted if entry.rule == READ_ERROR and LINK_TEXT in entry.message]
    if links:
        report.fault = f"{links[0].place}{and_more(len(links) - 1)}"
        report.stop = f"neither 2.2 nor 2.4 starts: {report.fault}: text in the place of a link; {COPY_LINKS}"
    return bool(links)


def add_start_failure(report: Report, options: LoadOptions) -> None:
    """Put the line at which 2.4 ends its start, and the reason, into `Report.stop` for the text as it stands,
    and the place into `Report.fault` if 2.2 ends its start there too; nothing if 2.4 starts.
    """
    from whimbrel.upgrade.source.binary import for_its_system
    from whimbrel.verify.loading import load_side

    options = for_its_system(options)
    side = load_side(options, V24.name, origins=False)
    stop = _old_module(side, report)
    if stop is None and not side.errors:
        return
    place, refusal = stop or (side.errors[0].place, _reason(side.errors[0].text))
    if place is None or not place.path:
        report.stop = f"2.4 does not start: {refusal}"
        return
    path = display_path(place.path, report.directory)
    stops = [entry for entry in report.entries if entry.path == path and entry.risk is Risk.BREAKS]
    damage = [entry for entry in stops if entry.rule == READ_ERROR and stop is None]
    found = damage or [entry for entry in stops if entry.line == place.line]
    who = "2.4 does not start"
    where = f"{path}:{place.line}"
    reason = refusal
    if found and stop is None:
        where = found[0].place
        reason = found[0].message.partition(": ")[0] if found[0].rule != LOAD_ERROR else refusal
    if damage:
        of_22 = load_side(options, V22.name, origins=False).errors
        if of_22 and of_22[0].place is not None and of_22[0].place.path == place.path:
            who = "neither 2.2 nor 2.4 starts"
            report.fault = where
    report.stop = f"{who}: {where}: {reason}"
    of_both = report.start_fault
    if of_both is not None and not of_both.is_damage:
        report.fault = of_both.where(report.directory)
        why = f"{report.fault}: {reason_of(of_both.why)}"
        if report.fault != where:
            why = f"2.2 ends at {why}; 2.4 at {where}: {reason}"
        report.stop = f"neither 2.2 nor 2.4 starts: {why}"


def _old_module(side: Side, report: Report) -> tuple[SourceLocation, str] | None:
    """Return the first line that loads a library that an older version has, and why 2.4 stops there.

    httpd executes LoadModule while it reads the text, before all lines that it executes afterwards. C06 tells
    which libraries are not httpd's own.
    """
    foreign = {(entry.path, entry.line) for entry in report.entries if entry.rule == "C06"}
    for place, path in side.foreign_libraries.items():
        if (display_path(place.path, report.directory), place.line) not in foreign:
            continue
        api = examine(root_relative(side.options.server_root, path)).api
        if api not in ("", "2.4"):
            return place, f"{path} is built for {api}"
    return None


def _reason(text: str) -> str:
    """Return httpd's message without the place; for an unknown directive, what 2.4 lacks."""
    message = reason_of(text)
    unknown = _UNKNOWN.match(message)
    if unknown is not None:
        owners = [row.source.removesuffix(".c") for row in catalogue(V24.name).find(unknown[1])]
        if owners:
            return f"{owners[0]} is not loaded"
        if catalogue(V22.name).find(unknown[1]):
            return f"{unknown[1]} is gone"
    return message


def upgrade_sources(
    sources: Sources,
    options: UpgradeOptions,
    wanted: Selection,
    progress: Progress | None = None,
    step: ReportProgress = no_progress,
    prompt: Callable[[ConfigTree], DecideCallback] | None = None,
    *,
    is_verified: bool,
) -> tuple[UpgradeResult, str]:
    """Return the upgrade of *sources*, and a sentence about the comparison of both versions, "" for none.

    The result of all rules is loaded under 2.4. *is_verified*: the answers of both versions are compared, and
    what differs is marked for review. *prompt* makes the function that decides about each change. Raises
    UsageError if no file can be read.
    """
    tree = read_config_tree(sources, options, progress=progress)
    if not tree.files:
        unread = "; ".join(f"{item.place}: {item.subject}" for item in tree.unread)
        raise UsageError(unread or "no files")
    tree.report_progress = step
    result = upgrade(tree, wanted.applied_rules(), prompt(tree) if prompt is not None else None)
    if sources.options is not None:
        root = sources.options.server_root
        files = [path for path in tree.files if path not in tree.lone_paths]
        left = _left(root, files, result.findings, wanted, sources.options)
        result.scope = result.scope.with_items(unread_journal(root, files))
        result.findings += [one.finding for one in left if not one.is_exempt]
    step("loading the result", 0, 0)
    if not wanted.only and not wanted.without:
        add_load_errors(result, sources.options)
    if not is_verified or sources.options is None:
        return result, ""
    if result.files and has_too_many_hosts(result):
        return result, too_many_hosts(result)
    from whimbrel.verify.upgraded import verify_upgrade  # a check does not need the engine

    return result, verify_upgrade(result, sources.options, step)


def upgrade_input(named: NamedInput, options: UpgradeOptions, *, is_verified: bool) -> UpgradePlan:
    """Return the upgrade; raises ConfigurationError if no file can be read."""
    try:
        result, verified = upgrade_sources(named.sources, options, Selection(), is_verified=is_verified)
    except UsageError as problem:
        raise ConfigurationError(named.path, 0, text_of(problem.message)) from None
    texts = source_lines(result.tree, result.findings)
    changes = []
    for path, diff in diffs(result, named.directory).items():
        old = result.tree.files[path].document.bytes
        changes.append(FileChange(path_of(path), old, result.files[path], diff))
    entries = [entry_of(finding, "", texts) for finding in result.findings]
    return UpgradePlan(tuple(changes), tuple(map(finding_of, entries)), verified, unknown_of(result.scope))
