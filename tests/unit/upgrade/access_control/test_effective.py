"""What 2.2 merges at the end of a chain."""

from __future__ import annotations

from whimbrel.access.layers import AccessLine
from whimbrel.upgrade.access_control.effective import (
    OTHER_METHODS,
    flatten_directives,
    has_directive,
    merge_effective,
)

OUTER = (
    AccessLine("order", "deny,allow"),
    AccessLine("deny", "from all"),
    AccessLine("allow", "from 10 .test"),
    AccessLine("satisfy", "Any"),
    AccessLine("require", "valid-user"),
)


def test_the_record_is_replaced_as_a_whole_and_satisfy_by_itself() -> None:
    found = merge_effective([OUTER, (AccessLine("allow", "from 11"),)])[OTHER_METHODS]
    assert (found.order, found.allows, found.denies, found.satisfy, found.requires) == (
        "deny,allow",
        ["11"],
        [],
        "any",
        ["valid-user"],
    )


def test_require_lines_are_replaced_as_a_whole() -> None:
    found = merge_effective([OUTER, (AccessLine("require", "user bob"),)])[OTHER_METHODS]
    assert found.requires == ["user bob"]
    assert found.denies == ["all"]


def test_methods_have_rules_of_their_own() -> None:
    one, other = (AccessLine("require", "valid-user"),), (AccessLine("deny", "from all"),)
    found = merge_effective(
        [(AccessLine("limit", "GET PUT", None, one), AccessLine("limitexcept", "PUT", None, other))]
    )
    assert {name: (rules.requires, rules.denies) for name, rules in found.items()} == {
        OTHER_METHODS: ([], ["all"]),
        "GET": (["valid-user"], ["all"]),
        "PUT": (["valid-user"], []),
    }


def test_head_is_get() -> None:
    assert set(
        merge_effective([(AccessLine("limit", "HEAD", None, (AccessLine("deny", "from all"),)),)])
    ) == {OTHER_METHODS, "GET"}


def test_what_stands_in_containers_is_said() -> None:
    lines = (AccessLine("requireall", "", None, (AccessLine("require", "ip 10"),)),)
    assert [one.args for one in flatten_directives(lines)] == ["ip 10"]
    assert has_directive(lines, {"require"})
    assert not has_directive(lines, {"order"})
