"""2.4: expected answers are those of the recordings (FINDINGS: access control, merging)."""

from __future__ import annotations

import pytest
from tests.support.statuses import ALLOWED, DENIED
from tests.unit.access.decisions import AREA, answer, decision_of, layer, world

from whimbrel.base.errors import ConfigError
from whimbrel.config.model import SectionKind

DENY = "Order deny,allow\nDeny from all\nAllow from 127.0.0.1\n"


def test_old_and_new_are_both_asked() -> None:
    assert answer(decision_of("2.4", "Order deny,allow\nDeny from all", "Require all granted")) == 403
    assert answer(decision_of("2.4", "Require all denied", DENY), "127.0.0.1") == 403
    assert answer(decision_of("2.4", "Require all denied", "Require all granted", DENY), "127.0.0.1") == 200
    assert answer(decision_of("2.4", "Require all denied", "Allow from all\nSatisfy Any")) == 200


def test_satisfy_alone_drops_the_outer_lists() -> None:
    assert answer(decision_of("2.2", DENY + "Satisfy All", "Satisfy Any")) == 403
    assert answer(decision_of("2.4", DENY, "Satisfy Any")) == 200


def test_satisfy_any_without_lists_opens_everything() -> None:
    assert answer(decision_of("2.4", "Require all denied\nSatisfy Any")) == 200


def test_auth_type_without_require() -> None:
    assert answer(decision_of("2.2", AREA)) == 200 and answer(decision_of("2.4", AREA)) == 500


def test_all_prefers_the_refusal_and_any_the_user() -> None:
    both = AREA + "<RequireAll>\nRequire valid-user\nRequire ip 10\n</RequireAll>"
    assert answer(decision_of("2.4", both)) == 403 and answer(decision_of("2.4", both), "10.0.0.1") == 401
    assert answer(decision_of("2.4", AREA + "Require valid-user\nRequire ip 10")) == 401


def test_refusals_of_known_users() -> None:
    assert answer(decision_of("2.4", AREA + "Require user bob"), user="eve") == 401
    assert (
        answer(decision_of("2.4", AREA + "AuthzSendForbiddenOnFailure On\nRequire user bob"), user="eve")
        == 403
    )


def test_negative_rules_alone() -> None:
    text = "<RequireAll>\nRequire not ip 10\n</RequireAll>"
    with pytest.raises(ConfigError, match="AH01624"):
        decision_of("2.4", text)
    assert answer(decision_of("2.4", layer(text, SectionKind.HTACCESS, True))) == 403


def test_merging() -> None:
    outer, inner = "Require ip 10", "AuthMerging {}\nRequire ip 10.1"
    answers = {
        word: [answer(decision_of("2.4", outer, inner.format(word)), one) for one in ("10.1.0.1", "10.2.0.1")]
        for word in ("And", "Or", "Off")
    }
    assert answers == {"And": [ALLOWED, DENIED], "Or": [ALLOWED, ALLOWED], "Off": [ALLOWED, DENIED]}


def test_what_the_server_refuses() -> None:
    for text in (
        "Require nosuchthing",
        "Require Valid-User",
        "Require not ip 10",
        "AuthzUserAuthoritative Off",
    ):
        with pytest.raises(ConfigError):
            decision_of("2.4", text)
        assert answer(decision_of("2.4", layer(text, SectionKind.HTACCESS, True))) == 500


def test_user_without_authentication() -> None:
    assert answer(decision_of("2.4", "Require valid-user")) == 500


def test_a_missing_group_file() -> None:
    assert (
        answer(
            decision_of("2.4", AREA + "Require group admin", world_=world("2.4", missing=("/srv/groups",))),
            user="alice",
        )
        == 401
    )


def test_the_guides_wording() -> None:
    inner = layer(DENY, SectionKind.LOCATION)
    assert answer(decision_of("2.4", "Require all denied", inner), "127.0.0.1") == 403
    guide = decision_of("guide", "Require all denied", inner, world_=world("2.4"))
    assert answer(guide, "127.0.0.1") == 200 and answer(guide, "127.0.0.2") == 403
