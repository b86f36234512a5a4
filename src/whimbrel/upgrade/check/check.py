"""A check: the findings of an upgrade that writes no file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from multiprocessing import active_children
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.base.real_paths import real_path
from whimbrel.base.worker_signals import without_interrupts
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.check.load_errors import add_load_errors
from whimbrel.upgrade.check.missing_at_start import missing_at_start
from whimbrel.upgrade.check.start_faults import StartFault, start_fault
from whimbrel.upgrade.edits.frame_lines import lines_needed
from whimbrel.upgrade.knowledge.scope import KnowledgeScope
from whimbrel.upgrade.model import READ_ERROR, Finding, InputContext, UpgradeOptions
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules import all_rules
from whimbrel.upgrade.source.config_tree import ConfigTree, ReportProgress, no_progress
from whimbrel.upgrade.source.queries import was_24_config
from whimbrel.upgrade.source.reading import Overlay, Progress, Sources, described, read_config_tree

BATCH_SIZE: Final = 256
"""The number of fragments that one process reads at a time."""


class UnknownRule(Exception):
    """The number of a rule that does not exist."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected findings: those of the rules *only* (all if it is empty), except those of *without*.

    Read errors are always selected, unless *without* contains READ.
    """

    only: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()

    def rules(self) -> list[Rule]:
        """Return the rules that can yield selected findings."""
        return [rule for rule in all_rules() if any(map(self.selects, (rule.number, *rule.also)))]

    def applied_rules(self) -> list[Rule]:
        """Return the rules whose edits are applied: a rule that is left out changes nothing."""
        return [rule for rule in self.rules() if rule.number not in self.without]

    def selects(self, number: str) -> bool:
        return number not in self.without and (not self.only or number in self.only or number == READ_ERROR)


def parse_selection(only: str, without: str) -> Selection:
    """Parse lists such as ``C17,x01``; raises UnknownRule."""
    rule_numbers = {READ_ERROR, *(number for rule in all_rules() for number in (rule.number, *rule.also))}
    lists = [text.upper().replace(",", " ").split() for text in (only, without)]
    for number in [*lists[0], *lists[1]]:
        if number not in rule_numbers:
            raise UnknownRule(f"no rule has the number {number}")
    return Selection(*map(frozenset, lists))


@dataclass(slots=True)
class CheckResult:
    """The result of a check of one configuration tree.

    Attributes:
        files: the number of lines of each file that was read, by path.
        findings: the findings, the worst first.
        texts: the source lines of places and of frames.
        inputs: lines of text that describe the input.
        scope: what was read, and what is unknown.
        lone: the files that no Include of the server reads.
        is_complete: each file of the server was read, and its builds are those of this system; else 2.4
            refuses this copy for another reason.
        is_of_24: the text loads modules that only 2.4 has.
        fault: the line at which every version of httpd ends its start, None for none.
        exempted: the findings about access whose lines a comment exempts.
        recorded: the findings whose lines a comment exempts that names their rule, and `reviewed_lines`.
        is_part: the files were read without their server.
    """

    files: dict[str, int]
    findings: list[Finding]
    texts: dict[tuple[str, int], str]
    inputs: tuple[str, ...] = ()
    scope: KnowledgeScope = KnowledgeScope()
    lone: frozenset[str] = frozenset()
    is_complete: bool = True
    is_of_24: bool = False
    fault: StartFault | None = None
    exempted: tuple[Finding, ...] = ()
    recorded: tuple[Finding, ...] = ()
    is_part: bool = False


def check(
    sources: Sources,
    wanted: Selection,
    progress: Progress | None = None,
    step: ReportProgress = no_progress,
    options: UpgradeOptions | None = None,
) -> CheckResult:
    """Read *sources* and check the tree; files of a copy are read in the place of those that it is one of."""
    overlay = None
    if sources.options is not None and sources.options.copies:
        texts = sources.options.overlay
        overlay = Overlay({real_path(place): texts[place] for place in sources.options.copies})
    tree = read_config_tree(sources, options or UpgradeOptions(), overlay=overlay, progress=progress)
    tree.report_progress = step
    return judge(tree, wanted, sources)


def judge(tree: ConfigTree, wanted: Selection, sources: Sources | None = None) -> CheckResult:
    """Return the findings about *tree*, each once, sorted by risk, file in reading order, line and rule.

    A rule checks the text as the other rules leave it, so no finding repeats what another one fixes. With
    *sources*, and unless rules were selected, the result of all rules is loaded under 2.4.
    """
    for one in filter(None, (tree, tree.lone)):
        one.is_judged = True
    result = upgrade(tree, wanted.rules())
    if sources is not None and not wanted.only and not wanted.without:
        add_load_errors(result, sources.options)
        if sources.options is not None:
            result.scope = result.scope.with_items(missing_at_start(result))
    unique = {
        (f.rule, f.place.path, f.place.line, f.message): f
        for f in reversed(result.findings)
        if wanted.selects(f.rule)
    }
    order = {path: at for at, path in enumerate(tree.files)}
    findings = sorted(
        unique.values(),
        key=lambda f: (
            f.risk.rank,
            f.rule != READ_ERROR,  # what ends every start comes before its consequences
            order.get(f.place.path, len(order)),
            f.place.line,
            f.rule,
        ),
    )
    files = {path: _line_count(file.document.bytes) for path, file in tree.files.items()}
    lone = tree.lone_paths
    is_complete = tree.modules_unread is None and not any(file.foreign for file in tree.files.values())
    texts = source_lines(tree, findings)
    is_of_24 = was_24_config(tree)
    fault = start_fault(result, sources.options) if sources is not None else None
    return CheckResult(
        files,
        findings,
        texts,
        described(tree),
        result.scope,
        lone,
        is_complete,
        is_of_24,
        fault,
        tuple(one for one in result.exempted if wanted.selects(one.rule)),
        result.recorded,
        tree.context is not InputContext.SERVER,
    )


def _line_count(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def source_lines(tree: ConfigTree, findings: Iterable[Finding]) -> dict[tuple[str, int], str]:
    """Return the source lines of *findings*: those of their places and frames, as the files have them."""
    wanted: dict[str, set[int]] = {}
    for finding in findings:
        numbers = wanted.setdefault(finding.place.path, set())
        numbers.add(finding.place.line)
        numbers.update(lines_needed(finding))
        numbers.add(finding.access_line)
    found = {}
    for path, numbers in wanted.items():
        file = tree.files.get(path)
        lines = file.document.bytes.split(b"\n") if file is not None else []
        found.update(
            {
                (path, number): lines[number - 1].decode("latin-1")
                for number in numbers
                if 0 < number <= len(lines)
            }
        )
    return found


# many ---------------------------------------------------------------------------------------------
def batches(sources: Sources) -> list[Sources]:
    """Return *sources* in independent parts: the configuration is one, fragments are grouped
    by `BATCH_SIZE`."""
    if sources.options is not None or len(sources.fragments) <= BATCH_SIZE:
        return [sources]
    files = iter(sources.fragments)
    return [replace(sources, fragments=part) for part in iter(lambda: tuple(islice(files, BATCH_SIZE)), ())]


def check_all(
    parts: list[Sources],
    wanted: Selection,
    jobs: int,
    progress: Progress | None = None,
    step: ReportProgress = no_progress,
    options: UpgradeOptions | None = None,
) -> Iterator[CheckResult]:
    """Yield the result of each part, in order, computed by up to *jobs* processes."""
    if jobs < 2 or len(parts) < 2:
        yield from (check(part, wanted, progress, step, options) for part in parts)
        return
    with ProcessPoolExecutor(min(jobs, len(parts))) as pool:
        try:
            with without_interrupts():
                results = pool.map(partial(check, wanted=wanted, options=options), parts)
            for number, result in enumerate(results, 1):
                step("servers and parts", number, len(parts))
                yield result
        except BaseException:
            for child in active_children():  # else the pool waits for the parts that are in work
                child.kill()
            raise


def display_name(sources: Sources) -> str:
    """Return the name of a part for progress messages."""
    if isinstance(sources.options, LoadOptions):
        return f"{sources.options.server_root}/{sources.options.file}"
    return sources.fragments[0] if sources.fragments else ""
