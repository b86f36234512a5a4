"""Request fields that record their reads."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from whimbrel.http.semantics.headers import Headers
from whimbrel.http.semantics.tracked_headers import RemainingHeaders, TrackedHeaders

PAIRS = [("Host", "a"), ("Cookie", "b=c")]


def test_names_are_noted_whether_there_or_not() -> None:
    fields = TrackedHeaders(Headers(PAIRS))
    assert (fields.get("COOKIE"), fields.get("Range"), "Via" in fields, fields.get_all("Host")) == (
        "b=c",
        None,
        False,
        ["a"],
    )
    assert (fields.accessed, fields.all_fields_used) == ({"cookie", "range", "via", "host"}, False)


@pytest.mark.parametrize(
    "use",
    [
        lambda f: f.items(),
        lambda f: f.names(),
        list,
        len,
        lambda f: f.copy(),
        lambda f: f.overlay(Headers()),
        lambda f: f.set("A", "b"),
        lambda f: f.add("A", "b"),
        lambda f: f.unset("A"),
        lambda f: f.merge("A", "b"),
        lambda f: f.clear(),
        lambda f: f.extend([]),
        lambda f: f.compress(),
    ],
)
def test_looking_at_all_or_changing_anything_is_noted(use: Callable[[TrackedHeaders], object]) -> None:
    fields = TrackedHeaders(Headers(PAIRS))
    use(fields)
    assert fields.all_fields_used


def test_what_remains_is_tracked_by_all_fields() -> None:
    """A sub-request has the fields without those about the body, also without repeated ones."""
    fields = TrackedHeaders(Headers([*PAIRS, ("Content-Type", "a/b"), ("content-type", "c/d")]))
    remaining = RemainingHeaders(fields, ("Content-Type",))
    assert (remaining.get("Host"), remaining.get("Content-Type")) == ("a", None)
    assert (fields.accessed, fields.all_fields_used) == ({"host", "content-type"}, False)
    sets = (frozenset("a"),)
    remaining.get_classified("Cookie", sets)
    assert fields.tests == {"cookie": sets}
    assert remaining.items() == PAIRS
    assert fields.all_fields_used
    assert fields.get_all("Content-Type") == ["a/b", "c/d"]
