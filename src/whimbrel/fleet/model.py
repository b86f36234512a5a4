"""The result of a fleet: one line for each server, the rules over all, and the exit code of the worst."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from whimbrel.base.counts import word_for
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.report.model import EFFECT_CLASSES, UNREAD, EffectClass
from whimbrel.upgrade.model import READ_ERROR, Risk

NOT_DECIDED: Final = "not decided"
NOT_READ: Final = "not read"
NOT_STARTED: Final = "does not load"
"""The verdict of a server whose text was read, and that no version starts: its findings count."""
NO_START: Final = "neither 2.2 nor 2.4 starts"
"""The begin of the fault of a server that no version starts."""
VERDICT_WORDS: Final = {
    "findings": ("with findings", "with findings"),
    "does not load": ("does not load", "do not load"),
    "changes to make": ("with changes to make", "with changes to make"),
    "needs review": ("needs review", "need review"),
}
"""The words of a verdict behind a number of servers, for one and for more."""
SEVERITY: Final = (2, 1, 3, 0)
"""The exit codes, the worst first: unreadable, findings, not decided, nothing to do."""


@dataclass(frozen=True, slots=True)
class RuleCount:
    """The findings of one rule with one class of effects on a server.

    Attributes:
        is_per_request: 2.4 starts with these lines, and answers requests with 500.
    """

    rule: str
    risk: Risk
    count: int
    is_per_request: bool = False

    @property
    def effect(self) -> EffectClass:
        """The class of effects, as the report of one server has it."""
        if self.rule == READ_ERROR and self.risk is not Risk.BREAKS:
            return UNREAD
        return EffectClass(self.risk, self.is_per_request)


@dataclass(frozen=True, slots=True)
class ServerResult:
    """The result of one server.

    Attributes:
        name, path: those of the server; all texts have one character per byte.
        verdict: in a word or two: "findings", "same", "not decided" ...
        code: the exit code that the command for this server alone has.
        rules: the findings by rule and class of effects.
        review: the number of findings to decide, as the report of one server counts them.
        undecided: the number of facts that are not known and may matter.
        files, lines: the size of what was read.
        changed: the number of files that an upgrade changes.
        fault: why there is no result, "" for nothing.
        note: what limits the result, "" for nothing.
        access: who gains or loses access after the upgrade, with an example, "" for nobody.
        seconds: the time that it took.
        same_as: the name of the equal server whose result this is, "" for none.
        page: the HTML page of the server, "" for none; `has_page`: it was written.
    """

    name: str
    path: str
    verdict: str
    code: int
    rules: tuple[RuleCount, ...] = ()
    undecided: int = 0
    files: int = 0
    lines: int = 0
    changed: int = 0
    fault: str = ""
    seconds: float = 0.0
    same_as: str = ""
    page: str = ""
    has_page: bool = False
    review: int = 0
    note: str = ""
    access: str = ""

    @property
    def per_request(self) -> int:
        """The number of findings with which 2.4 starts and answers requests with 500."""
        return sum(one.count for one in self.rules if one.is_per_request)

    def work(self) -> tuple[int, ...]:
        """Return the place of a server among others: unreadable ones, then those with the most to decide, not
        known, and to change."""
        counts = self.by_effect()
        by_effect = (-counts.get(effect, 0) for effect in EFFECT_CLASSES)
        return (SEVERITY.index(self.code), -self.review, -self.undecided, *by_effect)

    def by_risk(self) -> dict[Risk, int]:
        """Count the findings by risk, the worst first, without zero counts."""
        counts: Counter[Risk] = Counter()
        for one in self.rules:
            counts[one.risk] += one.count
        return {risk: counts[risk] for risk in Risk if counts[risk]}

    def by_effect(self) -> dict[EffectClass, int]:
        """Count the findings by class of effect, as the report of one server does."""
        counts: Counter[EffectClass] = Counter()
        for one in self.rules:
            counts[one.effect] += one.count
        return {effect: count for effect, count in counts.items() if count}


@dataclass(frozen=True, slots=True)
class RuleTotal:
    """One rule over all servers; *effect* is its worst, which *worst_servers* and *worst_findings* have."""

    rule: str
    name: str
    effect: EffectClass
    servers: int
    findings: int
    worst_servers: int
    worst_findings: int


def of_all(count: int, words: str, total: int) -> str:
    """Return *words*, those of *total*, with *count* in front of them where it is another number: ``2 of
    3 servers``.
    """
    return words if count == total else f"{count:,} of {words}"


@dataclass(slots=True)
class FleetReport:
    """The results of a fleet.

    Attributes:
        command: check, upgrade or verify.
        servers: the results in the order of the fleet; those that were not reached are missing.
        total: the number of servers of the fleet.
        names: short names of the rules.
        workers: the processes or threads that worked.
        is_interrupted: the user ended the work before all servers were done.
        cut_writes: the servers whose files were being written at that moment.
    """

    command: str
    servers: list[ServerResult]
    total: int
    names: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    workers: int = 1
    is_interrupted: bool = False
    cut_writes: tuple[str, ...] = ()

    def exit_code(self) -> int:
        """Return the code of the worst server."""
        codes = {server.code for server in self.servers}
        return next((code for code in SEVERITY if code in codes), 0)

    def verdicts(self) -> dict[str, int]:
        """Count the servers by verdict, the worst first."""
        ordered = sorted(self.servers, key=lambda server: SEVERITY.index(server.code))
        return dict(Counter(server.verdict for server in ordered))

    def verdict_counts(self) -> str:
        """Return the numbers of servers by verdict in words, the worst first; "" for none."""
        return ", ".join(
            f"{count:,} {word_for(count, *VERDICT_WORDS.get(verdict, (verdict, verdict)))}"
            for verdict, count in self.verdicts().items()
        )

    def first(self) -> str:
        """Return what to do before the next command: the fault of the worst server that could not be read, or
        that no version starts; "" for none.
        """
        faulty = (server for server in sorted(self.servers, key=ServerResult.work) if server.code == 2)
        worst = next((server for server in faulty if server.fault), None)
        if worst is None:
            return ""
        place = worst.fault.removeprefix(f"{NO_START}: ")
        return f"{worst.name}: correct {place}" if place != worst.fault else f"{worst.name}: {worst.fault}"

    def rule_totals(self) -> list[RuleTotal]:
        """Return the rules: the worst effect first, then those that most servers have."""
        servers: Counter[str] = Counter()
        findings: Counter[str] = Counter()
        servers_by_effect: Counter[tuple[str, EffectClass]] = Counter()
        findings_by_effect: Counter[tuple[str, EffectClass]] = Counter()
        for server in self.servers:
            servers.update({one.rule for one in server.rules})
            servers_by_effect.update({(one.rule, one.effect) for one in server.rules})
            for one in server.rules:
                findings[one.rule] += one.count
                findings_by_effect[one.rule, one.effect] += one.count
        totals = []
        for rule in servers:
            effect = min((effect for name, effect in servers_by_effect if name == rule), key=_rank)
            name = self.names.get(rule, "")
            of_worst = servers_by_effect[rule, effect], findings_by_effect[rule, effect]
            totals.append(RuleTotal(rule, name, effect, servers[rule], findings[rule], *of_worst))
        return sorted(totals, key=lambda one: (_rank(one.effect), -one.servers, -one.findings, one.rule))


def _rank(effect: EffectClass) -> tuple[int, bool, bool]:
    return effect.rank


def rule_counts(found: Iterable[tuple[str, EffectClass]]) -> tuple[RuleCount, ...]:
    """Count pairs of rule and class of effects, the worst first."""
    counts = Counter(found)
    ordered = sorted(counts.items(), key=lambda item: (item[0][1].rank, -item[1], item[0][0]))
    return tuple(
        RuleCount(rule, effect.risk, count, effect.is_per_request) for (rule, effect), count in ordered
    )
