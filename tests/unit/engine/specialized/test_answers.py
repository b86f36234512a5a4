"""What shows that a response is about one name alone."""

from __future__ import annotations

import pytest

from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.specialized.answers import _is_named, _marked
from whimbrel.engine.specialized.split_path import split_path


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (b"/dir/page", b"<p>/dir/page is not here</p>", True),
        (b"/dir/page", b"the page", True),
        (b"/dir/page", b"not here", False),
        (b"/dir/no", b"not here", False),
        (b"/dir/no", b"/dir/no", True),
        (b"/no", b"not here", True),
    ],
)
def test_a_response_with_the_name_or_the_path(path: bytes, text: bytes, expected: bool) -> None:
    split = split_path(b"GET %b HTTP/1.1" % path)
    assert split is not None and _is_named(text, split) is expected


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("denied: /srv/dir/page", "denied: \0w"),
        ("denied: /dir/page", "denied: \0p"),
        ("denied", "denied"),
        ("denied: page", None),
        ("denied\0", None),
    ],
)
def test_error_log_lines_are_marked_where_the_name_is(text: str, marked: str | None) -> None:
    split = split_path(b"GET /dir/page HTTP/1.1")
    assert split is not None
    found = _marked((LogLine("error", text),), split, "/srv/dir/page")
    assert (None if found is None else found[0].text) == marked


def test_a_name_that_a_directory_has_too_is_not_marked() -> None:
    split = split_path(b"GET /dir/page HTTP/1.1")
    assert split is not None
    assert _marked((LogLine("error", "denied: /page/dir/page"),), split, "/page/dir/page") is None
