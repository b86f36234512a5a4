"""R16: 2.2 compares the word `expr` with the pattern, as its recorded message about "(" shows; 2.4 evaluates.

The recording core-rewrite-0097 has `cannot compile regular expression '('` for 2.2.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree
from tests.unit.verify.sites import make_root, side

from whimbrel.upgrade.rules.rewriting.r16_condition_expressions import RULE
from whimbrel.verify.verification import Verdict
from whimbrel.verify.verify import verify

NEVER = ", which never holds;"
ALWAYS = ", which always holds;"


@pytest.mark.parametrize(
    ("condition", "result"),
    [
        ('expr "%{REQUEST_URI} =~ m#^/a#"', NEVER),
        ('"expr" "true"', NEVER),
        ("EXPR ^exp", NEVER),
        ("EXPR ^exp [NC]", ALWAYS),
        ("expr !true", ALWAYS),
        ("expr .", ALWAYS),
        ("expr -f", ";"),
        ("expr =expr", ";"),
        ("expr (", ";"),
        ("%{QUERY_STRING} expr", None),
        ("xexpr true", None),
    ],
)
def test_the_finding_names_the_result_of_22(tmp_path: Path, condition: str, result: str | None) -> None:
    text = f"RewriteEngine On\nRewriteCond {condition}\nRewriteRule ^ - [F]\n"
    found = list(RULE.check(config_tree(tmp_path, {"conf/httpd.conf": text})))
    assert [finding.place.line for finding in found] == ([] if result is None else [2])
    if result is not None:
        assert f"with this pattern{result} 2.4 evaluates an expression" in found[0].message


def test_verify_finds_the_difference_with_the_condition(tmp_path: Path) -> None:
    """The expression holds in 2.4 alone, where it forbids /private."""
    make_root(tmp_path)
    text = (
        'RewriteEngine On\nRewriteCond expr "%{REQUEST_URI} =~ m#^/private#"\nRewriteRule ^ - [F]\n'
        "<Directory @ROOT@/htdocs>\nOptions FollowSymLinks\n</Directory>\n"
    )
    old = side(tmp_path, "old", text, "2.2")
    new = side(tmp_path, "new", text + "<Location />\nRequire all granted\n</Location>\n", "2.4")
    result = verify(old, new)
    assert result.verdict is Verdict.DIFFERENT
    pairs = {
        (one.old.status, one.new.status, one.probe.target.startswith("/private"))
        for group in result.groups
        for one in group.examples
    }
    assert (200, 403, True) in pairs
    naming = [
        group
        for group in result.groups
        if any(line.text.startswith("RewriteCond expr") for line in (*group.cause.old, *group.cause.new))
    ]
    assert len(naming) == 1, "a redirect and a page that become a refusal are one difference"
