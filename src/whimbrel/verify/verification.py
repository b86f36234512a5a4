"""The result of a verification: same, different, or not decided; with the differences grouped by cause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final

from whimbrel.base.counts import count_noun
from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.lazy_re import compile
from whimbrel.upgrade.apply.left_decisions import LEFT, OF_OLD
from whimbrel.upgrade.knowledge.scope import KnowledgeScope
from whimbrel.upgrade.knowledge.start_stops import StartStops
from whimbrel.upgrade.model import AccessDifference, Finding, Risk
from whimbrel.verify.answer import Answer, DecidingLine
from whimbrel.verify.causes import REFUSED_LINE, Cause
from whimbrel.verify.decisive_line import decisive_line
from whimbrel.verify.difference import Difference, words_of
from whimbrel.verify.named_requests import MAX_REQUESTS, comments_of, request_of
from whimbrel.verify.probe import Probe
from whimbrel.verify.program_sources import SOURCE, is_source
from whimbrel.verify.side import LoadError

_RULE_OF_REASON: Final = compile(r"\(([A-Z]\d{2})\)$")
CUT: Final = "not every request that can be derived was asked"
MAX_EXAMPLES: Final = 3
"""Examples of a group, beside the first ones that open, that close, or that differ in other parts."""
ALL_ADMITTED: Final = "everybody who got it"
"""The clients of a file that 2.4 answers with 500 because of a .htaccess line, whoever they are."""


class Verdict(Enum):
    """The result; the value is the exit code of `whimbrel verify`."""

    SAME = 0
    DIFFERENT = 1
    DOES_NOT_LOAD = 2
    NOT_DECIDED = 3


@dataclass(slots=True)
class Example:
    """A request that both sides answer differently; *client* describes it.

    *access*: the results of access control as statuses, 200 for granted. *clients*: all clients for whom the
    statuses are those, in words; "" if they are not known, or too many to name. *weight*: what it says to a
    person, the less the more (see weights.py). *lines*: the lines of both sides that decided, of examples
    that are kept and whose status is one of access control.
    """

    probe: Probe
    difference: Difference
    old: Answer
    new: Answer
    client: str = ""
    access: tuple[int, int] | None = None
    clients: str = ""
    weight: int = 0
    lines: tuple[tuple[DecidingLine, ...], tuple[DecidingLine, ...]] = field(default=((), ()), compare=False)

    @property
    def decisive(self) -> tuple[DecidingLine | None, DecidingLine | None]:
        """Return the line of each side to which its status is due; None for one that is not known."""
        old, new = self.statuses
        return decisive_line(self.lines[0], old), decisive_line(self.lines[1], new)

    @property
    def statuses(self) -> tuple[int, int]:
        """The results of access control if it decided, else the statuses."""
        return self.access or (self.old.status, self.new.status)

    @property
    def is_source(self) -> bool:
        """Return True if the new side sends the text of a program that the old side runs."""
        return SOURCE in self.difference.names and is_source(self.old, self.new)

    @property
    def opens(self) -> bool:
        """Return True if the new side admits a client that the old one refuses, or sends a program's text."""
        old, new = self.statuses
        return (old in (401, 403) and new < 400) or self.is_source

    @property
    def closes(self) -> bool:
        """Return True if the new side refuses a client that the old one admits."""
        old, new = self.statuses
        return new in (401, 403, 500) and old < 400


def rule_of_reason(reason: str) -> str:
    """Return the rule that the reason of a difference names; "" for none."""
    named = _RULE_OF_REASON.search(reason)
    return named[1] if named is not None else ""


