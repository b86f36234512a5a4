"""The work on one server: check, upgrade or verify, as values that other processes take."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from whimbrel.api.checking import add_start_failure, check_parts, upgrade_sources
from whimbrel.base.counts import count_noun, word_for
from whimbrel.base.dialect import V22, V24
from whimbrel.base.errors import ConfigError, StartError
from whimbrel.base.latin1 import from_system
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.base.printable import file_problem
from whimbrel.config.server_paths import server_in
from whimbrel.config.servers import main_file_names, why_no_server
from whimbrel.fleet.model import NO_START, NOT_DECIDED, NOT_READ, NOT_STARTED, ServerResult, rule_counts
from whimbrel.fleet.servers import NO_NEW, FleetServer
from whimbrel.report.decisions import access_in_short, access_of_comparison, counts_of, is_to_decide
from whimbrel.report.entries import entry_of
from whimbrel.report.knowledge import ordered, place_of
from whimbrel.report.model import EffectClass
from whimbrel.report.questions import named_rule
from whimbrel.report.start_failures import reason_of
from whimbrel.report.written_lines import access_places
from whimbrel.upgrade.apply.journal import WriteError
from whimbrel.upgrade.check.check import Selection
from whimbrel.upgrade.check.fixpoint import RuleError, UpgradeResult
from whimbrel.upgrade.check.loading import load
from whimbrel.upgrade.check.start_faults import StartFault, start_fault
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.knowledge.scope import KnowledgeScope
from whimbrel.upgrade.model import READ_ERROR, Risk, UpgradeOptions
from whimbrel.upgrade.rules import rule_names
from whimbrel.upgrade.source.named_sources import ConfigArguments, sources
from whimbrel.upgrade.source.reading import Sources
from whimbrel.utilities.usage_error import UsageError

if TYPE_CHECKING:
    from whimbrel.config.options import LoadOptions
    from whimbrel.report.model import Report, ReportEntry
    from whimbrel.verify.verification import VerifyResult

MAX_FAULT: Final = 500
"""Characters of the reason why a server has no result."""
V_RULES: Final = {"access": "V-ACCESS", "response": "V-RESPONSE", "httpd": "V-HTTPD"}
ReportWriting = Callable[[], None]
"""Called before the first file of a server is written."""


class FleetTask(Protocol):
    """The work on a server; it is sent to other processes."""

    @property
    def command(self) -> str:
        """check, upgrade or verify."""

    @property
    def writes(self) -> bool:
        """True if files of the servers are written."""

    def run(self, server: FleetServer, report_writing: ReportWriting) -> ServerResult:
        """Return the result of *server*; raises what the command for it alone ends with."""

    def rule_names(self) -> dict[str, str]:
        """Return the short names of the rules of results."""


class _NoServer(Exception):
    """A directory without a main file of httpd."""


@dataclass(frozen=True, slots=True)
class CheckTask:
    """`whimbrel check` of a server.

    Attributes:
        named: the options that hold for all servers.
        has_pages: the result has the HTML page of the server.
    """

    named: ConfigArguments
    wanted: Selection
    options: UpgradeOptions
    has_pages: bool = False
    command = "check"
    writes = False

    def run(self, server: FleetServer, report_writing: ReportWriting) -> ServerResult:
        """Return the findings."""
        found, directory = _sources(server.path, self.named)
        report = check_parts([(found, directory)], self.wanted, options=self.options)
        fault = report.start_fault
        if fault is not None:
            report.stop = _no_start(fault, report.directory)
            report.fault = fault.where(report.directory)
        elif found.options is not None and report.is_complete and report.by_risk().get(Risk.BREAKS):
            add_start_failure(report, found.options)
        page = _check_page(report) if self.has_pages else ""
        if fault is not None and fault.is_damage:
            return replace(failed(server, report.stop, NOT_READ), page=page)
        code = 1 if report.findings else report.scope.exit_code(0)
        verdict = {0: "nothing to do", 1: "findings", 3: NOT_DECIDED}[code]
        result = ServerResult(
            from_system(server.name),
            from_system(server.path),
            verdict,
            code,
            rule_counts((entry.rule, entry.effect_class) for entry in report.counted),
            _undecided(report.scope),
            report.counted_files,
            report.lines,
            page=page,
            review=counts_of(report.counted).to_decide,
            note=(
                report.stop
                or _why(report.scope, report.directory, verdict)
                or _first_to_decide(report.counted)
            )[:MAX_FAULT],
            access=access_in_short(report.counted)[:MAX_FAULT],
        )
        return result if fault is None else _not_started(result, report.stop)

    def rule_names(self) -> dict[str, str]:
        """Return the short names of the rules."""
        return {**rule_names(), READ_ERROR: "what could not be read"}


def _first_to_decide(entries: Sequence[ReportEntry]) -> str:
    """Return the first finding that a person must decide about, with its place; "" for none."""
    open_entries = sorted(filter(is_to_decide, entries), key=lambda entry: entry.question_order)
    first = next(iter(open_entries), None)
    return f"first to decide: {named_rule(first.rule)} at {first.place}" if first is not None else ""


def _access_of(result: UpgradeResult, directory: str, *, is_written: bool) -> str:
    """Return the requests that gain or lose access by an upgrade, with places below *directory*; "" for none.
    *is_written*: see `access_places`.
    """
    found = access_places(result, is_written=is_written)
    return access_of_comparison(found, (), directory).removeprefix("access: ") if found else ""


def _why(scope: KnowledgeScope, directory: str, verdict: str) -> str:
    """Return what is not known, first of all, of a server with the *verdict* NOT_DECIDED; else ""."""
    if verdict != NOT_DECIDED or not scope.deciding:
        return ""
    first = ordered(scope)[0]
    return ": ".join(filter(None, (first.kind.value, place_of(first, directory), first.subject)))


@dataclass(frozen=True, slots=True)
class UpgradeTask:
    """`whimbrel upgrade` of a server.

    Attributes:
        out: the directory with one directory for each upgraded server, None for none.
        is_written: the files are changed in place.
        is_open: files outside of the tree are written too.
        is_verified: the answers of both versions are compared.
    """

    named: ConfigArguments
    wanted: Selection
    options: UpgradeOptions
    out: Path | None = None
    is_written: bool = False
    is_open: bool = False
    is_verified: bool = True
    has_pages: bool = False
    command = "upgrade"

    @property
    def writes(self) -> bool:
        """True if files of the servers are written."""
        return self.is_written or self.out is not None

    def run(self, server: FleetServer, report_writing: ReportWriting) -> ServerResult:
        """Upgrade the server, and write it if that is wanted."""
        from whimbrel.upgrade.apply.transaction import recover

        found, directory = _sources(server.path, self.named)
        if self.is_written:
            recover(directory)
        result, verified = upgrade_sources(found, self.options, self.wanted, is_verified=self.is_verified)
        top = result.tree.disk.image or directory
        fault = start_fault(result, found.options)
        if fault is not None and fault.is_damage:
            raise UsageError(_no_start(fault, top))
        facts: tuple[str, ...] = (verified,)
        if self.writes:
            report_writing()
            facts += self._write(server, result, directory)
        verdict, code = self._verdict(result)
        lone = result.tree.lone_paths
        entries = [entry_of(one, top) for one in result.findings if one.place.path not in lone]
        counted = ServerResult(
            from_system(server.name),
            from_system(server.path),
            verdict,
            code,
            rule_counts((entry.rule, entry.effect_class) for entry in entries),
            _undecided(result.scope),
            len(result.tree.files),
            sum(file.document.bytes.count(b"\n") for file in result.tree.files.values()),
            len(result.files),
            page=self._page(result, top, facts) if self.has_pages else "",
            review=counts_of(entries).to_decide,
            note=(_why(result.scope, top, verdict) or _first_to_decide(entries))[:MAX_FAULT],
            access=_access_of(result, top, is_written=self.is_written)[:MAX_FAULT],
        )
        return counted if fault is None else _not_started(counted, _no_start(fault, top))

    def _verdict(self, result: UpgradeResult) -> tuple[str, int]:
        """Return the verdict, and the exit code of the command for this server alone."""
        if result.files and not self.writes:
            return "changes to make", 1
        if result.has_open_findings:
            return "needs review", 3
        if not result.scope.is_complete:
            return NOT_DECIDED, 3
        return "changed" if result.files else "nothing to change", 0

    def _write(self, server: FleetServer, result: UpgradeResult, directory: str) -> tuple[str, ...]:
        """Write the result; return the facts about a copy."""
        from whimbrel.upgrade.apply.server_copy import copy_tree, external_files, write_in_place

        if self.out is not None:
            return copy_tree(result, directory, self.out / server.name).facts
        named = [Path(server.path)]
        external = [] if self.is_open else external_files(result, directory, named)
        if external:
            files = count_noun(len(external), "file")
            raise UsageError(
                f"nothing was written: {files} outside of the tree, such as {external[0]} (--outside)"
            )
        write_in_place(result, directory, named, is_open=self.is_open)
        return ()

    def _page(self, result: UpgradeResult, directory: str, facts: tuple[str, ...]) -> str:
        from whimbrel.report.page.upgrade_page import upgrade_page
        from whimbrel.report.page.writing import write
        from whimbrel.upgrade.check.diffs import diffs

        changes = diffs(result, directory)
        return write(upgrade_page(result, directory, changes, is_written=self.writes, facts=facts))

    def rule_names(self) -> dict[str, str]:
        """Return the short names of the rules."""
        return {**rule_names(), READ_ERROR: "what could not be read"}


@dataclass(frozen=True, slots=True)
class VerifyTask:
    """`whimbrel verify` of a server, or of two with the same name.

    Attributes:
        dialects: of the old and the new side.
        limit: of the derived requests, None for the default.
    """

    named: ConfigArguments
    dialects: tuple[str, str]
    limit: int | None = None
    has_pages: bool = False
    command = "verify"
    writes = False

    def run(self, server: FleetServer, report_writing: ReportWriting) -> ServerResult:
        """Return the comparison."""
        from whimbrel.api.comparing import compare_options
        from whimbrel.report.verification.entries import WORDS, risk_of

        if server.fault:
            return self._not_upgraded(server)
        old = self._options(server.path)
        new = self._options(server.new) if server.new else old
        result = compare_options((old, new), self.dialects, self.limit)
        if result.errors[0] and self.dialects == (V22.name, V24.name) and load(old, V24)[1] is None:
            return failed(server, "OLD is a text of 2.4: --old-dialect 2.4 compares it as such")
        rules = [(V_RULES[group.kind], EffectClass(risk_of(group))) for group in result.groups]
        rules += [("V-LOAD", EffectClass(Risk.BREAKS)) for errors in result.errors for _error in errors]
        return ServerResult(
            from_system(server.name),
            from_system(server.path),
            WORDS[result.verdict],
            result.verdict.value,
            rule_counts(rules),
            len(result.not_decided) + len(result.open_reasons) + _undecided(result.scope),
            len(result.files),
            fault=self._fault(result, old)[:MAX_FAULT],
            note=_note(result)[:MAX_FAULT],
            page=_verify_page(result) if self.has_pages else "",
        )

    def _not_upgraded(self, server: FleetServer) -> ServerResult:
        """Return the result of a server whose new side is missing: what stops the upgrade of the old one."""
        if server.fault != NO_NEW:
            return failed(server, server.fault)
        try:
            checked = CheckTask(self.named, Selection(), UpgradeOptions()).run(server, lambda: None)
        except (UsageError, OSError, _NoServer):
            return failed(server, server.fault)
        why = checked.fault
        if not why.startswith(f"{NO_START}: "):
            return failed(server, server.fault)
        return failed(server, f"not upgraded: {why.removeprefix(f'{NO_START}: ')}", checked.verdict)

    def _fault(self, result: VerifyResult, old: LoadOptions) -> str:
        """Return why a side does not load, "" for nothing."""
        found = [errors[0] for errors in result.errors if errors]
        if not found:
            return ""
        who = NO_START if len(found) == 2 else f"{self.dialects[0 if result.errors[0] else 1]} does not start"
        if self.dialects != (V22.name, V24.name):
            names = [name for name, errors in zip(result.names, result.errors, strict=True) if errors]
            who = f"{' and '.join(names)} {word_for(len(names), 'does', 'do')} not load"
        place = found[0].place
        where = f"{display_path(place.path, old.server_root)}:{place.line}: " if place is not None else ""
        return f"{who}: {where}{reason_of(found[0].text)}"

    def _options(self, path: str) -> LoadOptions:
        found, _directory = _sources(path, self.named)
        assert found.options is not None
        return found.options

    def rule_names(self) -> dict[str, str]:
        """Return the titles of the kinds of differences."""
        from whimbrel.report.verification.entries import TITLES

        return {**TITLES, "V-HTTPD": "The real server answers differently"}


def _no_start(fault: StartFault, directory: str) -> str:
    """Return where and why no version starts."""
    return f"{NO_START}: {fault.where(directory)}: {fault.why}"


def _not_started(result: ServerResult, why: str) -> ServerResult:
    """Return the result of a server that no version starts: its text was read, and its findings count."""
    return replace(result, verdict=NOT_STARTED, code=2, fault=why[:MAX_FAULT])


def _note(result: VerifyResult) -> str:
    """Return what limits a comparison: the requests that were not asked, the first fact that is not known, or
    what is open in the new text; "" for nothing.
    """
    from whimbrel.verify.verification import CUT

    if result.is_cut:
        return f"{count_noun(result.probes, 'request')} asked: {CUT} (--limit)"
    reasons = [one.reason for one in result.not_decided] + [item.subject for item in result.scope.deciding]
    return f"not decided: {reasons[0]}" if reasons else next(iter(result.open_reasons), "")


def work(task: FleetTask, server: FleetServer, report_writing: ReportWriting = lambda: None) -> ServerResult:
    """Return the result of *server*, with its time; what fails is a result too. Raises MemoryError alone."""
    begin = time.monotonic()
    result = _result(task, server, report_writing)
    return replace(result, seconds=time.monotonic() - begin)


def _result(task: FleetTask, server: FleetServer, report_writing: ReportWriting) -> ServerResult:
    try:
        return task.run(server, report_writing)
    except _NoServer as problem:
        return failed(server, str(problem))
    except OSError as problem:
        why = problem.strerror if problem.filename is None else file_problem(problem)
        return failed(server, why, NOT_READ)
    except (UsageError, RuleError, WriteError, ConfigError, StartError) as problem:
        return failed(server, str(problem).partition("\n")[0], NOT_READ)
    except RecursionError:
        return failed(server, "it is nested too deeply")
    except MemoryError:
        raise
    except Exception as problem:  # a defect may cost the result of this server, not that of the others
        return failed(server, f"a defect of whimbrel: {type(problem).__name__}: {problem}")


def failed(server: FleetServer, why: str | None, verdict: str = NOT_DECIDED) -> ServerResult:
    """Return the result of a server that has none, for the reason *why*."""
    is_decided = verdict in (NOT_READ, NOT_STARTED)
    code = 2 if is_decided else 3
    fault = (why or "it cannot be read").replace("\n", " ")[:MAX_FAULT]
    return ServerResult(
        from_system(server.name),
        from_system(server.path),
        verdict,
        code,
        undecided=int(not is_decided),
        fault=fault,
    )


def _sources(path: str, named: ConfigArguments) -> tuple[Sources, str]:
    """Return what is read of the server at *path*; raises UsageError, _NoServer."""
    found = server_in(path, as_server=True)
    if found is None:
        fault = from_system(why_no_server(path).partition("\n")[0])
        if os.path.isdir(path) and not any(map(os.path.lexists, main_file_names(path))):
            raise _NoServer(fault)
        raise UsageError(fault)
    return sources(replace(named, paths=[Path(found.path)], as_server=True))


def _undecided(scope: KnowledgeScope) -> int:
    return len(scope.deciding)


def _check_page(report: Report) -> str:
    from whimbrel.report.formats.html import render

    return render(report)


def _verify_page(result: VerifyResult) -> str:
    from whimbrel.report.verification.html import render

    return render(result)
