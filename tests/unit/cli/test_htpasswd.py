"""whimbrel htpasswd equals httpd's htpasswd: recorded cases, and what they cannot show."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.cli.utility_cases import Case, call, cases, same, title

from whimbrel.utilities import usage


@pytest.mark.parametrize("case", cases("htpasswd"), ids=title)
def test_as_recorded(case: Case, tmp_path: Path) -> None:
    assert same(tmp_path, case, usage.HTPASSWD)


def test_the_old_one_knows_less(tmp_path: Path) -> None:
    assert call(tmp_path, ["htpasswd", "--dialect", "2.2", "-nbB", "u", "x"]) == (2, "", usage.HTPASSWD_22)
    assert call(tmp_path, ["htpasswd", "--dialect=2.2", "-cnb", "u", "x"]) == (
        2,
        "",
        "htpasswd: -c and -n options conflict\n",
    )


@pytest.mark.parametrize("option", ["-m", "-s", "-d", "-B", "-2", "-5"])
def test_what_is_stored_is_verified(option: str, tmp_path: Path) -> None:
    assert call(tmp_path, ["htpasswd", "-cb", option, "f", "ann", "pass"])[0] == 0
    assert call(tmp_path, ["htpasswd", "-vb", "f", "ann", "pass"]) == (
        0,
        "",
        "Password for user ann correct.\n",
    )
    assert call(tmp_path, ["htpasswd", "-vb", "f", "ann", "Pass"]) == (
        3,
        "",
        "password verification failed\n",
    )


def test_no_temporary_file_stays(tmp_path: Path) -> None:
    call(tmp_path, ["htpasswd", "-cbs", "f", "ann", "x"])
    call(tmp_path, ["htpasswd", "-bs", "f", "bob", "x"])
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
