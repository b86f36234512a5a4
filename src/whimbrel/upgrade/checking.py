"""A check: the findings of an upgrade whose files are not written, and what 2.4 would log about the text as
it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from typing import Final

from whimbrel.config.options import LoadOptions
from whimbrel.records import dataclass, replace
from whimbrel.upgrade.estate import Estate, Step, unwatched
from whimbrel.upgrade.ignoring import ignored
from whimbrel.upgrade.model import Finding, Rule, Wishes
from whimbrel.upgrade.passes import READING, upgrade
from whimbrel.upgrade.reading import Progress, Sources, described, read_estate
from whimbrel.upgrade.rules import all_rules, messages

PIECE: Final = 256
"""How many loose files one process takes at a time."""


class UnknownRule(Exception):
    """A number that no rule has."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which findings are wanted: those with the numbers of *only* (all where it is empty), never those of *without*.

    What couldn't be read is always wanted, unless *without* says READ.
    """

    only: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()

    def rules(self) -> list[Rule]:
        """The rules that may give such findings."""
        return [rule for rule in all_rules() if any(map(self.wants, (rule.number, *rule.also)))]

    def wants(self, number: str) -> bool:
        return number not in self.without and (not self.only or number in self.only or number == READING)


def selection(only: str, without: str) -> Selection:
    """From lists such as ``C17,x01``; raises UnknownRule."""
    known = {READING, *(number for rule in all_rules() for number in (rule.number, *rule.also))}
    lists = [frozenset(text.upper().replace(",", " ").split()) for text in (only, without)]
    for number in sorted(lists[0] | lists[1]):
        if number not in known:
            raise UnknownRule(f"no rule has the number {number}")
    return Selection(*lists)


@dataclass(slots=True)
class Checked:
    """What came of one estate: *files* maps each path that was read to its number of lines, *texts* has the
    source line of each place, *inputs* say what the input was taken for.
    """

    files: dict[str, int]
    findings: list[Finding]
    texts: dict[tuple[str, int], str]
    inputs: tuple[str, ...] = ()


def check(
    sources: Sources,
    wanted: Selection,
    progress: Progress | None = None,
    step: Step = unwatched,
    options: Wishes | None = None,
) -> Checked:
    """Read and judge."""
    estate = read_estate(sources, options or Wishes(), progress=progress)
    estate.step = step
    return judge(estate, wanted)


def judge(estate: Estate, wanted: Selection) -> Checked:
    """The findings about *estate*, each once, sorted by risk, file in the order of reading, line and rule.

    A rule speaks about the text as the other rules leave it, so no finding asks for what another one has
    settled.
    """
    rules = wanted.rules()
    found = [
        finding
        for rule in rules
        if rule in messages.RULES
        for finding in rule.check(estate)
        if not ignored(finding, estate)
    ]
    found += upgrade(estate, [rule for rule in rules if rule not in messages.RULES]).findings
    unique = {
        (f.rule, f.place.path, f.place.line, f.message): f for f in reversed(found) if wanted.wants(f.rule)
    }
    order = {path: at for at, path in enumerate(estate.files)}
    findings = sorted(
        unique.values(),
        key=lambda f: (f.risk.rank, order.get(f.place.path, len(order)), f.place.line, f.rule),
    )
    files = {path: _lines(file.document.bytes) for path, file in estate.files.items()}
    return Checked(files, findings, _texts(estate, findings), described(estate))


def _lines(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def _texts(estate: Estate, findings: Iterable[Finding]) -> dict[tuple[str, int], str]:
    """The source lines of *findings*, without white space around them."""
    wanted: dict[str, set[int]] = {}
    for finding in findings:
        wanted.setdefault(finding.place.path, set()).add(finding.place.line)
    found = {}
    for path, numbers in wanted.items():
        file = estate.files.get(path)
        lines = file.document.bytes.split(b"\n") if file is not None else []
        found.update({(path, number): lines[number - 1].strip().decode("latin-1") for number in numbers if 0 < number <= len(lines)})
    return found


# many ---------------------------------------------------------------------------------------------
def pieces(sources: Sources) -> list[Sources]:
    """*sources* in parts that can be looked at apart: a configuration is one, loose files go by hundreds."""
    if sources.options is not None or len(sources.fragments) <= PIECE:
        return [sources]
    files = iter(sources.fragments)
    return [replace(sources, fragments=part) for part in iter(lambda: tuple(islice(files, PIECE)), ())]


def check_all(
    parts: list[Sources],
    wanted: Selection,
    jobs: int,
    progress: Progress | None = None,
    step: Step = unwatched,
    options: Wishes | None = None,
) -> Iterator[Checked]:
    """What comes of each part, in order, by up to *jobs* processes."""
    if jobs < 2 or len(parts) < 2:
        yield from (check(part, wanted, progress, step, options) for part in parts)
        return
    with ProcessPoolExecutor(max_workers=min(jobs, len(parts))) as pool:
        for number, (part, checked) in enumerate(
            zip(parts, pool.map(partial(check, wanted=wanted, options=options), parts), strict=True), 1
        ):
            step("parts", number, len(parts))
            if progress is not None:
                progress(name_of(part))
            yield checked


def name_of(sources: Sources) -> str:
    """What a part is called while it is looked at."""
    if isinstance(sources.options, LoadOptions):
        return f"{sources.options.server_root}/{sources.options.file}"
    return sources.fragments[0] if sources.fragments else ""
