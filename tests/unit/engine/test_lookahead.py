"""Look-ahead sub-requests: their number is bounded, and no condition decides beyond the bound."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.support.access_site import AccessSite

ROOT = '<Directory "@DOCROOT@">\nRequire all granted\n{}\n</Directory>\n'
NAMES = "abcde"


def _conditions(form: str, count: int) -> str:
    return ROOT.format("\n".join(form.format(name) for name in NAMES[:count]))


@pytest.mark.parametrize("count", [1, 2])
def test_conditions_that_httpd_evaluates_in_no_time_are_evaluated(tmp_path: Path, count: int) -> None:
    form = "<If \"! -U '/{}'\">\nRequire all denied\n</If>"
    assert AccessSite(tmp_path, _conditions(form, count)).status() == 403  # as apache2: no such file


@pytest.mark.parametrize(
    "form",
    [
        "<If \"-U '/{}'\">\nRequire all denied\n</If>",
        "<If \"-F '@DOCROOT@/{}'\">\nRequire all denied\n</If>",
        "<If \"! -A '/{}'\">\n</If>",
    ],
)
def test_a_client_gets_an_error_where_lookups_multiply(tmp_path: Path, form: str) -> None:
    """The sub-requests of one look-ahead are bounded; a condition that stays undecided gives 500."""
    begun = time.monotonic()
    assert AccessSite(tmp_path, _conditions(form, 5)).status() == 500
    assert time.monotonic() - begun < 5
