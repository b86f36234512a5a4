"""Comparison of answers: what differs by nature is ignored, everything else is named."""

from __future__ import annotations

import pytest

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.verify.answer import Answer
from whimbrel.verify.difference import VARIABLE, compare


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


@pytest.mark.parametrize(("status", "differs"), [(200, True), (399, True), (400, False), (404, False)])
def test_handlers_and_variables_count_up_to_errors(status: int, differs: bool) -> None:
    """An error is answered by the server, whatever handler the request had."""
    old = Answer(status, handler="a", environment=(("X", "1"),))
    found = compare(old, Answer(status, handler="b", environment=(("X", "1"),)))
    assert (found is not None and found.names == ("handler",)) is differs
    found = compare(old, Answer(status, handler="a", environment=(("X", "2"),)))
    assert (found is not None) is differs


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


def test_the_nonce_of_digest_is_random() -> None:
    """apache2 signs it with random bytes of its process: two starts with one text answer so."""
    first, second = (
        (("WWW-Authenticate", f'Digest realm="A", nonce="{nonce}", algorithm=MD5, qop="auth"'),)
        for nonce in ("O2s1AAAAAAA=79b6", "O2s1AAAAAAA=0e1f")
    )
    assert compare(Answer(401, first), Answer(401, second)) is None
    other = (("WWW-Authenticate", first[0][1].replace('"A"', '"B"')),)
    found = compare(Answer(401, first), Answer(401, other))
    assert found is not None and found.names == ("www-authenticate",)
    proofs = [
        (("Authentication-Info", f'rspauth="{one}", cnonce="a", nc=00000001, qop=auth'),) for one in "ab"
    ]
    assert compare(*(Answer(200, one) for one in proofs)) is None


def test_variables_that_2_2_never_sets_are_not_compared() -> None:
    old = Answer(200, dialect="2.2")
    new = Answer(200, environment=(("CONTEXT_PREFIX", "/cgi-bin/"), ("REQUEST_SCHEME", "http")))
    assert compare(old, new) is None
    args = Answer(200, environment=(("DOCUMENT_ARGS", "a=1"),))  # of mod_include of 2.4, for SSI pages
    assert compare(old, args) is None
    behind = Answer(200, environment=(("REDIRECT_SSL_SESSION_RESUMED", "Initial"),))
    assert compare(old, behind) is None
    other = compare(Answer(200), new)
    assert other is not None and other.names == ("environment CONTEXT_PREFIX", "environment REQUEST_SCHEME")


@pytest.mark.parametrize(
    "name", ["Date", "Server", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive"]
)
def test_fields_of_the_moment_or_the_connection_are_ignored(name: str) -> None:
    assert name.lower() in VARIABLE
    assert compare(Answer(200, ((name, "1"),)), Answer(200, ((name, "2"),))) is None
    assert compare(Answer(200, ((name, "1"),)), Answer(200)) is None


@pytest.mark.parametrize(
    "name",
    ["Content-Type", "Content-Encoding", "Vary", "ETag", "Last-Modified", "Location", "Cache-Control", "X-Y"],
)
def test_other_fields_are_compared(name: str) -> None:
    found = compare(Answer(200, ((name, "a"),)), Answer(200, ((name, "b"),)))
    assert found is not None and found.names == (name.lower(),)


@pytest.mark.parametrize("name", ["Content-Type", "Content-Encoding"])
def test_types_of_pages_that_both_versions_word(name: str) -> None:
    old, new = (Answer(404, ((name, value),), is_built_in=True) for value in "ab")
    assert compare(replace(old, dialect="2.2"), new) is None
    assert compare(old, new) is not None


def test_times_of_generated_pages_are_compared_by_presence() -> None:
    old = Answer(200, (("Last-Modified", "a"),), is_built_in=True)
    assert compare(old, Answer(200, (("Last-Modified", "b"),), is_built_in=True)) is None
    assert compare(old, Answer(200, is_built_in=True)) is not None


@pytest.mark.parametrize(
    "name", ["CONTEXT_DOCUMENT_ROOT", "CONTEXT_PREFIX", "REQUEST_SCHEME", "SSL_SESSION_RESUMED", "cache-miss"]
)
def test_each_variable_of_2_4_alone(name: str) -> None:
    old, new = Answer(200, dialect="2.2"), Answer(200, environment=((name, "1"),))
    assert compare(old, new) is None
    assert compare(Answer(200), new) is not None
    assert compare(replace(new, dialect="2.2"), Answer(200)) is not None


@pytest.mark.parametrize(
    ("status", "is_compared"), [(200, True), (304, True), (403, False), (404, True), (500, False)]
)
def test_files_count_where_a_file_was_looked_for(status: int, is_compared: bool) -> None:
    found = compare(Answer(status, file="/a"), Answer(status, file="/b"))
    assert (found is not None) is is_compared


@pytest.mark.parametrize(("status", "is_compared"), [(200, True), (302, True), (404, False)])
def test_handlers_count_where_one_answered(status: int, is_compared: bool) -> None:
    found = compare(Answer(status, handler="a"), Answer(status, handler="b"))
    assert (found is not None) is is_compared


def test_what_a_back_end_must_fulfil_is_compared() -> None:
    found = compare(Answer(200, back_end="a"), Answer(200, back_end="b"))
    assert found is not None and found.names == ("demands on the back end",)


def test_the_order_of_vary_says_nothing() -> None:
    """A cache reads the names as a set (RFC 9110, 12.5.5), on a line of each or all on one."""
    old = Answer(200, (("Vary", "User-Agent,Accept-Encoding"),))
    assert compare(old, Answer(200, (("Vary", "accept-encoding"), ("Vary", "User-Agent")))) is None
    found = compare(old, Answer(200, (("Vary", "User-Agent"),)))
    assert found is not None and str(found) == "vary: accept-encoding,user-agent -> user-agent"
