"""Recorded 2.2 configurations, upgraded in place and asked of a real httpd 2.4: the answers are those of 2.2.

WHIMBREL_CASES=N takes N configurations of each family and N entries of EXCEPT.tsv instead of one; `make
upgrade-check` takes all.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conformance.case import Case, case_of, has_version
from tests.conformance.cases import Exempt, exempt, spread
from tests.conformance.cases import covered as records
from tests.conformance.program import APACHE
from tests.conformance.report import percentage
from tests.conformance.site import RecordedSite
from tests.conformance.upgrade_run import DEFECTS, SAME, Outcome, detail, is_upgradable, upgrade_all
from tests.support import warm_command
from tests.upgrade.upgradable import CASES, upgradable

FLOORS = {
    "authz-single": 99.5,
    "authz-nested": 97.0,
    "authz-targeted": 99.5,
    "authz-passwords": 99.5,
    "authz-authoritative": 99.5,
    "config-htaccess": 99.0,
    "config-vhost": 99.0,
    "core-rewrite": 99.0,
}
"""Percentages of equal answers.

A few configurations of authz-nested hold all that changes there, so that a sample may have more than its
share.
"""
ENTRIES = exempt(Path(__file__).with_name("EXCEPT.tsv"))

needs_apache = pytest.mark.skipif(not APACHE.exists(), reason="needs apache2")


def upgrade(site: RecordedSite) -> subprocess.CompletedProcess[bytes]:
    """The result of `whimbrel upgrade --write` of this checkout."""
    words = ["upgrade", "--write", "--no-verify", "-d", site.root, "-f", "conf/httpd.conf"]
    done = warm_command.run(words, cwd=site.root)
    done.stdout += done.stderr
    return done


def upgraded(cases: list[Case]) -> list[Outcome]:
    """The outcomes of the upgraded cases."""
    return list(upgrade_all(cases, upgrade, 1))


@needs_apache
@pytest.mark.parametrize("family", sorted(FLOORS))
def test_answers_are_equal(family: str) -> None:
    cases = [case for case in upgradable(family) if not any(entry.covers(case.id) for entry in ENTRIES)]
    outcomes = upgraded(spread(cases, CASES))
    different = [detail(one) for one in outcomes if one.verdict != SAME]
    assert not [one for one in outcomes if one.verdict in DEFECTS], different
    assert (
        percentage(sum(one.equal for one in outcomes), sum(one.answers for one in outcomes)) >= FLOORS[family]
    ), different


def covered(entry: Exempt) -> list[Case]:
    """The cases that an entry is about."""
    cases = [case_of(record, "2.2") for record in records(entry) if has_version(record, "2.2")]
    return [case for case in cases if is_upgradable(case)]


def test_every_entry_has_a_reason_and_a_case() -> None:
    assert [entry.pattern for entry in ENTRIES if not entry.reason or not covered(entry)] == []


@needs_apache
@pytest.mark.parametrize("entry", ENTRIES[:: max(len(ENTRIES) // CASES, 1)], ids=lambda entry: entry.pattern)
def test_an_entry_is_needed(entry: Exempt) -> None:
    outcomes = upgraded(spread(covered(entry), CASES))
    assert outcomes
    assert [one.case.id for one in outcomes if one.verdict == SAME] == []
