"""Forms as the installed httpd's login parses them."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.filters.mod_request import ready_body
from whimbrel.modules.support.form_data import FormTooLarge, read_form

FORM = "application/x-www-form-urlencoded"


class Sent:
    """The parts of a request that the form parser reads."""

    def __init__(self, kind: str, body: str) -> None:
        self.headers_in, self.body_in = Headers([("Content-Type", kind)]), ready_body(body.encode("latin-1"))


def form(body: str, kind: str = FORM, limit: int = 8192) -> dict[str, str]:
    return asyncio.run(read_form(cast(Any, Sent(kind, body)), limit))


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("a=b&c=d+e%41", {"a": "b", "c": "d eA"}),
        ("a=1&a=2", {"a": "1"}),
        ("a", {}),
        ("a=", {"a": ""}),
        ("", {}),
        ("u=alice%zz", {"u": "aliceS"}),
        ("a=b=c", {"a": "b=c"}),
    ],
)
def test_fields(body: str, found: dict[str, str]) -> None:
    assert form(body) == found


@pytest.mark.parametrize(
    ("kind", "read"),
    [(FORM + "; charset=utf-8", True), (FORM.upper(), True), ("application/json", False), ("", False)],
)
def test_other_bodies_stay(kind: str, read: bool) -> None:
    assert form("a=b", kind) == ({"a": "b"} if read else {})


# AuthFormSize 60 on httpd: u=alice&p=wonder and a third field.
@pytest.mark.parametrize(
    ("more", "good"),
    [
        ("&z=" + "x" * 46, True),
        ("&z=" + "x" * 47, False),
        ("&a=b" * 20, True),
        ("&a=b" * 40, False),
        ("&z=" + "%41" * 40, True),
        ("&" * 100, True),
        ("&" + "z" * 47, True),
        ("&" + "z" * 48, False),
        ("&z" * 47, True),
        ("&z" * 48, False),
    ],
)
def test_names_and_values_have_a_limit(more: str, good: bool) -> None:
    if good:
        assert form("u=alice&p=wonder" + more, limit=60)["u"] == "alice"
    else:
        with pytest.raises(FormTooLarge):
            form("u=alice&p=wonder" + more, limit=60)


def test_no_number_of_separators_is_read_without_end() -> None:
    with pytest.raises(FormTooLarge):
        form("&" * 100_000, limit=60)