@dataclass(slots=True)
class DifferenceGroup:
    """Differences with one cause.

    Attributes:
        kind: access, response, or httpd (a real server answers otherwise than the engine).
        examples: the first ones; *count* of them were found (see `add`).
        lines: for access: the lines that decided the first example on each side.
        is_assumed: the example needs a user, or a variable, that no file of the configuration has at present.
        reason: why answers differ where no line decides it, and what is known of the change; else "".
        rule: that of `whimbrel check` which calls the change cosmetic; "" for none.
        decided: the comments of the new text that record a decision about it: ``R01 at FILE:LINE``.
        further: for access: the lines that decided the requests behind the first one.
        is_of_versions: both texts have the lines of the cause, and the versions do not do the same with them.
        words: what `whimbrel explain` shows this difference with; () for nothing. `unshown`: why it cannot.
        requests: those that differ, as `request_of` returns them; at most one more than comments may name.
    """

    kind: str
    cause: Cause
    examples: list[Example] = field(default_factory=list)
    count: int = 0
    lines: tuple[tuple[DecidingLine, ...], tuple[DecidingLine, ...]] = ((), ())
    is_assumed: bool = False
    is_of_versions: bool = False
    reason: str = ""
    rule: str = ""
    decided: tuple[str, ...] = ()
    further: Cause = Cause((), ())
    words: tuple[str, ...] = ()
    unshown: str = ""
    requests: dict[str, None] = field(default_factory=dict)

    def comments(self, side: int = 1) -> list[str]:
        """Return the comments that decide about it by its requests, if no comment at a line of *side* (1: the
        new text) and none with a rule does; [] for none.
        """
        cause = self.joint_cause
        has_line = bool((*(cause.old, cause.new)[side], *self.lines[side]))
        has_rule = bool(self.foreseen_by) and not is_of_access(self)
        is_open = has_line or has_rule or self.opens or self.kind == "httpd"
        return [] if is_open else comments_of(self.requests)

    @property
    def joint_cause(self) -> Cause:
        """The cause with the lines that decide requests behind the first one."""
        return self.cause.with_deciding((self.further.old, self.further.new))

    @property
    def foreseen_by(self) -> str:
        """The rule that foresees the difference; "" for none."""
        return rule_of_reason(self.reason)

    @property
    def opens(self) -> bool:
        """Return True if an example opens."""
        return any(one.opens for one in self.examples)

    @property
    def closes(self) -> bool:
        """Return True if an example closes."""
        return any(one.closes for one in self.examples)

    def add(self, example: Example, *, is_first: bool = False) -> None:
        """Count a difference; keep the example if it is one of the first, or the first of its kind.

        *is_first*: it stands before the others.
        """
        self.count += 1
        if len(self.requests) <= MAX_REQUESTS:
            self.requests[request_of(example.probe.request_text, words_of(example.difference))] = None
        if is_first:
            self.examples.insert(0, example)
            return
        names = example.difference.names
        is_new = example.opens > self.opens or example.closes > self.closes
        is_new |= all(one.difference.names != names for one in self.examples)
        if len(self.examples) < MAX_EXAMPLES or (is_new and len(self.examples) < 2 * MAX_EXAMPLES):
            self.examples.append(example)
        elif example.opens > self.opens or example.closes > self.closes:
            spare = [one for one in self.examples if not (one.opens or one.closes)] or self.examples
            self.examples[self.examples.index(spare[-1])] = example
        else:
            effect = example.opens, example.closes
            alike = [one for one in self.examples if (one.opens, one.closes) == effect]
            if alike and all(example.weight < one.weight for one in alike):
                self.examples[self.examples.index(alike[-1])] = example


LINE_OR_CHAIN: Final = ("line or chain", "lines or chains")
"""What a comparison leaves undecided, for one and for more."""


@dataclass(frozen=True, slots=True)
class NotDecided:
    """What could not be compared, and why.

    Attributes:
        probe: a request that it concerns.
        places: the lines of each text at which a comment records that a person has looked at it.
    """

    reason: str
    probe: Probe | None = None
    places: tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]] = ((), ())


