"""What 2.2 merges at the end of a chain."""

from __future__ import annotations

from whimbrel.access.layers import Line
from whimbrel.upgrade.access_control.states import OTHERS, merged, said, says

OUTER = (Line("order", "deny,allow"), Line("deny", "from all"), Line("allow", "from 10 .test"), Line("satisfy", "Any"), Line("require", "valid-user"))


def test_the_record_is_replaced_as_a_whole_and_satisfy_by_itself() -> None:
    found = merged([OUTER, (Line("allow", "from 11"),)])[OTHERS]
    assert (found.order, found.allows, found.denies, found.satisfy, found.requires) == ("deny,allow", ["11"], [], "any", ["valid-user"])


def test_require_lines_are_replaced_as_a_whole() -> None:
    found = merged([OUTER, (Line("require", "user bob"),)])[OTHERS]
    assert found.requires == ["user bob"]
    assert found.denies == ["all"]


def test_methods_have_rules_of_their_own() -> None:
    one, other = (Line("require", "valid-user"),), (Line("deny", "from all"),)
    found = merged([(Line("limit", "GET PUT", None, one), Line("limitexcept", "PUT", None, other))])
    assert {name: (rules.requires, rules.denies) for name, rules in found.items()} == {
        OTHERS: ([], ["all"]), "GET": (["valid-user"], ["all"]), "PUT": (["valid-user"], []),
    }


def test_head_is_get() -> None:
    assert set(merged([(Line("limit", "HEAD", None, (Line("deny", "from all"),)),)])) == {OTHERS, "GET"}


def test_what_stands_in_containers_is_said() -> None:
    lines = (Line("requireall", "", None, (Line("require", "ip 10"),)),)
    assert [one.args for one in said(lines)] == ["ip 10"]
    assert says(lines, {"require"})
    assert not says(lines, {"order"})
