"""Comments that exempt lines from rules."""

from __future__ import annotations

from whimbrel.upgrade.source.suppressions import suppressions


def test_a_comment_speaks_about_the_next_line_that_is_none() -> None:
    data = b"# whimbrel: ignore[C17,x01]\n# more\nOrder deny,allow\nDeny from all\n"
    assert suppressions(data) == {3: frozenset({"C17", "X01"})}


def test_a_mark_in_a_line_speaks_about_that_line() -> None:
    assert suppressions(b"Order deny,allow\n  Deny from all # whimbrel: ignore\n") == {2: frozenset()}


def test_other_comments_say_nothing() -> None:
    assert suppressions(b"# whimbrel ignores nothing\nwhimbrel: ignore\n#whimbrel: keep\n") == {}


def test_a_mark_at_the_end() -> None:
    assert suppressions(b"Listen 80\r\n# whimbrel: ignore[ C07 ]\r\n") == {3: frozenset({"C07"})}
