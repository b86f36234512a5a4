"""Comparing decisions."""

from __future__ import annotations

from tests.unit.access.decisions import AREA, decision_of

from whimbrel.access.atoms import EnvironmentSet
from whimbrel.access.decision import AccessDecision, AccessVerdict
from whimbrel.access.space import Space


def test_the_counterexample_says_who_and_what() -> None:
    space = Space()
    old = decision_of("2.2", "Order deny,allow\nDeny from all\nAllow from 127.0.0.1", space=space)
    assert old.is_equivalent(decision_of("2.4", "Require ip 127.0.0.1", space=space))
    found = old.difference(decision_of("2.4", "Require ip 127", space=space))
    assert str(found) == "GET from 127.0.0.2 without a password: 2.2 answers 403, 2.4 lets it in"


def test_those_let_in_come_first() -> None:
    space = Space()
    flag = space.variable(EnvironmentSet("a"))
    before = AccessDecision(space, {AccessVerdict.GRANTED: flag, AccessVerdict.FORBIDDEN: ~flag})
    after = AccessDecision(space, {AccessVerdict.GRANTED: ~flag, AccessVerdict.CHALLENGE: flag})
    found = [(one.before, one.after) for one in before.differences(after)]
    assert found == [
        (AccessVerdict.FORBIDDEN, AccessVerdict.GRANTED),
        (AccessVerdict.GRANTED, AccessVerdict.CHALLENGE),
    ]
    assert list(before.differences(before)) == []


def test_total_and_disjoint() -> None:
    space = Space()
    for version in ("2.2", "2.4"):
        when = list(
            decision_of(
                version, AREA + "Require user bob\nOrder allow,deny\nAllow from 10\nSatisfy Any", space=space
            ).when.values()
        )
        assert space.any_of(when) == space.true
        assert all(one & other == space.false for i, one in enumerate(when) for other in when[:i])


def test_verdict_asks_only_what_matters() -> None:
    space = Space()
    decision = AccessDecision(
        space,
        {
            AccessVerdict.GRANTED: space.variable(EnvironmentSet("a")),
            AccessVerdict.FORBIDDEN: ~space.variable(EnvironmentSet("a")),
        },
    )
    assert decision.atoms() == [EnvironmentSet("a")]
    assert (
        decision.verdict(lambda atom: True) is AccessVerdict.GRANTED
        and decision.verdict(lambda atom: False) is AccessVerdict.FORBIDDEN
    )
