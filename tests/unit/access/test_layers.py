"""Lines of both trees."""

from __future__ import annotations

import pytest

from whimbrel.access.layers import (
    MAX_NAMES,
    AccessLayer,
    AccessLine,
    is_access_directive,
    lines_of_nodes,
    lines_of_tree,
)
from whimbrel.base.errors import ConfigError, SourceLocation
from whimbrel.catalogue.load import directive_names
from whimbrel.directives.node import Node
from whimbrel.syntax.tree import parse


def test_lines_of_a_tree() -> None:
    text = (
        b"Options All\nORDER Allow,Deny\n<Limit GET>\nRequire user bob\nOptions None\n"
        b"</Limit>\n<Files x>\nDeny from all\n</Files>\n"
    )
    found = lines_of_tree(parse(text).children, "f")
    assert found == (
        AccessLine("order", "Allow,Deny"),
        AccessLine("limit", "GET", None, (AccessLine("require", "user bob"),)),
    )
    assert found[1].place == SourceLocation("f", 3) and found[1].children[0].place == SourceLocation("f", 4)


def test_variables_are_expanded() -> None:
    assert lines_of_tree(
        parse(b"Require ip ${NET}\n").children, "f", lambda text: text.replace("${NET}", "10")
    ) == (AccessLine("require", "ip 10"),)


def test_lines_of_nodes() -> None:
    outer = Node("<RequireAny", ">", SourceLocation("f", 1))
    outer.children = [
        Node("Require", "all granted", SourceLocation("f", 2), outer),
        Node("Header", "set a b", SourceLocation("f", 3), outer),
    ]
    assert lines_of_nodes([outer]) == (
        AccessLine("requireany", "", None, (AccessLine("require", "all granted"),)),
    )


def test_a_container_without_bracket() -> None:
    with pytest.raises(ConfigError, match="missing closing '>'"):
        lines_of_nodes([Node("<Limit", "GET", SourceLocation("f", 1))])


@pytest.mark.parametrize(
    "name",
    (
        "Order",
        "SATISFY",
        "AuthType",
        "AuthzGroupFileAuthoritative",
        "AuthDBMUserFile",
        "Anonymous_NoUserId",
        "LimitExcept",
        "AuthBasicProvider",
        "AuthDefaultAuthoritative",
        "AuthLDAPURL",
    ),
)
def test_relevant(name: str) -> None:
    assert is_access_directive(name)


@pytest.mark.parametrize(
    "name", ("Options", "AllowOverride", "Files", "SetEnvIf", "AllowMethods", "LimitRequestBody")
)
def test_not_relevant(name: str) -> None:
    assert not is_access_directive(name)


def test_place_is_no_part_of_equality() -> None:
    assert AccessLayer(
        (AccessLine("order", "allow,deny", SourceLocation("a", 1)),), place=SourceLocation("a", 1)
    ) == AccessLayer((AccessLine("order", "allow,deny"),))


def test_names_are_remembered_as_they_are_judged() -> None:
    """More names than the bound, in turn with those of httpd."""
    names = [spelled for low, name in directive_names().items() for spelled in (low, name, low.upper())]
    is_relevant = is_access_directive.__wrapped__
    for number, name in enumerate([*names, *names]):
        assert is_access_directive(name) == is_relevant(name)
        is_access_directive(f"AuthUnknown{number}")
    assert is_access_directive.cache_info().currsize <= MAX_NAMES
