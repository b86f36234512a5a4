"""2.2: expected answers are those of the recordings (FINDINGS: access control, merging)."""

from __future__ import annotations

import pytest
from tests.support.statuses import ALLOWED, CHALLENGED, DENIED
from tests.unit.access.decisions import AREA, COMMON, answer, decision_of, world


@pytest.mark.parametrize(
    ("satisfy", "there", "elsewhere"),
    (
        ("Satisfy Any\n", (ALLOWED, ALLOWED, ALLOWED), (CHALLENGED, ALLOWED, CHALLENGED)),
        ("Satisfy All\n", (CHALLENGED, ALLOWED, CHALLENGED), (DENIED, DENIED, DENIED)),
        ("", (CHALLENGED, ALLOWED, CHALLENGED), (DENIED, DENIED, DENIED)),
    ),
)
def test_satisfy(satisfy: str, there: tuple[int, ...], elsewhere: tuple[int, ...]) -> None:
    decision = decision_of(
        "2.2", AREA + "Order deny,allow\nDeny from all\nAllow from 127.0.0.1\nRequire valid-user\n" + satisfy
    )
    for address, expected in (("127.0.0.1", there), ("127.0.0.2", elsewhere)):
        assert (
            answer(decision, address),
            answer(decision, address, user="a"),
            answer(decision, address, user="a", right=False),
        ) == expected


@pytest.mark.parametrize(
    ("first", "alice", "bob"), (("authz_user", CHALLENGED, ALLOWED), ("authz_groupfile", ALLOWED, CHALLENGED))
)
def test_the_module_that_is_loaded_first_decides(first: str, alice: int, bob: int) -> None:
    order = world("2.2", (first, *(name for name in COMMON if name != first)))
    decision = decision_of("2.2", AREA + "Require group admin\nRequire user bob", world_=order)
    assert answer(decision, user="alice", groups=("admin",)) == alice and answer(decision, user="bob") == bob


def test_satisfy_any_without_require_leaves_it_to_the_lists() -> None:
    assert answer(decision_of("2.2", "Satisfy Any\nDeny from all")) == 403


def test_a_missing_group_file() -> None:
    decision = decision_of("2.2", AREA + "Require group admin", world_=world("2.2", missing=("/srv/groups",)))
    assert answer(decision, user="alice") == 500 and answer(decision) == 401


@pytest.mark.parametrize(
    ("modules", "expected"), ((COMMON, 500), ((*COMMON, "authn_default", "authz_default"), 401))
)
def test_an_unknown_user_where_basic_is_not_authoritative(modules: tuple[str, ...], expected: int) -> None:
    decision = decision_of(
        "2.2", AREA + "AuthBasicAuthoritative Off\nRequire valid-user", world_=world("2.2", modules)
    )
    assert answer(decision, user="eve", known=False) == expected


def test_unknown_words() -> None:
    assert answer(decision_of("2.2", AREA + 'Require "valid-user"'), user="a") == 500
    assert (
        answer(
            decision_of("2.2", AREA + "Require nosuchthing", world_=world("2.2", (*COMMON, "authz_default"))),
            user="a",
        )
        == 401
    )


def test_methods() -> None:
    decision = decision_of("2.2", AREA + "<Limit GET POST>\nRequire valid-user\n</Limit>")
    assert [answer(decision, method=method) for method in ("GET", "POST", "PUT", "FROB")] == [
        401,
        401,
        200,
        200,
    ]
    decision = decision_of("2.2", AREA + "<LimitExcept GET>\nRequire valid-user\n</LimitExcept>")
    assert [answer(decision, method=method) for method in ("GET", "POST", "FROB")] == [
        ALLOWED,
        CHALLENGED,
        CHALLENGED,
    ]


def test_no_auth_type() -> None:
    assert answer(decision_of("2.2", "Require valid-user")) == 500
