"""Walks over nested lines: their order, and work that is linear in deep text."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.access.layers import AccessLine
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.rules import all_rules
from whimbrel.upgrade.source.walk import walk


def nested(depth: int) -> AccessLine:
    line = AccessLine("require", "require all granted")
    for _ in range(depth):
        line = AccessLine("requireall", "", children=(line,))
    return line


def test_lines_follow_their_container() -> None:
    lines = [nested(2), AccessLine("order", "order x")]
    assert [line.name for line in walk(lines)] == ["requireall", "requireall", "require", "order"]
    assert [line.name for line in walk(lines, lambda line: ())] == ["requireall", "order"]


def test_deep_lines_need_no_recursion() -> None:
    assert sum(1 for _ in walk([nested(20_000)])) == 20_001


@pytest.mark.parametrize(
    "opening", ["<IfModule x>", "<IfModule mod_php5.c>", "<IfDefine !X>", "<Directory /x>"]
)
def test_the_rules_take_linear_work(opening: str, tmp_path: Path) -> None:
    """Calls of all rules: four times the depth takes about four times the calls; quadratic work takes
    sixteen.
    """
    few, many = (
        _calls(lambda depth=depth: _upgrade(tmp_path / str(depth), opening, depth))  # type: ignore[misc]
        for depth in (12, 48)
    )
    assert many < 8 * few


def _upgrade(root: Path, opening: str, depth: int) -> None:
    names = [line.strip("<>").split()[0] for line in opening.splitlines()]
    closing = "".join(f"</{name}>\n" for name in reversed(names))
    text = f"{opening}\n" * depth + "Order allow,deny\nAllow from all\n" + closing * depth
    tree = config_tree(root, {"conf/httpd.conf": text})
    result = upgrade(tree, all_rules())
    assert result.findings


def _calls(function: Callable[[], None]) -> int:
    """Return the number of calls and resumptions of generators in *function*."""
    count = 0

    def counted(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count
