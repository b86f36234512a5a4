"""Comments that exempt lines from rules."""

from __future__ import annotations

import pytest

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


def test_comments_for_one_line_add_up() -> None:
    # an editor that records a second decision writes a second comment below the first
    data = b"# whimbrel: ignore[C17]\n# whimbrel: ignore[C20]\nOrder deny,allow # whimbrel: ignore[DIFF]\n"
    assert suppressions(data) == {3: frozenset({"C17", "C20", "DIFF"})}
    assert suppressions(b"# whimbrel: ignore\n# whimbrel: ignore[C17]\nListen 80\n") == {
        3: frozenset({"C17"})
    }
    assert suppressions(b"# whimbrel: ignore[C17], whimbrel: ignore [C20]\nListen 80\n") == {
        2: frozenset({"C17", "C20"})
    }


@pytest.mark.parametrize(
    "rest", ["[C17", "[C17;X01]", "[C-17]", "[]", "[ , ]", "(C17)", " C17", ": C17", "d by us"]
)
def test_a_faulty_list_of_rules_exempts_nothing(rest: str) -> None:
    assert suppressions(f"# whimbrel: ignore{rest}\nListen 80\n".encode()) == {}


def test_a_reason_behind_a_mark_is_no_list() -> None:
    assert suppressions(b"# whimbrel: ignore, since 2019\nListen 80\n") == {2: frozenset()}
    assert suppressions(b"# whimbrel: ignore[C17,\tX01] asked for by C20\nListen 80\n") == {
        2: frozenset({"C17", "X01"})
    }
