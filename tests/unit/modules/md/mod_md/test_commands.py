"""Programs of administrators."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.modules.md.mod_md import commands


@pytest.mark.parametrize(
    ("line", "words"),
    [  # apr_tokenize_to_argv
        ("/a b  c", ["/a", "b", "c"]),
        ("/a \"b c\" 'd e'", ["/a", "b c", "d e"]),
        ("/a b\\ c", ["/a", "b c"]),
        ("", []),
        ("  ", []),
    ],
)
def test_words(line: str, words: list[str]) -> None:
    assert commands.words(line) == words


def test_exit_codes(tmp_path: Path) -> None:
    script = tmp_path / "run"
    script.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/out\nexit 3\n')
    script.chmod(0o755)
    assert commands.run(f"{script} a", "b", "c d") == 3
    assert (tmp_path / "out").read_text() == "a b c d\n"
    assert commands.run("/bin/true") == 0


@pytest.mark.parametrize("line", ["", "/nonexistent", "/tmp"])
def test_programs_that_cannot_run(line: str) -> None:
    assert commands.run(line) == commands.FAILED


def test_a_program_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "LONGEST", 0.05)
    assert commands.run("/bin/sleep 20") == commands.FAILED
