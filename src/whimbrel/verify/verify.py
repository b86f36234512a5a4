"""Verify two sides: exact access decisions of every chain that a probe meets, and answers to all probes."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import Final

from whimbrel.access.atoms import Atom, EnvironmentSet, MethodIs, OverTls
from whimbrel.access.client_sets import clients_text
from whimbrel.access.clients import find_client
from whimbrel.access.decision import AccessDecision, AccessVerdict, Counterexample
from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.builds import WINDOWS
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.engine.plan.plan import Plan
from whimbrel.modules.lua.mod_lua.settings import SCRIPTS
from whimbrel.upgrade.knowledge.loaded import STARTS
from whimbrel.upgrade.knowledge.scope import UnknownItem
from whimbrel.verify.alignment import Alignment
from whimbrel.verify.answer import Answer, DecidingLine
from whimbrel.verify.clients import Confirmation, Confirmed
from whimbrel.verify.config_lines import SideLines, key_of
from whimbrel.verify.copied_htaccess import copies_item, unwritten_sentence
from whimbrel.verify.counterexamples import connected, counterexamples
from whimbrel.verify.coverage.behind_redirects import without_redirects
from whimbrel.verify.coverage.coverage import NUMBER_ENDED, TIME_ENDED, UNREACHED, Coverage, Place
from whimbrel.verify.coverage.unserved_directories import serving, unserved
from whimbrel.verify.coverage.without_line import FULL_BUDGET, RemovalBudget
from whimbrel.verify.damaged_htaccess import damaged_htaccess
from whimbrel.verify.deciding_lines import deciding_lines
from whimbrel.verify.decisive_line import OF_ACCESS
from whimbrel.verify.derive.facts import Facts, distinct
from whimbrel.verify.derive.hosts import Entrance
from whimbrel.verify.derive.probes import ProbeSource
from whimbrel.verify.derive.targets import Targets
from whimbrel.verify.difference import Difference, FieldDifference, compare
from whimbrel.verify.digest_user import DIGEST, OLD_DIGEST
from whimbrel.verify.failures import FAILED, Failures
from whimbrel.verify.late_certificates import late_certificates
from whimbrel.verify.located_causes import LocatedCause, LocatedCauses, separate
from whimbrel.verify.missing_directories import assume_directories
from whimbrel.verify.other_times import other_times
from whimbrel.verify.patterns.checks import MAX_PAIRS, PatternChecks
from whimbrel.verify.patterns.conditions import PatternSpace
from whimbrel.verify.patterns.pairs import PatternPair, pattern_pairs
from whimbrel.verify.plan_decisions import PlanDecisions
from whimbrel.verify.probe import Probe
from whimbrel.verify.settable_variables import settable_variables
from whimbrel.verify.side import Side, replaced_paths
from whimbrel.verify.state_pages import StatePages
from whimbrel.verify.text_differences import TextDifferences
from whimbrel.verify.tls_ports import ports_of
from whimbrel.verify.uncopied_directories import uncopied_item
from whimbrel.verify.undecided_passwords import undecided_passwords
from whimbrel.verify.verification import CUT, DifferenceGroup, Example, NotDecided, VerifyResult
from whimbrel.verify.weights import Weight, weight_of
from whimbrel.verify.written_by_upgrade import written_by_upgrade
from whimbrel.verify.written_logs import written_logs

MAX_SECONDS: Final = 30.0
"""Processor time for the requests of all hosts, where the user gives no number of requests: that of programs
counts, too. Each host has an equal part of it, and what those before it have left."""
MAX_NAMED: Final = 5
"""Hosts that a sentence names."""
_FLUSHED: Final = 250
"""Hosts after which plans are dropped."""
_MANY: Final = 100
"""Hosts of which equal ones are asked once."""
MAX_GROUPS: Final = 500
MAX_KNOWN: Final = 4000
"""Answers that are kept for requests that come again."""
MAX_TRACED: Final = 32
"""Requests of a group about access whose deciding lines are looked up; those that are kept have theirs."""
_MAX_FACTS: Final = 60
_MAX_CLIENTS: Final = 8
"""Requests of a client that are tried for one that the old side admits."""
ReportProgress = Callable[[str, int, int], None]
PlanPair = tuple[Plan, Plan]


def _no_report(_what: str, _done: int, _all: int) -> None:
    """Report no progress."""


def verify(
    old: Side,
    new: Side,
    *,
    report_progress: ReportProgress = _no_report,
    limit: int | None = None,
    more: Iterable[Probe] = (),
) -> VerifyResult:
    """Return the comparison of two sides.

    *limit* bounds the probes of all servers together; *more* are asked beside the derived ones.
    """
    result = VerifyResult((old.name, new.name), (old.errors, new.errors))
    result.dialects = (old.dialect.name, new.dialect.name)
    if not (old.is_loaded and new.is_loaded):
        scope = old.scope.merge_version(new.scope, replaced_paths(old, new))
        result.scope = scope.with_items(written_by_upgrade((old,)))
        return result
    result.start_stops = new.start_stops
    result.is_stopped_alike = bool(old.start_stops.lines) and old.dialect is new.dialect
    on_windows = [side.name for side in (old, new) if side.loaded.build.name == WINDOWS]
    if on_windows:
        result.limits.append(f"read as a server on Windows: {' and '.join(on_windows)}")
    result.logs = written_logs(old.loaded)
    result.ports = ports_of(new.loaded)
    Comparison(old, new, result, limit).run(more, report_progress)
    return result


def processor_time() -> float:
    """Return the seconds of this process and of the programs that it waited for."""
    return sum(os.times()[:4])


class Comparison:
    """One verification while it runs."""

    def __init__(self, old: Side, new: Side, result: VerifyResult, limit: int | None = None) -> None:
        self.old = old
        self.new = new
        self.result = result
        new.runtime.time = old.runtime.time  # times in responses must be equal
        self.is_timed = limit is None
        self.lines = SideLines(old), SideLines(new)
        self.source = ProbeSource(self.lines, limit) if limit is not None else ProbeSource(self.lines)
        self.located = LocatedCauses(self.lines, lambda side, probe: self._answered(side, probe)[0])
        self.causes = self.located.causes
        self._add_scope(assume_directories(self.lines).values())
        space = PatternSpace()
        self.decisions = PlanDecisions(old, space), PlanDecisions(new, space)
        self.confirmation = Confirmation(old, new, self._facts, settable_variables(self.lines))
        self._pairs: dict[tuple[int, int, bool], tuple[PlanPair, DifferenceGroup | None]] = {}
        self._clients: dict[tuple[int, int, bool], Probe | None] = {}
        self._failed: dict[tuple[int, str], tuple[Plan, Probe | None]] = {}
        self.failures = Failures()
        self._compared: set[Probe] = set()
        self._known: BoundedDict[tuple[bool, Probe], tuple[Answer, Plan | None]] = BoundedDict(MAX_KNOWN)
        self._groups: dict[object, DifferenceGroup] = {}
        self._reasons: dict[str, None] = {}
        self._coverage: Coverage | None = None
        self._state_pages = StatePages()
        self.source.prefer(self._is_redirected)
        for side in (old, new):
            for place in sorted(side.loaded.declared_names.get(SCRIPTS, ())):
                self._undecided(f"{side.name}: {place}: answers depend on a script, which is not run", None)

    def _add_scope(self, assumed: Iterable[UnknownItem]) -> None:
        """Put into the result what was read, and what is unknown; *assumed* are directories."""
        replaced = replaced_paths(self.old, self.new)
        scope = self.result.scope.merge(self.old.scope.merge_version(self.new.scope, replaced))
        copied = (copies_item(side.options) for side in (self.old, self.new))
        scope = scope.with_items(
            chain(
                assumed,
                damaged_htaccess(self.lines),
                written_by_upgrade(self.lines),
                other_times(self.lines[1]),
                late_certificates(self.lines),
                (item for item in copied if item is not None),
                uncopied_item(self.lines[0]),
            )
        )
        stopping = sorted(scope.items, key=lambda item: item.consequence not in STARTS)
        self.result.scope = replace(scope, items=tuple(stopping))  # what stops the start comes first
        self.result.unwritten = unwritten_sentence(self.new.loaded, self.new.options)

    def _is_redirected(self, probe: Probe) -> bool:
        """Return True if a side answers the request by a redirect."""
        return any(300 <= self._answered(side, probe)[0].status < 400 for side in (self.old, self.new))

    def run(self, more: Iterable[Probe], report_progress: ReportProgress) -> None:
        """Ask all probes, and name the differing lines that none of them exercised."""
        groups = self.source.groups()
        has_many = len(groups) > _MANY
        if has_many:
            equal = self.source.group_equal_hosts()
            skipped = self.source.skipped
            if equal:
                text = f"hosts asked for / alone, as others have equal lines: {equal - skipped}"
                self.result.limits.append(text)
            if skipped:
                self.result.limits.append(
                    f"hosts not asked: {skipped}; their lines are those of a host that was asked, but for "
                    "names, directories and networks, on which no other line depends"
                )
        pairs = self.cover_lines()
        for probe in more:
            self.compare_probe(probe)
        self.result.not_decided.extend(self._compare_patterns(pairs, report_progress))
        began = processor_time()
        cut = self._probe_all(groups, began, report_progress)
        if not cut:
            self.cover_unreached(began)
        self.finish(TIME_ENDED if cut else self.unreached)
        self.result.has_ended = bool(self.result.not_decided) and (bool(cut) or self.source.is_limited)
        if cut:
            hosts = f"{len(cut)} of {len(groups)} hosts ({_named(cut)})" if len(groups) > 1 else "the host"
            self.result.limits.append(
                f"the requests of {hosts} ended after their part of {MAX_SECONDS:.0f} s of processor time; "
                "--limit N sends N requests, however long they take"
            )
        self.result.is_cut = bool(cut) or self.source.is_cut
        if self.source.is_cut:
            self.result.limits.append(CUT)
        if self.source.is_cut and not self.is_timed and len(set(self.result.dialects)) > 1:
            # a default that the versions have in no line shows in a request alone
            self._undecided(f"{CUT} (--limit bounds them)", None)
        self.result.files = sorted(
            {scope.path for lines in self.lines for scope in lines.scopes if scope.path}
        )

    def _probe_all(
        self, groups: list[list[Entrance]], began: float, report_progress: ReportProgress
    ) -> list[str]:
        """Ask the probes of all hosts; return the names of those whose part of the time ended before.

        *began*: the processor time from which `MAX_SECONDS` count.
        """
        has_many = len(groups) > _MANY
        now = processor_time()
        left = began + MAX_SECONDS - now
        leaders = sum(not self.source.is_follower(routes) for routes in groups)
        begun = 0
        cut: list[str] = []
        if has_many:
            gc.freeze()  # the configurations and what was derived from them: no collection traverses them
        for number, routes in enumerate(groups):
            begun += not self.source.is_follower(routes)
            ends = now + left * begun / max(1, leaders)
            for count, probe in enumerate(self.source.of_group(routes)):
                if self.is_timed and count and processor_time() > ends:
                    cut.append(routes[0].probe("/").host)
                    break
                if has_many:
                    report_progress("hosts", number, len(groups))
                else:
                    report_progress("requests", self.result.probes, 0)
                self.compare_probe(probe)
            if has_many and number % _FLUSHED == _FLUSHED - 1:
                self._forget()
        if has_many:
            gc.unfreeze()
        return cut

    def cover_lines(self, budget: RemovalBudget = FULL_BUDGET) -> list[PatternPair]:
        """Note from here on which differing lines the probes exercise; return the patterns that differ.

        *budget* bounds what is asked of sides without a line.
        """
        alignment = Alignment(self.lines)
        self.causes.texts = TextDifferences(alignment)
        pairs = list(islice(pattern_pairs(alignment), MAX_PAIRS + 1))
        alike = [pair for pair in pairs if pair.is_equal and pair.is_only_difference]
        self._coverage = Coverage(alignment, self.causes, alike, self.source.without_requests(), budget)
        self.source.changed = frozenset(line.scope for line in self._coverage.states)
        return pairs

    def cover_unreached(self, began: float) -> None:
        """Compare the lines about access that no request reached without the redirects of the servers, then
        with a URL for each of their directories; the time of all requests counts from *began*."""
        if self._coverage is None or not self._coverage.missed_access_lines:
            return
        apart = [without_redirects(lines) for lines in self.lines]
        sides = [other or lines.side for other, lines in zip(apart, self.lines, strict=True)]
        if None not in apart:
            self._compare_access(sides[0], sides[1], began)
        directories = unserved(self._coverage.missed_access_lines)
        served = [serving(side, directories) for side in sides] if directories else []
        if served and served[0] is not None and served[1] is not None:
            self._compare_access(served[0], served[1], began)

    def _compare_access(self, old: Side, new: Side, began: float) -> None:
        """Note that the lines about access are covered that requests to *old* and *new* meet, which decide
        alike about everything.
        """
        assert self._coverage is not None
        other = AccessComparison(old, new, VerifyResult(self.result.names), self.source.limit)
        other.is_timed = self.is_timed
        other.prepare(self.source, self._coverage)
        other._probe_all(other.source.groups(), began, _no_report)
        if not (other.result.not_decided or other.found()):
            self._coverage.meet(other.met)

    @property
    def unreached(self) -> str:
        """Why no request met a line, if all requests were asked."""
        return NUMBER_ENDED if self.source.is_limited else UNREACHED

    def finish(self, unreached: str = UNREACHED) -> None:
        """Put the differences into the result, and what was not decided: passwords, lines without effect.

        *unreached*: why no request met a line.
        """
        self.result.groups = self.found()
        self.result.failures = tuple(self.failures.sentences(self.result.groups))
        self.result.limits.extend(filter(None, (self._state_pages.limit,)))
        notes = self._state_pages.note_of_bodies, self.located.note_of_own_texts
        self.result.not_compared = ", ".join(filter(None, notes))
        for lines in self.lines:
            self.result.scope = self.result.scope.with_items(undecided_passwords(lines))
        if self._coverage is not None:
            differences, not_decided = self._coverage.finish(self.result.groups, unreached)
            self.result.groups = sorted([*self.result.groups, *differences], key=_order_of)
            self.result.not_decided.extend(not_decided)

    def _compare_patterns(
        self, pairs: list[PatternPair], report_progress: ReportProgress
    ) -> list[NotDecided]:
        """Ask for texts that separate patterns at corresponding places; return the pairs without an answer
        that differs."""
        checks = PatternChecks(self.lines, self.source)
        return checks.run(
            pairs,
            self.compare_probe,
            lambda: sum(group.count for group in self._groups.values()),
            lambda number: report_progress("patterns", number, MAX_PAIRS),
        )

    def found(self) -> list[DifferenceGroup]:
        """Return the differences found so far, those that open access first, each with the examples that say
        most first.
        """
        groups = list(self._groups.values())
        for group in groups:
            if group.lines == ((), ()):  # else they are those of the first example
                group.examples.sort(key=lambda one: (not one.opens, not one.closes, one.weight))
        return sorted(groups, key=_order_of)

    def _forget(self) -> None:
        """Drop the plans of hosts that are done: of ten thousand they take a gigabyte."""
        self._pairs.clear()
        self._clients.clear()
        self._failed.clear()
        self._known.clear()
        self._compared.clear()
        self.located.forget()
        if self._coverage is not None:
            self._coverage.forget()
        for side, decisions in zip((self.old, self.new), self.decisions, strict=True):
            side.probing.forget()
            decisions.forget()
        gc.collect()
        gc.freeze()  # what remains belongs to the servers

    def compare_probe(self, probe: Probe) -> None:
        """Ask one probe of both sides."""
        self._compared.add(probe)
        old, old_plan = self._answered(self.old, probe)
        new, new_plan = self._answered(self.new, probe)
        self.result.probes += 1
        group = None
        if old_plan is not None and new_plan is not None:
            group = self._compare_chains(probe, (old_plan, new_plan))
        self._compare_answers(probe, old, new, (old_plan, new_plan), group)
        self._note(probe, (old, new), (old_plan, new_plan))
        self.failures.note(probe, (old, new))
        if old.status in (401, 403) and new.status == FAILED and old_plan:
            self._compare_failed(probe, old_plan)
        if old.status in (401, 403) and new.status == old.status and old_plan and new_plan:
            self._compare_admitted(probe, (old_plan, new_plan))

    def _answered(self, side: Side, probe: Probe) -> tuple[Answer, Plan | None]:
        """Return the answer of *side*, and the plan that decided about access to the target of the probe.

        None if the request ended before: the access check of an ErrorDocument decides about another target.
        An admitted client may be that of a derived request, so each request is answered once.
        """
        key = side is self.new, probe
        known = self._known.get(key)
        if known is None:
            answer, checks = side.checked(probe)
            known = answer, checks[0].plan if checks and checks[0].is_first else None
            self._known[key] = known
        return known

    # access -----------------------------------------------------------------------------------------
    def _compare_chains(self, probe: Probe, plans: PlanPair) -> DifferenceGroup | None:
        """Compare the decisions of two plans, once for each pair; return the group of their difference."""
        key = id(plans[0]), id(plans[1]), probe.tls is not None
        known = self._pairs.get(key)
        if known is None:
            known = (plans, None)
            self._pairs[key] = known
            self._pairs[key] = (plans, self._compare_plans(probe, plans))
            known = self._pairs[key]
        return known[1]

    def _compare_plans(self, probe: Probe, plans: PlanPair) -> DifferenceGroup | None:
        self.result.chains += 1
        found = self.decisions[0].decision(plans[0]), self.decisions[1].decision(plans[1])
        for side, decision in zip((self.old, self.new), found, strict=True):
            if isinstance(decision, str):
                self._undecided(f"access under {side.name}: {decision}", probe)
                return None
        old, new = found
        assert isinstance(old, AccessDecision) and isinstance(new, AccessDecision)
        group = None
        unconfirmed = None
        over_tls = probe.tls is not None
        for _, examples in counterexamples(old, new, (self.old, self.new), over_tls=over_tls):
            for example in examples:
                confirmed = self.confirmation.confirm(example, probe, plans)
                if confirmed is not None:
                    differing = old.when[example.before] & new.when[example.after]
                    clients = clients_text(old.space, old.space.fixed(differing, {OverTls(): over_tls}))
                    group = self._add_access(example, confirmed, plans, group, clients)
                    break
                unconfirmed = unconfirmed or example
        if group is None and unconfirmed is not None:
            files = self.causes.other_files(plans)
            named = "".join(
                f"; {line} has other entries than {other}"
                for other, line in zip(files.old, files.new, strict=False)
            )
            self._undecided(f"no request was found for {unconfirmed}{named}", probe)
        return group

    def _add_access(
        self,
        example: Counterexample,
        confirmed: Confirmed,
        plans: PlanPair,
        group: DifferenceGroup | None,
        clients: str,
    ) -> DifferenceGroup:
        access = example.before.value, example.after.value
        difference = compare(confirmed.old, confirmed.new) or Difference(())
        if "status" not in difference.names:
            part = FieldDifference("access", str(access[0]), str(access[1]))
            difference = Difference((part, *difference.parts))
        is_first = False
        if group is None:
            hosts = key_of(plans[0].server_rec), key_of(plans[1].server_rec)
            cause = self.causes.host_cause(hosts) or self.causes.cause(_ACCESS, plans)
            key = ("root", cause.roots) if cause.roots else ("access", example.before, example.after, cause)
            group = self._groups.get(key)
            if group is None:
                group = DifferenceGroup("access", cause, is_assumed=confirmed.is_assumed)
                self._groups[key] = group
            is_first = group.lines == ((), ())
            if is_first:
                group.kind = "access"
                group.lines = self._deciding_lines(confirmed.probe)
                group.cause = cause.with_deciding(group.lines).joined(group.cause)
        group.is_assumed &= confirmed.is_assumed
        answers = confirmed.old, confirmed.new
        weight = weight_of(confirmed.probe, answers, (self.old, self.new))
        found = Example(confirmed.probe, difference, *answers, str(example), access, clients, weight)
        group.add(found, is_first=is_first)
        if not is_first and (group.count <= MAX_TRACED or found in group.examples):
            group.further = group.further.with_deciding(self._deciding_lines(confirmed.probe))
        self._add_lines(group, found)
        return group

    def _add_lines(self, group: DifferenceGroup, example: Example) -> None:
        """Add the lines that decided to *example*, if *group* keeps it and a status is of access control."""
        if example in group.examples and not OF_ACCESS.isdisjoint(example.statuses):
            lines = self._deciding_lines(example.probe)
            group.examples[group.examples.index(example)] = replace(example, lines=lines)

    def _deciding_lines(self, probe: Probe) -> tuple[tuple[DecidingLine, ...], tuple[DecidingLine, ...]]:
        return deciding_lines(self.old, probe), deciding_lines(self.new, probe)

    # responses --------------------------------------------------------------------------------------
    def _compare_answers(
        self,
        probe: Probe,
        old: Answer,
        new: Answer,
        plans: tuple[Plan | None, Plan | None],
        access: DifferenceGroup | None,
    ) -> None:
        self._state_pages.note(old, new)
        difference = self.located.difference(old, new)
        if difference is None:
            return
        has_status = difference.names[0] == "status"
        is_of_access = has_status and self.located.decided_by_access(probe, (old, new))
        if access is not None and is_of_access:
            access.count += 1
            return
        # an access check that is not decided may be the cause
        has_equal_access = access is None and not is_of_access
        parts = [difference]
        is_one = has_status or difference.names[0] == "file" or self.located.host_cause(old, new) is not None
        if self.located.is_of_versions and not is_one:
            # each may have another cause, unless all follow from the file or the host
            parts = separate(difference)
        found: dict[object, tuple[LocatedCause, list[Difference]]] = {}
        for part in parts:
            key, cause = self.located.located(
                probe, part, (old, new), plans, has_equal_access=has_equal_access
            )
            found.setdefault(key, (cause, []))[1].append(part)
        for key, (cause, own) in found.items():
            joined = Difference(tuple(part for one in own for part in one.parts))
            weight = weight_of(probe, (old, new), (self.old, self.new))
            self._add_response(key, cause, Example(probe, joined, old, new, weight=weight))

    def _add_response(self, key: object, cause: LocatedCause, example: Example) -> None:
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= MAX_GROUPS:
                return
            group = DifferenceGroup("response", cause.lines, reason=cause.reason, rule=cause.rule)
            texts = [[line.text for line in row] for row in (cause.lines.old, cause.lines.new)]
            group.is_of_versions = (
                self.located.is_of_versions and not cause.reason and bool(texts[0]) and texts[0] == texts[1]
            )
            self._groups[key] = group
        elif group.kind == "response":
            group.cause = group.cause.joined(cause.lines)
        if not cause.reason:
            group.is_assumed &= example.probe.user is not None or bool(example.probe.environment)
        group.add(example)
        self._add_lines(group, example)

    def _compare_admitted(self, probe: Probe, plans: PlanPair) -> None:
        """Ask the probe again as a client that both sides admit, so that the response behind is compared."""
        key = id(plans[0]), id(plans[1]), probe.tls is not None
        if key not in self._clients:
            self._clients[key] = self._admitted(probe, plans)
        client = self._clients[key]
        if client is None:
            return
        admitted = replace(
            probe,
            client=client.client,
            client_host=client.client_host,
            user=client.user,
            fields=(*probe.fields, *client.fields),
            environment=client.environment,
        )
        self._compare_as(admitted, plans)
        if admitted.user is not None and admitted.user.scheme == DIGEST:
            self._compare_as(replace(admitted, user=replace(admitted.user, scheme=OLD_DIGEST)), plans)

    def _compare_failed(self, probe: Probe, plan: Plan) -> None:
        """Ask a probe to which the new side has no answer for any client as one that the old side admits."""
        key = id(plan), probe.method
        known = self._failed.get(key)
        if known is None:
            known = plan, self._admitted_before(probe, plan)
            self._failed[key] = known
        client = known[1]
        if client is not None:
            admitted = replace(client, target=probe.target, method=probe.method)
            if admitted not in self._compared:
                self._compared.add(admitted)
                self.result.probes += 1
                old, old_plan = self._answered(self.old, admitted)
                new, new_plan = self._answered(self.new, admitted)
                self._compare_answers(admitted, old, new, (old_plan, new_plan), None)

    def _admitted_before(self, probe: Probe, plan: Plan) -> Probe | None:
        """Return *probe* as a client that *plan* of the old side admits; None for none."""
        decision = self.decisions[0].decision(plan)
        if isinstance(decision, str):
            return None
        space = self.decisions[0].space
        granted = decision.when[AccessVerdict.GRANTED]
        name = "GET" if probe.method == "HEAD" else probe.method
        atoms = space.atoms(granted)
        methods: dict[Atom, bool] = {atom: atom.name == name for atom in atoms if isinstance(atom, MethodIs)}
        # a network says more to a person than a variable that some field sets
        plain: dict[Atom, bool] = {atom: False for atom in atoms if isinstance(atom, EnvironmentSet)}
        for values in ({**methods, **plain}, methods):
            client = find_client(space, space.fixed(granted, values))
            found = self.confirmation.requests(client, probe, (plan, plan)) if client is not None else ()
            for one in islice(found, _MAX_CLIENTS):
                admitted = replace(one, method=probe.method)
                if self.old.checked(admitted)[0].status not in (401, 403):
                    return admitted
        return None

    def _compare_as(self, probe: Probe, plans: PlanPair) -> None:
        """Ask a probe of a client that is admitted, unless it was asked before."""
        if probe in self._compared:
            return
        self._compared.add(probe)
        self.result.probes += 1
        old, old_plan = self._answered(self.old, probe)
        new, new_plan = self._answered(self.new, probe)
        if old_plan is not None and new_plan is not None:
            group = self._compare_chains(probe, (old_plan, new_plan))
            self._compare_answers(probe, old, new, plans, group)
            self._note(probe, (old, new), (old_plan, new_plan))

    def _note(
        self, probe: Probe, answers: tuple[Answer, Answer], plans: tuple[Plan | None, Plan | None]
    ) -> None:
        """Let the coverage of lines know of a request."""
        if self._coverage is not None:
            self._coverage.note(probe, answers, plans)

    def _admitted(self, probe: Probe, plans: PlanPair) -> Probe | None:
        found = self.decisions[0].decision(plans[0]), self.decisions[1].decision(plans[1])
        if isinstance(found[0], str) or isinstance(found[1], str):
            return None
        granted = AccessVerdict.GRANTED
        space = self.decisions[0].space
        connection = connected(space, over_tls=probe.tls is not None)
        client = find_client(space, found[0].when[granted], found[1].when[granted], connection)
        return self.confirmation.granted(client, probe, plans) if client is not None else None

    # helpers ----------------------------------------------------------------------------------------
    def _undecided(self, reason: str, probe: Probe | None) -> None:
        if reason not in self._reasons:
            self._reasons[reason] = None
            self.result.not_decided.append(NotDecided(reason, probe))

    def _facts(self) -> list[Facts]:
        """Return what the conditions of both sides name."""
        found: list[Facts] = []
        for lines in self.lines:
            targets = Targets(lines, lines.served(lines.side.loaded.main))
            found += [facts for facts, _ in targets.facts_of(lines.scopes)]
        return distinct(found)[:_MAX_FACTS]


class AccessComparison(Comparison):
    """A comparison of access control alone, whatever the answers are.

    Attributes:
        met: the places of the sections that requests met, on either side.
    """

    def __init__(self, old: Side, new: Side, result: VerifyResult, limit: int) -> None:
        super().__init__(old, new, result, limit)
        self.met: set[Place] = set()

    def prepare(self, source: ProbeSource, coverage: Coverage) -> None:
        """Ask as *source* does, whose sides have these lines and more, and which *coverage* is about."""
        groups = self.source.groups()
        if len(groups) > _MANY:
            if source.leaders > _MANY:
                self.source.group_equal_hosts()
            else:
                self.source.group_as(source)
        places = coverage.changed_places
        self.source.changed = frozenset(
            scope
            for lines, own in zip(self.lines, places, strict=True)
            for scope in lines.scopes
            if (scope.path, scope.line) in own
        )

    def _add_scope(self, assumed: Iterable[UnknownItem]) -> None:
        """Add nothing: it is in the result of the whole sides."""

    def _compare_answers(
        self,
        probe: Probe,
        old: Answer,
        new: Answer,
        plans: tuple[Plan | None, Plan | None],
        access: DifferenceGroup | None,
    ) -> None:
        """Compare nothing."""

    def _note(
        self, probe: Probe, answers: tuple[Answer, Answer], plans: tuple[Plan | None, Plan | None]
    ) -> None:
        """Note the sections of both plans; a lone plan was compared with nothing."""
        if None in plans:
            return
        for lines, plan in zip(self.lines, plans, strict=True):
            if plan is not None:
                self.met.update((scope.path, scope.line) for scope in self.causes.scopes(lines, plan))


def _order_of(group: DifferenceGroup) -> tuple[bool | int, ...]:
    """Return the key of sorting: what opens access first, then other access, cosmetic changes last; of these,
    requests for documents that are there before others.
    """
    weight = min((one.weight for one in group.examples), default=Weight.INVENTED)
    is_other = group.kind != "access" and not group.closes
    return not group.opens, is_other, bool(group.rule), weight, group.kind != "access", not group.closes


def _named(hosts: list[str]) -> str:
    """Return the first names of *hosts*."""
    more = f" and {len(hosts) - MAX_NAMED} more" if len(hosts) > MAX_NAMED else ""
    return ", ".join(hosts[:MAX_NAMED]) + more


_ACCESS: Final = Difference((FieldDifference("user", "", ""),))
