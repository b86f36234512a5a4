"""Proposals for the users of each list of Require lines."""

from __future__ import annotations

from whimbrel.upgrade.access_control.effective import OTHER_METHODS, EffectiveRules
from whimbrel.upgrade.access_control.native import MAX_CHOICES, AuthzContext, user_choices, user_tree

AROUND = AuthzContext(("authz_user_module", "authz_groupfile_module", "authz_owner_module"))
MIXED = ["user bob", "group staff", "file-owner"]


def test_each_list_gets_a_decision_of_its_own() -> None:
    state = {OTHER_METHODS: EffectiveRules(requires=MIXED), "PUT": EffectiveRules(requires=["user ann"])}
    choices = list(user_choices(state, AROUND))
    first = next(user_tree(MIXED, AROUND))
    of_put = {choice["user ann",] for choice in choices if choice[tuple(MIXED)] == first}
    assert len(of_put) > 1


def test_the_number_of_proposals_has_a_bound() -> None:
    names = ("GET", "PUT", "DELETE", "POST", "PATCH")
    state = {name: EffectiveRules(requires=[*MIXED, f"user {name}"]) for name in names}
    assert len(list(user_choices(state, AROUND))) == MAX_CHOICES
