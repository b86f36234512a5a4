"""Comparison of answers: what differs by nature is ignored, everything else is named."""

from __future__ import annotations

import pytest

from whimbrel.verify.answer import Answer
from whimbrel.verify.difference import compare


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("Date", "Mon"), ("Date", "Tue")),
        (("Server", "Apache/2.2"), ("Server", "Apache/2.4")),
        (("Allow", "GET,POST"), ("Allow", "POST, GET")),
        (("Set-Cookie", "a=1"), ("Set-Cookie", "a=2")),
        (("Content-Type", 'multipart/x; boundary="1f"'), ("Content-Type", "multipart/x; boundary=2e")),
    ],
)
def test_what_differs_by_nature(old: tuple[str, str], new: tuple[str, str]) -> None:
    assert compare(Answer(200, (old,)), Answer(200, (new,))) is None


def test_the_form_of_an_etag_belongs_to_the_version() -> None:
    old, new = Answer(200, (("ETag", '"1-2-3"'),), dialect="2.2"), Answer(200, (("ETag", '"2-3"'),))
    assert compare(old, new) is None
    missing = compare(old, Answer(200))
    assert missing is not None and missing.names == ("etag",)
    changed = compare(Answer(200, (("ETag", '"1"'),)), Answer(200, (("ETag", '"2"'),)))
    assert changed is not None and changed.names == ("etag",)


def test_statuses_come_first_and_alone() -> None:
    found = compare(Answer(302, (("Location", "/a"),), body="x"), Answer(403))
    assert found is not None and found.names == ("status", "location")
    assert str(found) == "status: 302 -> 403; location: /a -> none"
    assert found.mirrored() == compare(Answer(403), Answer(302, (("Location", "/a"),), body="x"))


def test_other_parts() -> None:
    old = Answer(200, (("X-A", "1"),), body="a", length=1, file="/a", user="u", environment=(("K", "1"),))
    found = compare(old, Answer(200, (("X-A", "2"),), body="b", length=1, file="/b", user="v"))
    assert found is not None and found.names == ("file", "user", "x-a", "body", "environment K")


def test_pages_of_the_server_are_compared_within_a_version() -> None:
    old, new = Answer(404, body="a", is_built_in=True), Answer(404, body="b", is_built_in=True)
    assert compare(old, new) is not None
    assert compare(Answer(404, body="a", is_built_in=True, dialect="2.2"), new) is None


def test_an_empty_field_is_not_a_missing_one() -> None:
    found = compare(Answer(200, (("X-L", ""),)), Answer(200))
    assert found is not None and str(found) == 'x-l: "" -> none'


def test_expiry_times_are_compared() -> None:
    old, new = (
        Answer(200, (("Expires", f"Sun, 13 Sep 2020 12:2{n}:40 GMT"),), dialect="2.2") for n in (6, 7)
    )
    found = compare(old, new)
    assert found is not None and found.names == ("expires",)


def test_2_2_filters_its_own_pages_by_type() -> None:
    """AddOutputFilterByType of 2.2 concerns error pages, that of 2.4 does not (row C34)."""
    fields = (("Vary", "Cookie,Accept-Encoding"), ("Content-Encoding", "gzip"))
    old = Answer(404, fields, is_built_in=True, dialect="2.2")
    new = Answer(404, (("Vary", "Cookie"),), is_built_in=True)
    assert compare(old, new) is None
    other = compare(old, Answer(404, is_built_in=True))
    assert other is not None and other.names == ("vary",)
    document = compare(Answer(404, fields, dialect="2.2"), Answer(404, (("Vary", "Cookie"),)))
    assert document is not None and document.names == ("vary", "content-encoding")


def test_variables_that_2_2_never_sets_are_not_compared() -> None:
    old = Answer(200, dialect="2.2")
    new = Answer(200, environment=(("CONTEXT_PREFIX", "/cgi-bin/"), ("REQUEST_SCHEME", "http")))
    assert compare(old, new) is None
    other = compare(Answer(200), new)
    assert other is not None and other.names == ("environment CONTEXT_PREFIX", "environment REQUEST_SCHEME")
