"""Lists of entity tags: as httpd 2.4.71 compares them."""

from __future__ import annotations

import time

import pytest

from whimbrel.http.semantics.conditional import find_etag_strong, find_etag_weak

NEGOTIATED = '"2-5af3107a40000;57-5af3107a40000'  # the form of MultiViews: without its last quote


@pytest.mark.parametrize(
    ("value", "etag", "strong", "weak"),
    [
        ('"a"', '"a"', True, True),
        ('W/"a"', '"a"', False, True),
        ('"b", "a"', '"a"', True, True),
        ('W/"b", "a"', '"a"', False, True),  # a weak member ends the search for a strong one
        ('b, "a"', '"a"', False, False),  # a word that is no tag ends both
        ('"a""', '"a"', False, False),  # a quote without an end goes on to the end of the field
        ('"a', '"a"', False, False),
        (NEGOTIATED, NEGOTIATED, True, True),
        (f'"a", {NEGOTIATED}', NEGOTIATED, True, True),
        (f'{NEGOTIATED}, "a"', NEGOTIATED, False, False),
        (f'{NEGOTIATED}"', NEGOTIATED, False, False),
    ],
)
def test_lists(value: str, etag: str, strong: bool, weak: bool) -> None:
    assert (find_etag_strong(value, etag), find_etag_weak(value, etag)) == (strong, weak)


@pytest.mark.parametrize(
    "value", ["a" + " " * 8000 + ",", '"' * 8000, '"a ' * 2700, "W/" * 4000, "\\" * 8000, "a " * 4000]
)
def test_long_lists_of_tags_are_read_in_linear_time(value: str) -> None:
    begun = time.process_time()
    assert not find_etag_weak(value, '"x"')
    assert not find_etag_strong(value, '"x"')
    assert time.process_time() - begun < 0.25
