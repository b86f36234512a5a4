"""Lines about access behind a redirect of every request: decided if they decide alike without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.verify.verification import Verdict, VerifyResult
from whimbrel.verify.verify import verify

EVERY = "RewriteEngine On\nRewriteRule ^/(.*)$ https://www.example.com/$1 [R=301,L]\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_root(tmp_path)
    return tmp_path


def compared(root: Path, redirect: str, old: str, new: str) -> VerifyResult:
    """Compare two texts of 2.4 with lines of <Location /> behind *redirect*."""
    texts = [f"{redirect}<Location />\n{lines}\n</Location>\n" for lines in (old, new)]
    return verify(side(root, "old", texts[0], "2.4"), side(root, "new", texts[1], "2.4"))


ANY = "<RequireAny>\nRequire ip 10.0.0.1\nRequire ip 10.0.0.2\n</RequireAny>"
BOTH = "Require ip 10.0.0.1 10.0.0.2"


@pytest.mark.parametrize(
    "redirect",
    [
        EVERY,
        "Redirect permanent / https://www.example.com/\n",
        "RedirectMatch ^(.*)$ https://www.example.com$1\n",
    ],
)
def test_lines_that_decide_alike_need_no_request(root: Path, redirect: str) -> None:
    result = compared(root, redirect, BOTH, ANY)
    assert result.verdict is Verdict.SAME, result.not_decided


def test_lines_that_decide_otherwise_stay_undecided(root: Path) -> None:
    result = compared(root, EVERY, BOTH, "Require ip 10.0.0.1")
    assert result.verdict is Verdict.NOT_DECIDED
    reasons = [one.reason for one in result.not_decided]
    assert any(
        "Require ip 10.0.0.1 10.0.0.2: no request that was asked reaches it" in reason for reason in reasons
    )


def test_a_rule_that_maps_urls_to_other_paths_leaves_the_lines_undecided(root: Path) -> None:
    """Requests meet other sections than those of their URLs."""
    rule = "RewriteEngine On\nRewriteRule ^/in/(.*)$ /htdocs/$1\n" + EVERY.partition("\n")[2]
    assert compared(root, rule, BOTH, ANY).verdict is Verdict.NOT_DECIDED
