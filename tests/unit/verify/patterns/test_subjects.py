"""The texts that variables can have: each variable with one of its texts and one that it never has."""

from __future__ import annotations

import pytest

from whimbrel.access.patterns import classes
from whimbrel.verify.patterns.languages import Pattern, Relation, Subjects, compare_patterns
from whimbrel.verify.patterns.subjects import any_subject, subjects_of

TEXTS = {
    "url": ("/a/b", "a/b"),
    "relative url": ("a/b", "/a/b"),
    "file": ("a.html", "a/b"),
    "request_uri": ("/", ""),
    "http_host": ("www.a-b.test", "a..b"),
    "server_name": ("a.test", "-a"),
    "remote_host": ("c.test", "c test"),
    "remote_addr": ("192.168.249.0", "192.168.256.0"),
    "request_method": ("PROPFIND", "get"),
    "the_request": ("GET /a?b HTTP/1.0", "GET a HTTP/1.1"),
    "request_protocol": ("HTTP/1.0", "HTTP/2.0"),
    "server_protocol": ("HTTP/1.1", "http/1.1"),
    "https": ("off", "yes"),
    "request_scheme": ("https", "ftp"),
    "query_string": ("a=b&c", "a b"),
    "args": ("", "a#b"),
    "directory": ("/srv/www/a", "/srv/other"),
    "request_filename": ("/srv/www/a.html", "/srv/wwwa"),
    "script_filename": ("/srv/www", "/etc/passwd"),
    "time_year": ("2026", "1979"),
    "time_mon": ("12", "13"),
    "time_day": ("31", "32"),
    "time_hour": ("23", "24"),
    "time_min": ("59", "60"),
    "time_sec": ("00", "60"),
    "time_wday": ("0", "7"),
    "time": ("20261128235959", "20261329235959"),
    "User-Agent": ("Mozilla 5.0", " Mozilla"),
    "Referer": ("", "a "),
}


def holds(subjects: Subjects, text: str) -> bool:
    """Return True if *text* is one of the subjects."""
    members = all(subjects.members >> ord(one) & 1 for one in text)
    return members and Pattern(subjects.pattern).holds(text)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("is_mixed", [False, True])
def test_each_variable(name: str, is_mixed: bool) -> None:
    for spelled in (name, name.upper()):
        subjects = subjects_of(spelled, ("/srv/www/", "/var/w.w"), is_mixed=is_mixed)
        assert [holds(subjects, text) for text in TEXTS[name]] == [True, False]


@pytest.mark.parametrize("name", ["request_uri", "directory", "env_variable", "a b", ""])
def test_line_feeds_are_left_to_one_dialect(name: str) -> None:
    """The versions match them otherwise in any pattern."""
    for is_mixed in (False, True):
        assert bool(subjects_of(name, ("/s",), is_mixed=is_mixed).members & classes.NEWLINE) is not is_mixed
        assert bool(any_subject(is_mixed=is_mixed).members & classes.NEWLINE) is not is_mixed


def test_no_text_has_a_zero_byte() -> None:
    assert not any_subject(is_mixed=False).members & 1


@pytest.mark.parametrize(
    ("first", "second", "name", "relation"),
    [
        ("^/a", "^//?a", "url", Relation.EQUAL),
        ("^(on|off)$", "", "https", Relation.EQUAL),
        ("^https?$", ".", "request_scheme", Relation.EQUAL),
        ("^[A-Z]+$", "(?i)^[A-Z]+$", "request_method", Relation.EQUAL),
        ("^https$", ".", "request_scheme", Relation.DIFFERENT),
    ],
)
def test_patterns_are_compared_for_possible_texts(
    first: str, second: str, name: str, relation: Relation
) -> None:
    subjects = subjects_of(name, (), is_mixed=False)
    assert compare_patterns(Pattern(first), Pattern(second), subjects).relation is relation
