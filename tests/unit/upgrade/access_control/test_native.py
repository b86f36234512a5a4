"""Proposals for the users of each list of Require lines."""

from __future__ import annotations

import pytest

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.upgrade.access_control.effective import OTHER_METHODS, EffectiveRules
from whimbrel.upgrade.access_control.native import (
    MAX_CHOICES,
    NOBODY,
    AuthzContext,
    user_choices,
    user_tree,
)
from whimbrel.upgrade.access_control.trees import RequireLeaf, any_of

AROUND = AuthzContext(("authz_user_module", "authz_groupfile_module", "authz_owner_module"))
MIXED = ["user bob", "group staff", "file-owner"]


def test_each_list_gets_a_decision_of_its_own() -> None:
    state = {OTHER_METHODS: EffectiveRules(requires=MIXED), "PUT": EffectiveRules(requires=["user ann"])}
    choices = list(user_choices(state, AROUND))
    first = next(user_tree(MIXED, AROUND))
    of_put = {choice["user ann",] for choice in choices if choice[tuple(MIXED)] == first}
    assert len(of_put) > 1


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ("valid-user", ["valid-user"]),
        ("user a b", ["user a b"]),
        ("user", []),
        ("Valid-User", []),  # mod_authz_user compares by strcmp
        ("User a", []),
        ("group a", ["group a", "dbm-group a"]),
        ("GROUP a", ["group a", "dbm-group a"]),  # mod_authz_groupfile by strcasecmp
        ("group", []),
        ("file-group", ["file-group", "dbm-file-group"]),
        ("File-Group", ["file-group", "dbm-file-group"]),
        ("file-owner", ["file-owner"]),
        ("ldap-group cn=a, o=b", ["ldap-group cn=a, o=b"]),
        ("nonsense a", []),
    ],
)
def test_words_of_22_as_24_has_them(text: str, leaves: list[str]) -> None:
    """Groups are looked for in files and in databases if the chain names both; 2.4 has a word for each."""
    around = replace(AROUND, dbm_file=True)
    expected = any_of([RequireLeaf(*leaf.split(" ", 1)) for leaf in leaves]) if leaves else NOBODY
    assert next(user_tree([text], around)) == expected


def test_the_number_of_proposals_has_a_bound() -> None:
    names = ("GET", "PUT", "DELETE", "POST", "PATCH")
    state = {name: EffectiveRules(requires=[*MIXED, f"user {name}"]) for name in names}
    assert len(list(user_choices(state, AROUND))) == MAX_CHOICES
