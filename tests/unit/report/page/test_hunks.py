"""Unified diffs as pairs of numbered lines."""

from __future__ import annotations

from whimbrel.report.page.hunks import change_of

DIFF = b"""diff --git a/x b/x
--- a/x
+++ b/x
@@ -3,5 +3,4 @@
 kept
-old one\r
-old two
+new one
 kept
-gone
@@ -20 +18,2 @@ C17 a: b
 last
+--- added
\\ No newline at end of file
"""


def test_lines_are_paired_and_numbered_on_both_sides() -> None:
    change = change_of(DIFF)
    assert change.counts == (3, 2)
    assert change.words == "3 lines removed, 2 added"
    assert change.size == 7
    assert [hunk.reason for hunk in change.hunks] == ["", "C17 a: b"]
    pairs = [
        tuple(None if line is None else (line.sign, line.number, line.pieces[0][0]) for line in pair)
        for hunk in change.hunks
        for pair in hunk.pairs
    ]
    assert pairs == [
        (("", 3, "kept"), ("", 3, "kept")),
        (("-", 4, "old one"), ("+", 4, "new one")),
        (("-", 5, "old two"), None),
        (("", 6, "kept"), ("", 5, "kept")),
        (("-", 7, "gone"), None),
        (("", 20, "last"), ("", 18, "last")),
        (None, ("+", 19, "--- added")),
    ]
    assert change.numbers == {"new one": [4], "--- added": [19]}


def test_nothing_changes_in_an_empty_diff() -> None:
    assert change_of(b"") == ((), (0, 0), {}, 0)
