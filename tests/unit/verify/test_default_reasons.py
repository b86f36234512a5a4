"""Differences of versions because a line is missing: the defaults of Options and AllowOverride (upgrading to
2.4, core).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.verify.default_reasons import OF_OPTIONS, OF_OVERRIDES
from whimbrel.verify.verification import ALL_ADMITTED, DifferenceGroup, access_differences
from whimbrel.verify.verify import verify

CONF = '<Directory "@ROOT@/htdocs">\n%sOrder allow,deny\nAllow from all\n</Directory>\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_root(tmp_path, {"htdocs/open/a.txt": "x\n", "htdocs/private/.htaccess": "Redirect /private/old /\n"})
    return tmp_path


def groups(root: Path, lines: str) -> list[DifferenceGroup]:
    return verify(side(root, "old", CONF % lines, "2.2"), side(root, "new", CONF % lines, "2.4")).groups


def test_without_options_the_default_is_the_cause(root: Path) -> None:
    """No line that grants access is named: both versions grant it."""
    (found,) = [group for group in groups(root, "AllowOverride All\n") if group.reason == OF_OPTIONS]
    assert found.cause.old == found.cause.new == ()
    assert {(one.old.status, one.new.status) for one in found.examples} == {(200, 403)}


def test_without_allowoverride_the_default_and_the_refused_line_are_the_cause(root: Path) -> None:
    (found,) = [group for group in groups(root, "Options All\n") if group.reason == OF_OVERRIDES]
    assert [line.text for line in found.cause.new] == ["Redirect /private/old /"]
    assert {one.new.status for one in found.examples} == {500}


@pytest.mark.parametrize("lines", ["Options All\nAllowOverride All\n", "Options None\nAllowOverride None\n"])
def test_lines_are_no_defaults(root: Path, lines: str) -> None:
    assert not {group.reason for group in groups(root, lines)} & {OF_OPTIONS, OF_OVERRIDES}


def test_a_refused_line_of_a_htaccess_file_is_a_matter_of_everybody(root: Path) -> None:
    """The line is refused before the client is looked at; other examples name their client."""
    found = list(access_differences(groups(root, "Options All\n")))
    assert {(one.before, one.after) for one in found} == {(200, 500), (302, 500)}
    assert {one.client for one in found} == {ALL_ADMITTED}
