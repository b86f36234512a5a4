"""What 2.2 merges at the end of a chain."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

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


_NAMES = st.sampled_from(("order", "require", "limit", "requireall", "limitexcept"))
_LINES = st.recursive(
    st.builds(AccessLine, _NAMES, st.just("GET")),
    lambda inner: st.builds(AccessLine, _NAMES, st.just("GET"), st.none(), st.lists(inner).map(tuple)),
    max_leaves=12,
)


@given(st.lists(_LINES), st.lists(_NAMES))
def test_a_directive_is_found_as_among_the_flat_lines(lines: list[AccessLine], names: list[str]) -> None:
    flat = {line.name for line in flatten_directives(lines)}
    assert has_directive(lines, names) == bool(flat & set(names))
