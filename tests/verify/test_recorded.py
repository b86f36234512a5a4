"""Recorded configurations: no false alarm, and verdicts that agree with the recorded answers."""

from __future__ import annotations

import os

import pytest

from tests.conformance.case import Record, case_of, has_version
from tests.conformance.cases import families, load, spread
from tests.support.samples import amount
from tests.verify.recorded import side, site_of
from whimbrel.verify.verification import Verdict, VerifyResult
from whimbrel.verify.verify import verify

CASES = int(os.environ.get("WHIMBREL_CASES", amount(1, 3)))
"""Cases of each family; 1000 for all."""
MAX_UNDECIDED = 0.02
FEW = 3
"""Chains beyond that share in the few cases of one family: members of DBM groups cannot be assumed."""
AUTHZ = [family for family in families() if family.startswith("authz") and family != "authz-equivalences"]
SAMPLED = AUTHZ if CASES > 1 else [family for family in AUTHZ if not family.endswith("-2")]
"""A second part of a recording has more of the same."""


def pairs() -> list[tuple[Record, Record]]:
    """Recorded pairs of an old and a new text; two texts of .htaccess files would need two roots."""
    records = load("authz-equivalences")
    found = list(zip(records[::2], records[1::2], strict=True))
    return [pair for pair in found if " ht " not in pair[0]["title"]]


def differing(old: Record, new: Record, key: str) -> set[str]:
    """The sections whose recorded statuses differ."""
    answers = old["answers"]["2.2"]["responses"], new["answers"][key]["responses"]
    return {
        request["path"].split("/")[1]
        for request, before, after in zip(old["requests"], *answers, strict=True)
        if before["status"] != after["status"]
    }


def found_sections(result: VerifyResult) -> set[str]:
    """The sections for which access control or a status differs."""
    return {
        example.probe.target.split("/")[1]
        for group in result.groups
        if group.kind == "access" or "status" in group.examples[0].difference.names
        for example in group.examples
    }


@pytest.mark.parametrize("number", range(len(pairs())))
def test_equivalent_texts_raise_no_alarm(number: int) -> None:
    """verify finds differences in exactly the sections whose recorded answers differ."""
    old, new = pairs()[number]
    case = case_of(old, "2.2")
    with site_of(case) as site:
        result = verify(side(site, case, "old"), side(site, case_of(new, "2.4"), "new"))
    assert found_sections(result) == differing(old, new, "2.4")
    assert len(result.not_decided) <= max(1, MAX_UNDECIDED * result.chains)


def chosen(family: str) -> list[Record]:
    """Some cases of *family* that both versions have answered."""
    both = [r for r in load(family) if has_version(r, "2.2") and has_version(r, "2.4") and is_site(r)]
    return spread(both, CASES)


def is_site(record: Record) -> bool:
    """Return True for a case with requests."""
    return record.get("kind", "site") == "site"


@pytest.mark.parametrize("family", SAMPLED)
def test_one_text_under_both_versions_agrees_with_the_recordings(family: str) -> None:
    """Where recorded answers differ, verify says so; where a version does not start, it does not load."""
    undecided = chains = 0
    for record in chosen(family):
        old, new = case_of(record, "2.2"), case_of(record, "2.4")
        with site_of(old) as site:
            result = verify(side(site, old, "old"), side(site, new, "new"))
        answers = old.answer, new.answer
        if not all(answer.get("started") for answer in answers):
            assert result.verdict is Verdict.DOES_NOT_LOAD, record["id"]
            continue
        sections = differing(record, record, "2.4")
        assert not sections or result.verdict is Verdict.DIFFERENT, record["id"]
        undecided, chains = undecided + len(result.not_decided), chains + result.chains
    assert undecided <= FEW + MAX_UNDECIDED * chains
