"""Explanations as trees of all steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, explained, side_of

from whimbrel.explain.step import ExplanationStep, RequestExplanation
from whimbrel.explain.trees import rendered, side_by_side, tree


def test_a_tree_names_files_and_lines(tmp_path: Path) -> None:
    explanation = explained(side_of(tmp_path), "/old/x")
    out = rendered(tree(explanation, str(tmp_path)), 200, is_colored=False)
    line = (tmp_path / "httpd.conf").read_text().split("\n").index("Redirect /old /new") + 1
    assert f"httpd.conf:{line}  Redirect /old /new" in out
    assert "\x1b[" not in out
    assert "\x1b[" in rendered(tree(explanation), 200, is_colored=True)


def test_both_sides_and_what_differs(tmp_path: Path) -> None:
    old = explained(side_of(tmp_path), "/old/x")
    new = explained(side_of(tmp_path, CONF.replace("Redirect /old", "Redirect /older")), "/old/x")
    out = rendered(side_by_side(old, new, ("before", "after")), 200, is_colored=False)
    assert "before: mapping: mod_alias" in out and "after: nothing" in out


def test_details_are_dim() -> None:
    """Faint is 2 of ECMA-48."""
    step = ExplanationStep("access", "Require x", "denied", detail="no such user")
    out = rendered(tree(RequestExplanation("GET /", "2.4", 403, steps=(step,))), 200, is_colored=True)
    assert "\x1b[2m (no such user)" in out


@pytest.mark.parametrize(("old", "new"), [(True, False), (False, True), (True, True)])
def test_a_side_that_does_not_load_has_no_steps_that_differ(tmp_path: Path, old: bool, new: bool) -> None:
    loaded = explained(side_of(tmp_path), "/old/x")
    broken = RequestExplanation("GET http://q/", "2.4", errors=("AH00526: Syntax error",))
    sides = [broken if is_broken else loaded for is_broken in (old, new)]
    out = rendered(side_by_side(sides[0], sides[1], ("before", "after")), 200, is_colored=False)
    assert "AH00526" in out and "steps that differ" not in out and "no step differs" not in out


def test_markup_and_escapes_are_text() -> None:
    hostile = RequestExplanation("GET /[red]\x1b[2J", "2.4", 200, errors=("a\n[b]\x07",))
    out = rendered(tree(hostile), 200, is_colored=True)
    assert "[red]\\x1b[2J" in out and "[b]\\x07" in out and "\x07" not in out


def test_sub_requests_of_a_listing_are_a_number() -> None:
    """A listing asks for each of its entries; a few sub-requests, as of an index, are shown."""
    steps = [ExplanationStep("mapping", "core")]
    steps += [ExplanationStep("sub-request", f"GET /list/{n}") for n in range(1500)]
    steps += [ExplanationStep("handler", "mod_autoindex")]
    steps += [ExplanationStep("sub-request", f"GET /few/{n}") for n in range(3)]
    explanation = RequestExplanation("GET /list/", "2.4", 200, steps=tuple(steps))
    out = rendered(tree(explanation, is_folded=True), 200, is_colored=False)
    assert "sub-requests: 1,500 (--all shows them)" in out and "/list/7" not in out
    assert out.count("GET /few/") == 3
    assert out.index("core") < out.index("1,500") < out.index("mod_autoindex") < out.index("/few/0")
    both = side_by_side(explanation, explanation, ("before", "after"), is_folded=True)
    assert rendered(both, 200, is_colored=False).count("1,500") == 2
    assert rendered(tree(explanation), 200, is_colored=False).count("/list/") == 1501
