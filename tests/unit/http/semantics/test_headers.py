"""Header tables behave as APR's tables do."""

from __future__ import annotations

import pytest

from whimbrel.http.semantics.headers import Headers, single_length


def table(*pairs):
    return Headers(pairs)


def test_names_have_no_case_and_keep_their_spelling():
    found = table(("X-One", "1"))
    found.set("x-one", "2")
    assert found.get("X-ONE") == "2" and found.items() == [("X-One", "2")]
    assert "x-One" in found and "y" not in found and found.get("y") is None


def test_set_changes_the_first_and_drops_the_rest():
    found = table(("A", "1"), ("B", "2"), ("a", "3"))
    found.set("A", "9")
    assert found.items() == [("A", "9"), ("B", "2")]


def test_several_values():
    found = table(("Set-Cookie", "a"), ("X", "x"), ("set-cookie", "b"))
    assert found.get("Set-Cookie") == "a" and found.get_all("SET-COOKIE") == ["a", "b"]
    assert found.items() == [("Set-Cookie", "a"), ("X", "x"), ("set-cookie", "b")]
    found.unset("Set-Cookie")
    assert found.items() == [("X", "x")] and found.get_all("set-cookie") == []


def test_get_all_does_not_take_longer_names():
    assert table(("A", "1"), ("A", "2"), ("A1", "3")).get_all("a") == ["1", "2"]


def test_merge_joins_the_first():
    found = table(("Vary", "A"))
    found.merge("vary", "B")
    found.merge("New", "C")
    assert found.items() == [("Vary", "A, B"), ("New", "C")]


def test_overlay_puts_its_argument_first_and_leaves_both_alone():
    base, over = table(("A", "1"), ("B", "2")), table(("b", "3"))
    both = base.overlay(over)
    assert both.items() == [("b", "3"), ("A", "1"), ("B", "2")] and both.get("B") == "3"
    assert len(base) == 2 and len(over) == 1


def test_compress_merges_repeated_names_where_they_began():
    found = table(("X", "1"), ("Y", "2"), ("x", "3"))
    found.compress()
    assert found.items() == [("X", "1, 3"), ("Y", "2")]


def test_copies_are_independent():
    first = table(("A", "1"))
    second = first.copy()
    second.add("A", "2")
    assert first.items() == [("A", "1")] and first != second


def test_get_all_after_unset_and_add():
    found = table(("A", "1"), ("A", "2"))
    found.unset("a")
    found.add("A", "3")
    found.add("A", "4")
    assert found.get_all("a") == ["3", "4"] and found.names() == ["A", "A"]


@pytest.mark.parametrize(
    ("values", "number"),
    [
        (["5"], "5"),
        (["5, 5"], "5"),
        (["5", "5"], "5"),
        (["5", "6"], None),
        (["x"], None),
        ([], None),
        ([""], None),
    ],
)
def test_single_length(values: list[str], number: str | None) -> None:
    """RFC 9110, section 8.6."""
    assert single_length(values) == number


def test_a_list_is_read_in_all_its_lines() -> None:
    fields = Headers([("Vary", "Accept"), ("X-A", "1"), ("vary", "*")])
    assert fields.get_list("VARY") == "Accept, *"
    assert fields.get_list("X-A") == "1"
    assert fields.get_list("X-B") is None