@dataclass(slots=True)
class VerifyResult:
    """The comparison of two sides.

    Attributes:
        names: of the sides. `dialects`: the names of their dialects, "" for none.
        errors: of each side that does not load.
        decided_facts: the comments of the text that record decisions about what is not known, one for each
            fact: ``DIFF at FILE:LINE``.
        chains: pairs of section chains whose access decisions were compared exactly.
        probes: requests that were asked of both sides.
        limits: probes that were left out, and the system of a side if it is Windows, as sentences.
        scope: what was read of both sides, and what is unknown.
        is_stopped_alike: the old side, of the same version, does not start on this machine either.
        start_stops: what ends the start of the new side on this machine.
        is_cut: not every request that can be derived was asked.
        has_ended: lines are not decided as the time, or the number of requests, ended before.
        to_decide: what findings about the new text leave to a person: ``to decide: 1 finding at 1 place``;
            "" for nothing. `questions`: rule, place, question and answers of each. `has_stop`: 2.4 does
            not start, or answers 500, until then.
        open_access: what findings of `to_decide` say about clients that no request stands for, with places.
        logs: the access logs of the server of the old side that are on this machine.
        ports: those of the Listen lines of the new side.
        documents: where both sides read the documents that their texts name, if each by its own rule would
            read others; else "".
        failures: what answers 500 on the new side alone, why, and the line, as sentences; then why a real
            server got no request.
        by_comments: findings about the new text that its comments decide, refusals and openings first.
        not_compared: the bodies that are made at each request, in words; "" for none.
        image: the copy of a machine that the new side is in, below which its places are; "" for none.
        unwritten: where a server of the new side, a copy, answers 500 with the old .htaccess files; "" for
            nowhere.
    """

    names: tuple[str, str] = ("old", "new")
    errors: tuple[tuple[LoadError, ...], tuple[LoadError, ...]] = ((), ())
    groups: list[DifferenceGroup] = field(default_factory=list)
    not_decided: list[NotDecided] = field(default_factory=list)
    decided_facts: tuple[str, ...] = ()
    chains: int = 0
    probes: int = 0
    limits: list[str] = field(default_factory=list)
    scope: KnowledgeScope = KnowledgeScope()
    files: list[str] = field(default_factory=list)
    is_stopped_alike: bool = False
    start_stops: StartStops = StartStops()
    is_cut: bool = False
    has_ended: bool = False
    to_decide: str = ""
    questions: tuple[tuple[str, str, str, str], ...] = ()
    image: str = ""
    has_stop: bool = False
    open_access: tuple[str, ...] = ()
    unwritten: str = ""
    documents: str = ""
    failures: tuple[str, ...] = ()
    by_comments: tuple[Finding, ...] = ()
    not_compared: str = ""
    ports: tuple[int, ...] = ()
    logs: list[str] = field(default_factory=list)
    dialects: tuple[str, str] = ("", "")

    @property
    def verdict(self) -> Verdict:
        """The result; a side that does not load makes the other one incomparable. What a rule calls cosmetic
        is no difference to a reader of the answers, and what a comment decides is none to review. Two sides
        are the same only if nothing is open.
        """
        if any(self.errors):
            return Verdict.DOES_NOT_LOAD
        if self.causes_to_review:
            return Verdict.DIFFERENT
        is_decided = not self.not_decided and self.scope.is_complete and not self.open_reasons
        return Verdict.SAME if is_decided else Verdict.NOT_DECIDED

    @property
    def no_start(self) -> str:
        """What stops the start of the new side on this machine: ``FILE:LINE: reason``, the reason alone of a
        default that no line sets, "" for nothing. Module files that are not here do not count: this machine
        may have none.
        """
        return self.start_stops.first

    @property
    def open_reasons(self) -> list[str]:
        """Why nothing is the same yet, beside `not_decided` and `scope`: the new server does not start here,
        its text leaves work to a person, or versions were not asked for all requests.
        """
        is_stopped = bool(self.no_start) and not self.is_stopped_alike
        has_rest = self.is_cut and len(set(self.dialects)) > 1
        reasons = (
            self.unwritten,
            self.to_decide,
            f"{self.names[1]} does not start here: {self.no_start}" * is_stopped,
            CUT * has_rest,
        )
        return [reason for reason in reasons if reason]

    @property
    def causes_to_review(self) -> list[DifferenceGroup]:
        """The groups that no rule calls cosmetic, and that no comment of the new text decides."""
        return [group for group in self.groups if not (group.rule or group.decided)]

    @property
    def cosmetic_note(self) -> str:
        """The number of differences that rules call cosmetic, with these rules; "" for none."""
        groups = [group for group in self.groups if group.rule]
        count = count_noun(sum(group.count for group in groups), "cosmetic difference")
        return f"{count} ({', '.join(sorted({group.rule for group in groups}))})" if groups else ""

    @property
    def excepted_note(self) -> str:
        """The differences that are not to review: cosmetic ones, and those that comments decide, and the
        bodies that were not compared; "" for none.
        """
        return ", ".join(filter(None, (self.cosmetic_note, self.decided_note, self.not_compared)))

    @property
    def decided_note(self) -> str:
        """The differences, and what is not known, that comments decide; "" for none."""
        groups = [group for group in self.groups if group.decided]
        every = [*(comment for group in groups for comment in group.decided), *self.decided_facts]
        counts = (
            count_noun(sum(group.count for group in groups), "difference") if groups else "",
            count_noun(len(self.decided_facts), "unknown fact") if self.decided_facts else "",
        )
        named = ", ".join(dict.fromkeys(every))
        return f"{' and '.join(filter(None, counts))} decided in the text: {named}" if every else ""

    @property
    def differences(self) -> int:
        """The number of differences of all groups."""
        return sum(group.count for group in self.groups)


_OF_HANDSHAKE: Final = frozenset(
    f"value of ssl{name}"
    for name in (
        *("verifyclient", "verifydepth", "cacertificatefile", "cacertificatepath", "strictsnivhostcheck"),
        *("carevocationfile", "carevocationpath", "carevocationcheck", "ocspenable", "protocol"),
        *(
            "ciphersuite",
            "cadnrequestfile",
            "cadnrequestpath",
            "ocspdefaultresponder",
            "ocspoverrideresponder",
        ),
    )
)
"""Directives that decide which clients complete a TLS handshake; no request shows them."""


