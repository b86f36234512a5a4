"""Lines about access in directories that no URL has: decided if sides with an Alias for them decide alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.base.errors import SourceLocation
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.source.suppressions import OF_COMMENT
from whimbrel.verify.recorded_decisions import mark_decided
from whimbrel.verify.side import Side
from whimbrel.verify.verification import VerifyResult
from whimbrel.verify.verify import verify

HOST = '<VirtualHost *:8080>\nServerName www.example.com\nDocumentRoot "@ROOT@/www"\n</VirtualHost>\n'
"""The only host: no request enters the main server, whose DocumentRoot is another directory."""
CLOSED = "Order deny,allow\nDeny from all\nAllow from 10.0.0.0/8"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_root(tmp_path, {"www/index.html": "home\n"})
    return tmp_path


def compared(root: Path, old: str, new: str, more: str = "", section: str = "@ROOT@/htdocs") -> VerifyResult:
    """Compare a text of 2.2 with one of 2.4 whose sections of the unserved directory have *old* and *new*."""
    texts = [
        f'{first}{HOST}{more}<Directory "{section}">\n{lines}\n</Directory>\n'
        for first, lines in (("NameVirtualHost *:8080\n", old), ("", new))
    ]
    return verify(side(root, "old", texts[0], "2.2"), side(root, "new", texts[1], "2.4"))


@pytest.mark.parametrize("section", ["@ROOT@/htdocs", "@ROOT@/htdocs/", "@ROOT@/nowhere"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Order allow,deny\nAllow from all", "Require all granted"),
        (CLOSED, "Require ip 10.0.0.0/8"),
        (f'<Files "x.txt">\n{CLOSED}\n</Files>', '<Files "x.txt">\nRequire ip 10.0.0.0/8\n</Files>'),
    ],
)
def test_what_decides_alike_needs_no_request(root: Path, old: str, new: str, section: str) -> None:
    """The pairs are those of httpd's guide to the upgrade."""
    result = compared(root, old, new, section=section)
    assert not result.not_decided
    assert all(group.kind != "access" for group in result.groups)


@pytest.mark.parametrize("new", ["Require ip 10.0.0.0/16", "Require all granted", "Require ip 11.0.0.0/8"])
@pytest.mark.parametrize("more", ["", "RewriteEngine On\nRewriteRule ^ - [F]\n"])
def test_what_decides_otherwise_stays_undecided(root: Path, new: str, more: str) -> None:
    """No request shows it: it is no difference of answers. Hosts do not inherit RewriteRule lines."""
    result = compared(root, CLOSED, new, more)
    assert all(group.kind != "access" for group in result.groups)
    reasons = [one.reason for one in result.not_decided]
    wanted = f"{new}: no request that was asked reaches it"
    assert any(reason.endswith(wanted) for reason in reasons), reasons


def test_without_mod_alias_nothing_is_served(root: Path) -> None:
    """The sides do not load with an Alias, and nothing is known about the section."""
    text = f'{HOST}<Directory "@ROOT@/htdocs">\nRequire ip 10.0.0.1 10.0.0.2\n</Directory>\n'
    other = text.replace("10.0.0.1 10.0.0.2", "10.0.0.2 10.0.0.1")
    sides = [side(root, name, conf, "2.4") for name, conf in (("old", text), ("new", other))]
    for one in sides:
        path = Path(one.options.file)
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if "mod_alias.so" not in line))
    old, new = (Side.load(one.options, "2.4", name=one.name) for one in sides)
    assert old.is_loaded and new.is_loaded
    assert verify(old, new).not_decided


def test_a_comment_at_the_new_line_decides_about_the_old_ones(root: Path) -> None:
    """The three lines that have gone stand in the same section as the line that has their place."""
    result = compared(root, CLOSED, "Require ip 11.0.0.0/8")
    count = len(result.not_decided)
    assert count == 4  # Order, Deny and Allow of 2.2, and Require of 2.4
    place = next(iter(result.not_decided[-1].places[1]))
    mark_decided(result, [Finding("DIFF", SourceLocation(*place), OF_COMMENT)])
    assert not result.not_decided and len(result.decided_facts) == count
