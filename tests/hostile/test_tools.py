"""Commands over hostile trees, a part of the measure `tools` (make hostile)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.hostile.tools import BOUNDS, faults, lay_bounds, nested, run
from tests.support.hostile_tree import HostileTree
from tests.support.samples import amount

KINDS = ("check", "explain", "replay", "rewrite-test", "upgrade", "verify")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> HostileTree:
    made = HostileTree(tmp_path_factory.mktemp("hostile"))
    made.add_links()
    (made.top / "state").mkdir(mode=0o700)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_runs_no_program_and_changes_nothing_outside(kind: str, tree: HostileTree) -> None:
    """One command of each kind, of requests the one for a CGI script."""
    chosen = [one for one in tree.commands() if one[0] == kind]
    arguments = next((one for one in chosen if "--write" in one or one[-1].endswith("/a.cgi")), chosen[-1])
    before = tree.outside()
    outcome = run(arguments, tree.top / "state")
    assert list(faults(outcome)) == []
    assert tree.left_marks() == []
    assert tree.outside() == before


def test_the_tree_is_hostile(tree: HostileTree) -> None:
    """The program that everything names does leave a mark."""
    assert os.spawnv(os.P_WAIT, str(tree.program), [str(tree.program), "test"]) == 0
    marks = tree.left_marks()
    for mark in marks:
        (tree.marks / mark).unlink()
    assert len(marks) == 1 and marks[0].endswith("-test")


AT_THE_LIMITS = ("FIFOs", "devices", "sparse files", "loops of links", "own Include", "names")
"""Trees that verify reads, each second one but in a nightly run."""


@pytest.mark.parametrize("name", AT_THE_LIMITS[:: amount(2, 1)])
def test_a_tree_at_the_limits_gets_an_answer(name: str, tmp_path: Path) -> None:
    lay_bounds(tmp_path / "tree", BOUNDS[name])
    outcome = run(["verify", "--old-dialect", "2.4", "-d", str(tmp_path / "tree")], tmp_path / "state")
    assert list(faults(outcome)) == []
    assert outcome.status in (0, 1, 2, 3) and outcome.output


NESTED = {
    "deep requirements": lambda root: nested(root, "RequireAll", amount(10_000, 100_000)),
    "deepest conditions": BOUNDS["deepest conditions"],
}


@pytest.mark.parametrize("name", NESTED)
def test_nested_sections_get_an_answer(name: str, tmp_path: Path) -> None:
    root = tmp_path / "tree"
    lay_bounds(root, NESTED[name])
    for arguments in (
        ["check", "-d", str(root)],
        ["fmt", "--check", str(root)],
        ["explain", "-d", str(root), "http://bounds.test:8080/x"],
    ):
        outcome = run(arguments, tmp_path / "state")
        assert list(faults(outcome)) == []
        assert outcome.status in (0, 1, 2, 3) and outcome.output
