"""Chains, walks and what stays with one section."""

from __future__ import annotations

import pytest
from tests.unit.access.decisions import AREA, MODULES, answer, decision_of, layer, world

from whimbrel.base.errors import ConfigError
from whimbrel.config.model import SectionKind


def test_a_group_file_belongs_to_one_section() -> None:
    assert (
        answer(
            decision_of("2.4", AREA, "AuthGroupFile other\nRequire group a", "Require group a"),
            user="u",
            groups=("a",),
        )
        == 200
    )
    own = decision_of("2.4", AREA + "Require group a", "AuthGroupFile other")
    assert "file /srv/other" in str(own.atoms())


def test_sections_of_one_walk_are_merged_with_each_other_first() -> None:
    outer = layer("Require ip 10")
    first, second = (
        layer("Require ip 11", SectionKind.LOCATION),
        layer("AuthMerging Or\nRequire ip 12", SectionKind.LOCATION),
    )
    decision = decision_of("2.4", outer, first, second)
    assert [answer(decision, address) for address in ("10.0.0.1", "11.0.0.1", "12.0.0.1", "13.0.0.1")] == [
        200,
        200,
        200,
        403,
    ]


def test_methods_of_the_main_file_are_known_in_htaccess() -> None:
    htaccess = layer("<Limit FROB>\nRequire all denied\n</Limit>", SectionKind.HTACCESS, True)
    assert answer(decision_of("2.4", "Require all granted", htaccess), method="FROB") == 500
    assert (
        answer(decision_of("2.4", "<Limit FROB>\nRequire all granted\n</Limit>", htaccess), method="FROB")
        == 403
    )


def test_errors_have_a_place() -> None:
    with pytest.raises(ConfigError) as found:
        decision_of("2.4", "Require all granted\nRequire nosuch")
    assert found.value.place is not None and found.value.place.line == 2


def test_modules_with_and_without_ending() -> None:
    whole = world("2.4", tuple(f"{name}_module" for name in MODULES["2.4"]))
    assert answer(decision_of("2.4", "Order deny,allow\nDeny from all", world_=whole)) == 403
    with pytest.raises(ConfigError, match="Invalid command 'order'"):
        decision_of("2.4", "Order deny,allow", world_=world("2.4", ("authz_core",)))
