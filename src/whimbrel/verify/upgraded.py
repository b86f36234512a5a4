"""Verification of a planned upgrade: changes that cannot be confirmed are marked for review.

Old is the configuration under 2.2, new the same with the planned edits under 2.4. Requests and time are
bounded, so that an upgrade stays quick.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from whimbrel.base.dialect import V22, V24
from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.model import Finding, Safety
from whimbrel.upgrade.source.binary import sources_of
from whimbrel.verify.loading import load_sides
from whimbrel.verify.verification import DifferenceGroup, VerifyResult
from whimbrel.verify.verify import Comparison, hidden_lines, missing_lines

MAX_SECONDS: Final = 20.0
MAX_REQUESTS: Final = 6000
MAX_HOSTS: Final = 500
_ACCESS_RULES: Final = frozenset(("C16", "C17", "C18", "C19", "C20", "C21", "C22", "C23"))


def verify_upgrade(result: UpgradeResult, options: LoadOptions) -> str:
    """Lower the safety of findings of *result* that the comparison does not confirm; return a sentence about
    the comparison, "" if there is nothing to say."""
    if not result.files:
        return ""
    options = replace(options, compiled_in=sources_of(result.tree.built_in))
    upgraded = replace(options, overlay={**options.overlay, **result.files})
    old, new = load_sides((options, upgraded), (V22.name, V24.name), ("2.2", "2.4"))
    for side in (old, new):
        if not side.is_loaded:
            text = side.errors[0].text.splitlines()[-1]
            return f"not verified: under {side.name} the configuration does not load here: {text}"
    if len(old.loaded.virtual_hosts) > MAX_HOSTS:
        return f"not verified: more than {MAX_HOSTS} virtual hosts (`whimbrel verify` compares them)"
    left_out = [*missing_lines(old, new), *dict.fromkeys([*hidden_lines(old), *hidden_lines(new)])]
    verification = VerifyResult((old.name, new.name), limits=left_out)
    comparison = Comparison(old, new, verification, MAX_REQUESTS)
    ends = time.monotonic() + MAX_SECONDS
    for probe in comparison.source.probes():
        if time.monotonic() > ends:
            verification.limits.append(f"stopped after {MAX_SECONDS:.0f} seconds")
            break
        comparison.compare_probe(probe)
    groups = list(comparison.found())
    unconfirmed = {place: group for group in groups for place in _places(group)}
    lowered = [_lowered(finding, unconfirmed) for finding in result.findings]
    count = sum(a is not b for a, b in zip(lowered, result.findings, strict=True))
    result.findings = lowered
    cut = f" ({'; '.join(verification.limits)})" if verification.limits else ""
    return (
        f"verified with {verification.probes} requests and {verification.chains} chains of sections{cut}: "
        f"{count} change{'s' * (count != 1)} not confirmed"
    )


def _places(group: DifferenceGroup) -> Iterator[tuple[str, int]]:
    for line in group.cause.old:
        yield line.path, line.line


def _lowered(finding: Finding, unconfirmed: dict[tuple[str, int], DifferenceGroup]) -> Finding:
    """Return *finding*, for review if a difference was found at one of its lines."""
    place: SourceLocation = finding.place
    group = unconfirmed.get((place.path, place.line))
    if group is None or not finding.edits or finding.safety is not Safety.SAFE or not group.examples:
        return finding
    if group.kind == "access" and finding.rule not in _ACCESS_RULES:
        return finding
    example = group.examples[0]
    evidence = f"not confirmed: {example.probe}: {example.difference}"
    return replace(
        finding,
        safety=Safety.REVIEW,
        evidence=f"{finding.evidence}\n{evidence}" if finding.evidence else evidence,
    )
