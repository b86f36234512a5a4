"""Diffs: patch(1) makes the new file of the old one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whimbrel.syntax.edits import Edit, Group, apply
from whimbrel.upgrade.edits.diff import changed_lines, display_path, line_starts, unified_diff
from whimbrel.upgrade.source.line_map import LineEdits, LineMap

OLD = b"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n"


def diff(old: bytes, *edits: Edit) -> bytes:
    trace = LineMap()
    trace.steps.append(LineEdits(old, edits))
    return unified_diff("conf/x", old, apply(old, [Group(edits)]), trace)


def test_lines_of_edits_with_their_numbers() -> None:
    old = b"a\n  Order x\n  Deny y\nb\nMaxClients 5\n"
    edits = (Edit(2, 21, b"  Require z\n"), Edit(23, 33, b"MaxRequestWorkers"))
    starts = line_starts(old)
    assert starts == [0, 2, 12, 21, 23, 36]
    assert changed_lines(old, edits, starts) == (
        ((2, "Order x"), (3, "Deny y"), (5, "MaxClients 5")),
        ("Require z", "MaxRequestWorkers 5"),
    )
    assert changed_lines(old, (Edit(2, 2, b"new\n"),), starts) == ((), ("new",))


def test_one_line() -> None:
    assert diff(OLD, Edit(8, 9, b"E")).decode() == (
        "diff --git a/conf/x b/conf/x\n--- a/conf/x\n+++ b/conf/x\n@@ -2,7 +2,7 @@\n b\n"
        " c\n d\n-e\n+E\n f\n g\n h\n"
    )


def test_far_changes_are_hunks_of_their_own() -> None:
    assert diff(OLD, Edit(0, 2, b""), Edit(24, 24, b"m\n")).decode().splitlines()[3:] == [
        "@@ -1,4 +1,3 @@",
        "-a",
        " b",
        " c",
        " d",
        "@@ -10,3 +9,4 @@",
        " j",
        " k",
        " l",
        "+m",
    ]


def test_lines_that_are_written_again_are_no_change() -> None:
    assert diff(OLD, Edit(2, 8, b"b\nx\nd\n")).decode().splitlines()[3:] == [
        "@@ -1,6 +1,6 @@",
        " a",
        " b",
        "-c",
        "+x",
        " d",
        " e",
        " f",
    ]


def test_a_path_below_the_root() -> None:
    assert display_path("/r/conf/x", "/r") == "conf/x"
    assert display_path("/rest/x", "/r") == "/rest/x"


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch(1) is not installed")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_patch_agrees(tmp_path: Path, data: st.DataObject) -> None:
    lines = data.draw(st.lists(st.sampled_from(["a", "b", "\xe9", "", "c\r"]), max_size=30))
    old = "\n".join(lines).encode("latin-1") + data.draw(st.sampled_from([b"", b"\n"]))
    places = sorted(data.draw(st.sets(st.integers(0, len(old)), max_size=6)))
    texts = data.draw(st.lists(st.sampled_from([b"", b"x", b"y\n", b"z\nw\n"]), min_size=3, max_size=3))
    edits = [
        Edit(start, end, text)
        for (start, end), text in zip(zip(places[::2], places[1::2], strict=False), texts, strict=False)
    ]
    new = apply(old, [Group(tuple(edits))])
    (tmp_path / "x").write_bytes(old)
    (tmp_path / "d").write_bytes(diff(old, *edits))
    if old and new and old != new:
        subprocess.run(
            ["patch", "-s", "--binary", str(tmp_path / "x"), str(tmp_path / "d")], check=True, timeout=20
        )
        assert (tmp_path / "x").read_bytes() == new


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_reads_names_with_control_characters(tmp_path: Path) -> None:
    """A name may hold a line end, with which a header of its own could begin."""
    name = 'a"b\\c\n+++ b/other.conf'
    (tmp_path / 'a"b\\c\n+++ b').mkdir()
    (tmp_path / name).write_bytes(OLD)
    trace = LineMap()
    edits = (Edit(8, 9, b"E"),)
    trace.steps.append(LineEdits(OLD, edits))
    patch = unified_diff(name, OLD, apply(OLD, [Group(edits)]), trace)
    subprocess.run(["git", "apply", "-"], input=patch, cwd=tmp_path, check=True)
    assert (tmp_path / name).read_bytes() == OLD.replace(b"e", b"E")
    assert [path.name for path in tmp_path.rglob("*.conf")] == ["other.conf"]
