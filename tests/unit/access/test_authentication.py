"""Types, realms and providers."""

from __future__ import annotations

import pytest
from tests.support.statuses import ALLOWED, CHALLENGED
from tests.unit.access.decisions import AREA, MODULES, answer, decision_of, world

from whimbrel.access.atoms import HasCredentials, KnownUser, PasswordValid
from whimbrel.access.decision import Undecided
from whimbrel.access.space import Space

VERSIONS = ("2.2", "2.4")
ALIAS = "<AuthnProviderAlias file second>\nAuthUserFile more\n</AuthnProviderAlias>\n"


@pytest.mark.parametrize("version", VERSIONS)
def test_passwords(version: str) -> None:
    decision = decision_of(version, AREA + "Require valid-user")
    assert [
        answer(decision),
        answer(decision, user="a"),
        answer(decision, user="a", right=False),
        answer(decision, user="a", known=False),
    ] == [CHALLENGED, ALLOWED, CHALLENGED, CHALLENGED]
    assert set(decision.atoms()) == {
        HasCredentials("basic"),
        PasswordValid("basic", "file /srv/users"),
        KnownUser("basic", "file /srv/users"),
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_what_makes_authentication_impossible(version: str) -> None:
    missing = decision_of(
        version, AREA + "Require valid-user", world_=world(version, missing=("/srv/users",))
    )
    assert answer(missing, user="a") == 500 and answer(missing) == 401
    assert answer(decision_of(version, "AuthType Basic\nRequire valid-user")) == 500
    assert answer(decision_of(version, "AuthType Nonsense\nAuthName a\nRequire valid-user")) == 500


def test_a_list_of_providers() -> None:
    aliased = world("2.4", aliases=ALIAS)
    decision = decision_of("2.4", AREA + "AuthBasicProvider file second\nRequire valid-user", world_=aliased)
    assert {atom.area for atom in decision.atoms() if isinstance(atom, KnownUser)} == {
        "file /srv/users",
        "file /srv/more",
    }


def test_digest_users_belong_to_a_realm() -> None:
    text = "AuthType Digest\nAuthName {}\nAuthUserFile digests\nAuthDigestProvider file\nRequire valid-user"
    space = Space()
    old, new = (
        decision_of("2.2", text.format("a"), space=space),
        decision_of("2.4", text.format("a"), space=space),
    )
    assert old.is_equivalent(new) and not old.is_equivalent(decision_of("2.4", text.format("b"), space=space))
    assert answer(new) == 401 and answer(new, user="a") == 200


def test_types_of_unknown_modules() -> None:
    space, text = Space(), "AuthType Kitten\nAuthName a\nRequire valid-user"
    both = [
        decision_of(version, text, space=space, world_=world(version, ("auth_kitten", *MODULES[version])))
        for version in VERSIONS
    ]
    assert both[0].is_equivalent(both[1]) and answer(both[0]) == 401 and answer(both[0], user="a") == 200


def test_a_type_that_depends_on_the_request() -> None:
    with pytest.raises(Undecided):
        decision_of("2.4", 'AuthType "%{HTTP:X}"\nAuthName a\nRequire valid-user')
