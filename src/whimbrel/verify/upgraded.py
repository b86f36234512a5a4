"""Verification of a planned upgrade: changes that cannot be confirmed are marked for review, and access that
differs at other lines is a finding.

Old is the configuration under 2.2, new the same with the planned edits under 2.4. Requests and time are
bounded, so that an upgrade stays quick.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Final

from whimbrel.base.counts import count_noun
from whimbrel.base.dialect import V22, V24
from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.options import LoadOptions, with_real_paths
from whimbrel.upgrade.apply.left_decisions import AS_BEFORE
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.check.unverified import not_verified
from whimbrel.upgrade.knowledge.loaded import NOT_TRUE
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind
from whimbrel.upgrade.model import ACCESS_RULES, DIFFERENCE, LOADED_BUILDS, Finding, Risk, Safety
from whimbrel.upgrade.source.binary import sources_of
from whimbrel.upgrade.source.built_in_modules import as_its_build
from whimbrel.upgrade.source.config_tree import ReportProgress, no_progress
from whimbrel.verify.answer import DecidingLine
from whimbrel.verify.config_lines import LineScope, SideLines
from whimbrel.verify.coverage.coverage import TIME_ENDED
from whimbrel.verify.coverage.without_line import RemovalBudget
from whimbrel.verify.deciding_findings import (
    FindingKey,
    deciding_findings,
    question_of,
    with_questions,
)
from whimbrel.verify.known_changes import MAX_SMALL
from whimbrel.verify.loading import load_sides
from whimbrel.verify.recorded_decisions import mark_decided
from whimbrel.verify.verification import (
    CUT,
    LINE_OR_CHAIN,
    DifferenceGroup,
    Example,
    VerifyResult,
    access_differences,
    risk_of_access,
)
from whimbrel.verify.verify import Comparison, processor_time
from whimbrel.verify.written_by_upgrade import written_by_upgrade

MAX_SECONDS: Final = 20.0
"""Processor time for the requests: their number does not depend on what else the machine does."""
_CLOCK_STEP: Final = 16
"""Requests between two looks at the clock, which costs a system call."""
MAX_REQUESTS: Final = 6000
MAX_EVIDENCE: Final = 200
"""Characters of the text about a change that was not confirmed."""
_REMOVALS: Final = RemovalBudget(requests=2000, loaded=20_000)
"""What is asked of the configuration without one of its lines, and loaded for that."""
_WRITTEN: Final = "under 2.2 the text does not load that `whimbrel upgrade` has written"
Scopes = dict[tuple[str, int], LineScope]
_OF_ACCESS: Final = (Risk.OPENS, Risk.CLOSES)


def verify_upgrade(
    result: UpgradeResult, options: LoadOptions, report_progress: ReportProgress = no_progress
) -> str:
    """Lower the safety of findings of *result* that the comparison does not confirm; return a sentence about
    the comparison, "" if there is nothing to say."""
    if not result.files:
        return ""
    report_progress("loading both versions", 0, 0)
    old, new = load_sides(both_texts(result, options), (V22.name, V24.name), ("2.2", "2.4"))
    for side in (old, new):
        if not side.is_loaded:
            error = side.errors[0]
            where = f"{error.place.path}:{error.place.line}: " if error.place is not None else ""
            text = where + error.text.splitlines()[-1].removeprefix(where)
            if side is old and any(written_by_upgrade((old,))):
                return not_verified(result, f"{_WRITTEN}; after --write `whimbrel verify --backups` compares")
            return not_verified(
                result, f"under {side.name} the configuration does not load here: {text}", matters=side is old
            )
    verification = VerifyResult((old.name, new.name))
    comparison = Comparison(old, new, verification, MAX_REQUESTS)
    comparison.cover_lines(_REMOVALS)
    began = processor_time()
    verification.has_ended = _is_ended(comparison, report_progress)
    if not verification.has_ended:
        comparison.cover_unreached(began)
    comparison.finish(TIME_ENDED if verification.has_ended else comparison.unreached)
    mark_decided(verification, result.recorded, side=0)
    groups = verification.causes_to_review
    result.scope = result.scope.merge(_as_compared(verification.scope)).with_items(_unexercised(comparison))
    scopes = _scopes_of(comparison.lines[0])
    places = [frozenset(_places(group, scopes, result.files)) for group in groups]
    review_places = places_of_access((*result.findings, *result.exempted))
    questioned = QuestionedPlaces(result, _scopes_of(comparison.lines[1]))
    open_groups = [
        not has_finding(group, review_places, scopes, result.files) and not questioned.has(group)
        for group in groups
    ]
    groups_by_key: dict[FindingKey, list[DifferenceGroup]] = {}
    own_findings = [
        questioned.deciding(group, result.findings) if is_open and _is_of_access(group) else []
        for group, is_open in zip(groups, open_groups, strict=True)
    ]
    for group, keys in zip(groups, own_findings, strict=True):
        for key in keys:
            groups_by_key.setdefault(key, []).append(group)
    unconfirmed = {
        place: group
        for group, own, is_open, keys in zip(groups, places, open_groups, own_findings, strict=True)
        if is_open and not keys
        for place in own
    }
    lowered = with_questions(lower_unconfirmed(result.findings, unconfirmed), groups_by_key)
    changed = [b for a, b in zip(result.findings, lowered, strict=True) if a is not b]
    of_versions = _of_versions(groups, places, changed, frozenset(one.rule for one in lowered))
    result.version_causes = of_versions
    lowered = _with_examples(lowered, groups)
    others = [at for at, keys in enumerate(own_findings) if not keys]
    result.findings = [
        *lowered,
        *_other_differences(
            [groups[at] for at in others],
            [places[at] for at in others],
            [*lowered, *result.exempted],
            questioned,
        ),
    ]
    counted = [group for group in verification.groups if not group.rule]  # with those that are decided
    result.access = tuple(access_differences(counted))
    return _sentence(comparison, len(changed), sum(map(_is_of_access, counted)), of_versions)


def both_texts(result: UpgradeResult, options: LoadOptions) -> tuple[LoadOptions, LoadOptions]:
    """Return *options* of the old text, and those of the new one, which is in memory alone."""
    options = as_its_build(options, result.tree.built_in)
    options = replace(options, compiled_in=sources_of(result.tree.built_in))
    target = result.tree.options.target_build
    build = target.value if target in LOADED_BUILDS else options.build
    return options, replace(
        options, overlay={**options.overlay, **with_real_paths(result.files)}, build=build
    )


def _is_ended(comparison: Comparison, report_progress: ReportProgress) -> bool:
    """Ask the requests; return True if the time ended before."""
    ends = processor_time() + MAX_SECONDS
    for count, probe in enumerate(comparison.source.probes()):
        report_progress("requests to both versions", count, 0)
        if count % _CLOCK_STEP == 0 and processor_time() > ends:
            comparison.result.limits.append(f"stopped after {MAX_SECONDS:.0f} s of processor time")
            comparison.source.is_cut = True
            return True
        comparison.compare_probe(probe)
    return False


def _unexercised(comparison: Comparison) -> Iterator[UnknownItem]:
    """Yield what was not decided, as one item if not every request was asked.

    It matters where the time ended: changes may be without a request then.
    """
    if comparison.result.has_ended:
        yield UnknownItem(
            UnknownKind.NOT_EXERCISED,
            None,
            f"not every request was asked: {MAX_SECONDS:.0f} s of processor time ended",
            "changes may be without a request that confirms them",
            "compare both texts by `whimbrel verify`",
        )
    reasons = [one.reason for one in comparison.result.not_decided]
    if comparison.source.is_cut and reasons:
        reasons = [f"{len(reasons)} lines or chains were not decided (`whimbrel verify` names them)"]
    for reason in reasons:
        consequence = "it was not decided whether both versions do the same"
        yield UnknownItem(UnknownKind.NOT_EXERCISED, None, reason, consequence, matters=False)


def _of_versions(
    groups: list[DifferenceGroup],
    places: list[frozenset[tuple[str, int]]],
    changed: list[Finding],
    notes: frozenset[str],
) -> int:
    """Return the number of causes that no finding is about: the versions differ, whatever the text is.

    *changed* are the findings that a cause marks, *notes* the rules of all findings.
    """
    marked = {(finding.place.path, finding.place.line) for finding in changed}
    return sum(
        not _is_of_access(group)
        and marked.isdisjoint(own)
        and not all(_is_noted(example, notes) for example in group.examples)
        for group, own in zip(groups, places, strict=True)
    )


def _sentence(comparison: Comparison, unconfirmed: int, access: int, of_versions: int = 0) -> str:
    """Return what was compared, and with which result.

    *unconfirmed*: changes that were safe before; *access*, *of_versions*: causes.
    """
    verification = comparison.result
    limits = [*verification.limits]
    if comparison.source.is_cut and not limits:
        limits.append(CUT)
    if verification.not_decided:
        what = count_noun(len(verification.not_decided), *LINE_OR_CHAIN)
        limits.append(f"{what} that no request decided")
    cut = f" ({'; '.join(limits)})" if limits else ""
    found = "no answer contradicts a safe change"
    if unconfirmed:
        need = "needs" if unconfirmed == 1 else "need"
        found = f"{count_noun(unconfirmed, 'change')} with other answers than those of 2.2 {need} review"
    text = (
        f"verified with {count_noun(verification.probes, 'request')} and "
        f"{count_noun(verification.chains, 'chain')} of sections{cut}: {found}"
    )
    if of_versions:
        lie, them = ("lies", "it") if of_versions == 1 else ("lie", "them")
        what = count_noun(of_versions, "cause")
        text += f"; {what} of other answers {lie} in the versions alone (`whimbrel verify` shows {them})"
    if verification.decided_note:
        text += f"; {verification.decided_note}"
    verb = "is" if access == 1 else "are"
    return f"{text}; {count_noun(access, 'difference')} {verb} about access" if access else text


def _as_compared(scope: KnowledgeScope) -> KnowledgeScope:
    """Return *scope* for a text that was upgraded in all its branches, and compared without some of them."""
    return KnowledgeScope(
        scope.files_read,
        tuple(
            replace(
                item, kind=UnknownKind.NOT_EXERCISED, consequence="upgraded, and its answers not compared"
            )
            if NOT_TRUE in item.subject and item.advice
            else item
            for item in scope.items
        ),
    )


def _scopes_of(lines: SideLines) -> Scopes:
    """Return the scopes of all lines of a side."""
    return {(line.path, line.line): line.scope for scope in lines.scopes for line in scope.lines}


def _other_differences(
    groups: list[DifferenceGroup],
    places: list[frozenset[tuple[str, int]]],
    findings: list[Finding],
    questioned: QuestionedPlaces,
) -> Iterator[Finding]:
    """Yield a finding for each difference of access at lines that no finding about access is about."""
    known = places_of_access(findings)
    for group, own in zip(groups, places, strict=True):
        if _is_of_access(group) and known.isdisjoint(own) and not questioned.has(group):
            yield _difference(group)


def _with_examples(findings: list[Finding], groups: list[DifferenceGroup]) -> list[Finding]:
    """Return *findings* with the differences of access that their rules foresee: each is one question.

    The reason of such a difference names the rule, and its cause the line.
    """
    shown: dict[tuple[str, str, int], DifferenceGroup] = {}
    for group in groups:
        if _is_of_access(group):
            for line in group.cause.old:
                shown.setdefault((group.foreseen_by, line.path, line.line), group)
    return [
        _with_example(one, shown.get((one.rule, one.place.path, one.place.line))) if one.needs_review else one
        for one in findings
    ]


def _with_example(finding: Finding, group: DifferenceGroup | None) -> Finding:
    """Return *finding* with the risk and the first example of *group*, None for none."""
    if group is None:
        return finding
    return replace(finding, risk=risk_of_access(group), evidence=_joined(finding.evidence, _evidence(group)))


def _joined(*texts: str) -> str:
    """Return the lines of the *texts* that are not empty."""
    return "\n".join(filter(None, texts))


def places_of_access(findings: Iterable[Finding]) -> frozenset[tuple[str, int]]:
    """Return the places of the findings about access that a person must look at."""
    return frozenset(
        (finding.place.path, finding.place.line)
        for finding in findings
        if finding.needs_review and (finding.risk in _OF_ACCESS or finding.rule in ACCESS_RULES)
    )


def has_finding(
    group: DifferenceGroup, review_places: frozenset[tuple[str, int]], scopes: Scopes, changed: Container[str]
) -> bool:
    """Return True if one of *review_places* is the unchanged line, or its section, by which 2.4 decides."""
    for line in group.cause.new if _is_of_access(group) else ():
        place = line.path, line.line
        if line.role == "decides" and line.path not in changed:
            scope = scopes.get(place)
            if place in review_places or (scope is not None and (scope.path, scope.line) in review_places):
                return True
    return False


class QuestionedPlaces:
    """The lines and sections of 2.2 about which a person is asked whether they may refuse more than before.

    *scopes* are those of the new text.
    """

    def __init__(self, result: UpgradeResult, scopes: Scopes) -> None:
        self._line_maps = result.line_maps
        self._scopes = scopes
        self._places = {
            (one.place.path, one.place.line)
            for one in (*result.findings, *result.exempted)
            if one.needs_review and one.risk is Risk.CLOSES
        }

    def has(self, group: DifferenceGroup) -> bool:
        """Return True if all that decides in 2.4 stands there, or where nothing decides about access, a line
        of the cause. Access that is gained is a question of its own.
        """
        if risk_of_access(group) is not Risk.CLOSES:
            return False
        deciding = [line for line in group.cause.new if line.role == "decides"]
        if not deciding:
            return any(self._is_place(line.path, line.line) for line in group.cause.new)
        return all(self._is_place(line.path, line.line) or self._is_in_section(line) for line in deciding)

    def deciding(self, group: DifferenceGroup, findings: Sequence[Finding]) -> list[FindingKey]:
        """Return those of *findings* that wrote what decides in 2.4 (`deciding_findings`)."""
        return deciding_findings(group, findings, self._scopes, self._line_maps)

    def _is_in_section(self, line: DecidingLine) -> bool:
        """Return True if *line* of the new text is in a section of the places."""
        scope = self._scopes.get((line.path, line.line))
        return scope is not None and scope.kind != "server" and self._is_place(scope.path, scope.line)

    def _is_place(self, path: str, line: int) -> bool:
        """Return True if *line* of the new text is one of the places, unchanged."""
        line_map = self._line_maps.get(path)
        return (path, line if line_map is None else line_map.unchanged_from(line)) in self._places


def _is_of_access(group: DifferenceGroup) -> bool:
    """Return True if a client is refused on one side alone, by access control or anything else."""
    return bool(group.examples) and (group.kind == "access" or group.opens or group.closes)


def _difference(group: DifferenceGroup) -> Finding:
    """Return the finding about a difference of access."""
    example = group.examples[0]
    line = next(iter((*group.cause.old, *group.lines[0], *group.cause.new)), None)
    return Finding(
        DIFFERENCE,
        SourceLocation("", 0) if line is None else SourceLocation(line.path, line.line),
        f"2.4 decides otherwise about access: {example.probe}: {example.difference}",
        "write the lines that are meant; `whimbrel verify` shows all differences",
        risk_of_access(group),
        decision=f"May 2.4 decide so: {example.probe}: {example.difference}?",
        answers=(_record(group), "no: write the lines that are meant in the new text"),
    )


def _record(group: DifferenceGroup) -> str:
    """Return how a person records that the difference is wanted: access that is gained stays open."""
    if group.opens:
        return "yes: nothing records it"
    lines = "the line" if len(group.joint_cause.old) == 1 else "each line that `whimbrel verify` names"
    return f"yes: # whimbrel: ignore[{DIFFERENCE}] above {lines} records it"


def _places(group: DifferenceGroup, scopes: Scopes, changed: Container[str]) -> Iterator[tuple[str, int]]:
    """Iterate over the old lines that *group* comes from; if it is about access, with all lines of their
    sections. New lines have the places of old ones unless their file is among the *changed*.

    Other lines that apply to the request count where the cause has no line.
    """
    same_place = (line for line in group.cause.new if line.path not in changed)
    for line in (*group.cause.old, *same_place) or group.lines[0]:
        place = line.path, line.line
        yield place
        scope = scopes.get(place)
        if scope is not None and scope.kind != "server" and _is_of_access(group):
            yield scope.path, scope.line
            for other in scope.lines:
                yield other.path, other.line


def lower_unconfirmed(
    findings: list[Finding], unconfirmed: dict[tuple[str, int], DifferenceGroup]
) -> list[Finding]:
    """Return *findings*, for review where a difference was found at one of their lines.

    The first finding of a difference has its example, and the others name that finding. A difference that a
    note is about, with nothing to do, lowers none, nor does one that the rule of another finding foresees.
    """
    shown: dict[int, Finding] = {}
    lowered: list[Finding] = []
    notes = frozenset(finding.rule for finding in findings)
    for finding in findings:
        group = _group_of(finding, unconfirmed)
        is_foreseen = group is not None and group.foreseen_by in notes
        if group is None or is_foreseen or all(_is_noted(example, notes) for example in group.examples):
            lowered.append(finding)
            continue
        first = shown.setdefault(id(group), finding)
        evidence = _evidence(group) if first is finding else _same_as(first)
        lowered.append(
            replace(
                finding,
                safety=Safety.REVIEW,
                stays=risk_of_access(group),
                was_error=group.examples[0].old.status >= 400,
                advice="check whether these answers of 2.4 are wanted",
                evidence=_joined(finding.evidence, evidence),
                decision=f"May 2.4 answer so: {_example_text(group)}?",
                answers=(f"yes: upgrade writes it, {_later(finding.rule)}", AS_BEFORE),
            )
        )
    return lowered


def _example_text(group: DifferenceGroup) -> str:
    """Return the example of a question about *group*."""
    return question_of(group) if _is_of_access(group) else _evidence(group).removeprefix("differs: ")


def _later(rule: str) -> str:
    return f"and # whimbrel: ignore[{rule}] above the new line records it"


def _group_of(
    finding: Finding, unconfirmed: dict[tuple[str, int], DifferenceGroup]
) -> DifferenceGroup | None:
    """Return the difference at a line of *finding*, None if there is none, or the finding is not about it."""
    place: SourceLocation = finding.place
    group = unconfirmed.get((place.path, place.line))
    if group is None or not finding.edits or finding.safety is not Safety.SAFE or not group.examples:
        return None
    return None if group.kind == "access" and finding.rule not in ACCESS_RULES else group


def _is_noted(example: Example, notes: Container[str]) -> bool:
    """Return True if 2.4 only leaves a body uncompressed, and the rule of *notes* is there that says so."""
    new = example.new
    rule = "C34" if new.status >= 400 else "C30"
    if rule not in notes or new.field("content-encoding") or (new.status < 400 and new.length > MAX_SMALL):
        return False
    is_compressed = bool(example.old.field("content-encoding"))
    return {"vary", "content-encoding", *(("body",) if is_compressed else ())}.issuperset(
        example.difference.names
    )


def _evidence(group: DifferenceGroup) -> str:
    example = group.examples[0]
    text = f"differs: {example.probe}: {example.difference}"
    return text if len(text) <= MAX_EVIDENCE else text[: MAX_EVIDENCE - 3] + "..."


def _same_as(finding: Finding) -> str:
    place: SourceLocation = finding.place
    return f"differs: see {finding.rule} at {place.path}:{place.line}"
