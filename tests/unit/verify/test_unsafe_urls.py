"""Question marks of requests in rewritten URLs: 302 of 2.2 is 403 of 2.4.60 (CVE-2024-38474, AH10508)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.verify.unsafe_urls import REASON
from whimbrel.verify.verification import Verdict, VerifyResult
from whimbrel.verify.verify import verify

CONF = """RewriteEngine On
RewriteRule ^/other - [F]
RewriteRule ^/alt/(.*)$ /neu/$1 [R=302,L{}]
<Directory "@ROOT@/htdocs">
    Options FollowSymLinks
    AllowOverride All
    Order allow,deny
    Allow from all
</Directory>
"""


def compared(root: Path, flag: str) -> VerifyResult:
    make_root(root)
    texts = CONF.format(""), CONF.format(flag)
    return verify(side(root, "old", texts[0], "2.2"), side(root, "new", texts[1], "2.4"))


def test_a_refused_question_mark_is_a_difference_with_its_rule(tmp_path: Path) -> None:
    result = compared(tmp_path, "")
    (group,) = [group for group in result.groups if group.reason == REASON]
    assert result.verdict is Verdict.DIFFERENT
    assert {(one.old.status, one.new.status) for one in group.examples} == {(302, 403)}
    for lines in (group.cause.old, group.cause.new):
        assert [line.text for line in lines] == ["RewriteRule ^/alt/(.*)$"]


@pytest.mark.parametrize("flag", [",UnsafeAllow3F"])
def test_the_flag_permits_it(flag: str, tmp_path: Path) -> None:
    assert not [group for group in compared(tmp_path, flag).groups if group.closes]