def risk_of_access(group: DifferenceGroup) -> Risk:
    """Return what a difference does, first to access."""
    if group.rule:
        return Risk.COSMETIC
    if group.opens:
        return Risk.OPENS
    return Risk.CLOSES if group.closes else Risk.CHANGES


def access_sentence(result: VerifyResult) -> str:
    """Return that no client gains or loses access, and how far that is known; "" where one does, or where
    nothing was compared.
    """
    if any(result.errors) or any(map(is_of_access, result.groups)):
        return ""
    known = (
        "" if result.verdict is not Verdict.NOT_DECIDED and not result.not_decided else ", as far as known"
    )
    names = {name for group in result.groups for one in group.examples for name in one.difference.names}
    if not _OF_HANDSHAKE.isdisjoint(names):
        known += " after the TLS handshake, which other clients complete"
    extent = (
        f"({count_noun(result.chains, 'chain')} of sections compared exactly, "
        f"{count_noun(result.probes, 'request')})"
    )
    decided = access_by_comments(result.by_comments)
    others = [f"to decide: {', '.join(result.open_access)}"] if result.open_access else []
    others += [f"comments decide: {decided}"] if decided else []
    if others:
        return f"access: no request here gains or loses it{known} {extent}, but {'; '.join(others)}"
    return f"access: nobody gains and nobody loses{known} {extent}"


def access_by_comments(findings: Iterable[Finding]) -> str:
    """Return what comments decide about access, with the places: refusals, then openings; "" for nothing."""
    named = ((one.rule, f"{one.place.path}:{one.place.line}", one.risk, one.message) for one in findings)
    return ", ".join(effects_on_access(named))


def effects_on_access(findings: Iterable[tuple[str, str, Risk, str]]) -> list[str]:
    """Return what findings, as rule, place, risk and message, say about access: refusals, then openings."""
    found = list(findings)
    return [
        f"{rule} at {place} ({word} access: {_fact(message)})"
        for word, wanted in (("loses", Risk.CLOSES), ("gains", Risk.OPENS))
        for rule, place, risk, message in found
        if risk is wanted
    ]


def others_by_comments(findings: Iterable[Finding]) -> str:
    """Return the other findings that comments decide; "" for none."""
    of_access = (Risk.CLOSES, Risk.OPENS)
    return ", ".join(
        f"{one.rule} at {one.place.path}:{one.place.line}" for one in findings if one.risk not in of_access
    )


def comments_sentence(findings: Iterable[Finding]) -> str:
    """Return all that comments decide, refusals and openings first; "" for nothing."""
    found = tuple(findings)
    texts = filter(None, (access_by_comments(found), others_by_comments(found)))
    named = "; ".join(texts)
    return f"decided by comments: {named}" if named else ""


def _fact(message: str) -> str:
    return message.removeprefix(LEFT).removeprefix(OF_OLD).partition("; ")[0]


def is_of_access(group: DifferenceGroup) -> bool:
    """Return True if a client of *group* gains or loses access."""
    return group.kind == "access" or group.opens or group.closes


def access_differences(groups: Iterable[DifferenceGroup]) -> Iterator[AccessDifference]:
    """Yield the examples that one side admits and the other refuses; those that open come first, and of one
    effect those that no comment of the text decides. The client of a decided one names the comment.

    Each has the line that gave the new side its answer, or the first line of the cause.
    """
    found = []
    for group in sorted(groups, key=lambda one: bool(one.decided)):
        suffix = f" (decided in the text: {', '.join(group.decided)})" if group.decided else ""
        of_new = next(iter((*group.cause.new, *(() if group.cause.old else group.lines[1]))), None)
        of_old = next(iter((*group.cause.old, *group.lines[0])), None)
        for example in group.examples:
            if group.kind == "access" or example.opens or example.closes:
                client = (
                    example.clients
                    or ALL_ADMITTED * _refuses_all(group, example)
                    or example.probe.client_text
                )
                request = example.probe.request_text
                new_line = example.decisive[1] or of_new
                line = new_line or of_old
                place = None if line is None else SourceLocation(line.path, line.line)
                found.append(
                    AccessDifference(
                        f"{client}{suffix}",
                        request,
                        *example.statuses,
                        place,
                        is_source=example.is_source,
                        answers=(example.old.status, example.new.status),
                        is_of_old=new_line is None,
                    )
                )
    yield from sorted(found, key=lambda one: one.risk.rank)


def _refuses_all(group: DifferenceGroup, example: Example) -> bool:
    """Return True if the new side answers 500 because of a .htaccess line."""
    if not example.closes or example.new.status != 500:
        return False
    paths = [line.path for line in group.cause.new]  # of an image: the logged path below its directory
    logged = [found[1] for found in map(REFUSED_LINE.match, example.new.log) if found]
    return any(path.endswith(name) for path in paths for name in logged)
