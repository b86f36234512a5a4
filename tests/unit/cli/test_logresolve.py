"""whimbrel logresolve equals httpd's logresolve: recorded cases, and what they cannot show."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest
from tests.unit.cli.utility_cases import Case, call, cases, same, title

from whimbrel.cli import logresolve
from whimbrel.utilities import usage


@pytest.mark.parametrize("case", cases("logresolve"), ids=title)
def test_as_recorded(case: Case, tmp_path: Path) -> None:
    assert same(tmp_path, case, usage.LOGRESOLVE)


def test_the_old_one(tmp_path: Path) -> None:
    log = (
        "127.0.0.1 - - a\nname.example - - x\n300.1.1.1 - - bad\n\n127.0.0.1\n"
        "::1 - - v6\n  127.0.0.1 lead\n127.0.0.1x y\n"
    )
    code, out, _ = call(tmp_path, ["logresolve", "--dialect", "2.2", "-s", "st"], log)
    assert (code, out) == (
        0,
        "localhost - - a\nname.example - - x\n300.1.1.1 - - bad\nlocalhost\n"
        "::1 - - v6\n  127.0.0.1 lead\n127.0.0.1x y\n",
    )
    assert (tmp_path / "st").read_text() == (
        "logresolve Statistics:\nEntries: 7\n    With name   : 5\n    Resolves    : 2\n"
        "Cache hits      : 1\nCache size      : 1\n"
        "Cache buckets   :     IP number * hostname\n  128        127.0.0.1 - localhost\n"
    )


def test_a_silent_resolver_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def silent(*words: object) -> object:
        asked.append(words)
        Event().wait(1)
        raise OSError

    monkeypatch.setattr(logresolve, "LOOKUP_TIMEOUT", 0.01)
    monkeypatch.setattr(logresolve.socket, "getnameinfo", silent)
    work = logresolve.LogResolver(double_lookup=False)
    assert [work.line(f"192.0.2.{n} x\n") for n in range(40)] == [f"192.0.2.{n} x\n" for n in range(40)]
    assert len(asked) == 20 and work.unknown == 40
