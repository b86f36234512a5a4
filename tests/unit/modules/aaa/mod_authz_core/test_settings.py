"""AuthMerging: the trees that 2.4.71 logged (authz_core:debug) for one <Directory> and several
<LocationMatch>.
"""

from __future__ import annotations

import pytest

from whimbrel.modules.aaa.mod_authz_core.settings import AuthzCoreDirConfig, Rule
from whimbrel.registry.settings import merge, with_defaults


def layer(rule: str = "", op: str = "") -> AuthzCoreDirConfig:
    record = AuthzCoreDirConfig()
    if rule:
        record.section = Rule(rule, methods=-1)
    if op:
        record.op = op
    return record


def shown(rule: Rule | None) -> str:
    if rule is None:
        return "-"
    return f"({f' {rule.op} '.join(map(shown, rule.children))})" if rule.merged else rule.name


@pytest.mark.parametrize(
    ("first", "second", "tree"),
    [
        (("A", ""), ("B", "and"), "(D and (A and B))"),
        (("A", "or"), ("B", "and"), "(D and (A and B))"),
        (("A", "or"), ("", ""), "(D or A)"),
        (("", "or"), ("B", ""), "B"),
        (("A", ""), ("", "and"), "(D and A)"),
        (("A", "or"), ("", "and"), "(D and A)"),
        (("A", "or"), ("B", "off"), "B"),
        (("A", "or"), ("B", ""), "B"),
        (("A", "or"), ("", "off"), "-"),
    ],
)
def test_sections_of_one_walk_are_merged_first(
    first: tuple[str, str], second: tuple[str, str], tree: str
) -> None:
    merged = merge(layer("D"), merge(layer(*first), layer(*second)))
    assert shown(with_defaults(merged).section) == tree


def test_directories_are_merged_in_turn() -> None:
    merged = merge(merge(layer("A"), layer("B", "and")), layer("C", "or"))
    assert shown(with_defaults(merged).section) == "((A and B) or C)"


def test_a_nested_section_is_merged_over_the_result_of_its_container() -> None:
    """<If> in <If>: apache2 refuses what neither A nor B admits, whatever D is."""
    assert shown(with_defaults(merge(merge(layer("D"), layer("A")), layer("B", "or"))).section) == "(A or B)"
    assert shown(with_defaults(merge(merge(layer("D"), layer("A")), layer("", "or"))).section) == "A"


def test_a_section_that_only_sets_a_flag_keeps_the_tree() -> None:
    over = layer()
    over.forbidden = True
    merged = with_defaults(merge(layer("D"), over))
    assert (shown(merged.section), merged.forbidden) == ("D", True)
