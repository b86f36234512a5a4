"""What Require lines of 2.4 ask."""

from __future__ import annotations

from tests.support.statuses import ALLOWED, DENIED
from tests.unit.access.decisions import AREA, MODULES, answer, decision_of, world

from whimbrel.access.atoms import IsServerAddress, Opaque
from whimbrel.access.space import Space

ALIASES = (
    '<AuthzProviderAlias ip near "127.0.0.1 127.0.0.3">\n</AuthzProviderAlias>\n'
    "<AuthzProviderAlias group staff wardens>\nAuthGroupFile other\n</AuthzProviderAlias>\n"
)


def test_lists_are_one_set_in_whatever_lines() -> None:
    space = Space()
    one, many = (
        decision_of("2.4", "Require ip 10.0 127", space=space),
        decision_of("2.4", "Require ip 127\nRequire ip 10.0", space=space),
    )
    assert one.is_equivalent(many) and len(one.atoms()) == len(many.atoms()) == 1


def test_names_and_variables() -> None:
    decision = decision_of("2.4", "Require host Example.org\nRequire env Flag")
    assert [
        answer(decision),
        answer(decision, host="www.example.org"),
        answer(decision, environment=("flag",)),
    ] == [DENIED, ALLOWED, ALLOWED]


def test_methods() -> None:
    decision = decision_of("2.4", "Require method GET POST")
    assert [answer(decision, method=method) for method in ("GET", "POST", "PUT", "FROB")] == [
        200,
        200,
        403,
        403,
    ]


def test_aliases() -> None:
    near = decision_of("2.4", "Require near", world_=world("2.4", aliases=ALIASES))
    assert [answer(near, address) for address in ("127.0.0.1", "127.0.0.2", "127.0.0.3")] == [
        ALLOWED,
        DENIED,
        ALLOWED,
    ]
    staff = decision_of("2.4", AREA + "Require staff", world_=world("2.4", aliases=ALIASES))
    assert "file /srv/other" in str(staff.atoms()) and answer(staff, user="a", groups=("wardens",)) == 200


def test_local_is_loopback_or_the_servers_own_address() -> None:
    assert IsServerAddress() in decision_of("2.4", "Require local").atoms()


def test_expressions_stand_for_themselves() -> None:
    space = Space()
    plain = decision_of("2.4", "Require expr %{REQUEST_METHOD} == 'GET'", space=space)
    assert plain.atoms() == [Opaque("expr %{REQUEST_METHOD} == 'GET'")]
    assert plain.is_equivalent(decision_of("2.4", "Require expr \"%{REQUEST_METHOD} == 'GET'\"", space=space))
    assert (
        Opaque("expr %{REMOTE_USER} == 'bob'", user=True)
        in decision_of("2.4", AREA + "Require expr %{REMOTE_USER} == 'bob'", space=space).atoms()
    )


def test_words_of_unknown_modules_are_opaque_in_both_versions() -> None:
    space = Space()
    old = decision_of(
        "2.2",
        AREA + "Require kitten tabby",
        space=space,
        world_=world("2.2", ("authz_kitten", *MODULES["2.2"], "authz_default")),
    )
    new = decision_of(
        "2.4",
        AREA + "Require kitten tabby",
        space=space,
        world_=world("2.4", ("authz_kitten", *MODULES["2.4"])),
    )
    assert Opaque("kitten tabby", user=True) in new.atoms() and old.is_equivalent(new)


def test_user_names_with_variables() -> None:
    assert (
        Opaque("user %{reqenv:who}", user=True)
        in decision_of("2.4", AREA + "Require user %{reqenv:who}").atoms()
    )
