"""whimbrel htdbm equals httpd's htdbm: recorded cases, and what they cannot show."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.cli.utility_cases import Case, call, cases, same, title

from whimbrel.utilities import usage


@pytest.mark.parametrize("case", cases("htdbm"), ids=title)
def test_as_recorded(case: Case, tmp_path: Path) -> None:
    assert same(tmp_path, case, usage.HTDBM)


@pytest.mark.parametrize("kind", ["SDBM", "DB"])
def test_a_life(kind: str, tmp_path: Path) -> None:
    def htdbm(*words: str) -> tuple[int, str, str]:
        return call(tmp_path, ["htdbm", f"-T{kind}", *words])

    head = "Dumping records from database -- d\n    Username                         Comment\n"
    assert htdbm("-cbst", "d", "ann", "x", "a comment") == (0, "Database d created.\n", "")
    assert htdbm("-bs", "d", "bob", "y") == (0, "Database d updated.\n", "")
    assert htdbm("-bs", "d", "bob", "z") == (0, "Database d modified.\n", "")
    assert htdbm("-vb", "d", "bob", "z") == (0, "", "Password validated for user 'bob'\n")
    assert htdbm("-vb", "d", "bob", "y") == (3, "", "Password mismatch for user 'bob'\n")
    assert htdbm("-x", "d", "bob") == (0, "Database d modified.\n", "")
    assert htdbm("-x", "d", "bob") == (6, "", "Cannot find user 'bob' in database\n")
    assert htdbm("-l", "d") == (
        0,
        "",
        head + "    ann                              a comment\nTotal #records : 1\n",
    )


def test_the_old_one_warns_of_crypt(tmp_path: Path) -> None:
    code, _, said = call(tmp_path, ["htdbm", "--dialect", "2.2", "-nbd", "u", "secret"])
    assert code == 0 and said.startswith("CRYPT is now deprecated, use MD5 instead!\nu:")
