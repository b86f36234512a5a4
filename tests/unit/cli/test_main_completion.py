"""A shell that completes words runs no command, of none of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support import warm_command

from whimbrel.cli.main import COMMANDS
from whimbrel.cli.utility_table import COMPLETION, UTILITIES

CONF = "DocumentRoot .\nListen 127.0.0.1:1\nOrder allow,deny\n"
WORDS = {
    "ctl": "-d . -f httpd.conf start",
    "htpasswd": "-cb new alice secret",
    "htdbm": "-cb new alice secret",
    "htdigest": "-c new realm alice",
    "httxt2dbm": "-i httpd.conf -o new",
    "rotatelogs": "new 5M",
    "htcacheclean": "-p. -l1K -D",
    "logresolve": "-s new",
    "check": "httpd.conf",
    "directives": "",
    "explain": "C17",
    "example": "new",
    "fmt": "httpd.conf",
    "lsp": "",
    "upgrade": "-f httpd.conf --write",
    "serve": "httpd.conf",
    "studio": ".",
    "replay": "httpd.conf --old httpd.conf --new httpd.conf",
    "verify": "httpd.conf httpd.conf",
    "rewrite-test": "httpd.conf httpd.conf",
    "schema": "",
}
"""Command -> words with which it would print, write or start something at once."""


def completed(directory: Path, line: str) -> tuple[int, list[str], str]:
    """Return exit code, words and messages of a completion behind *line*, whose last word is incomplete."""
    environment = {
        **os.environ,
        COMPLETION: "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }
    found = warm_command.run([], cwd=directory, environment=environment, entry=warm_command.utility)
    return found.returncode, found.stdout.decode().split(), found.stderr.decode()


@pytest.mark.parametrize("name", [*COMMANDS, *UTILITIES])
def test_no_command_runs(name: str, tmp_path: Path) -> None:
    (tmp_path / "httpd.conf").write_text(CONF)
    code, words, messages = completed(tmp_path, f"whimbrel {name} {WORDS[name]} ")
    assert (code, messages) == (0, "")
    assert not any(" " in word or word.endswith(".") for word in words)
    assert [path.name for path in tmp_path.iterdir()] == ["httpd.conf"]
    assert (tmp_path / "httpd.conf").read_text() == CONF


def test_the_actions_of_ctl_are_words_and_one_of_them_starts_nothing(tmp_path: Path) -> None:
    assert completed(tmp_path, "whimbrel ctl gra") == (0, ["graceful", "graceful-stop"], "")
    assert "stop" in completed(tmp_path, "whimbrel ctl ")[1]


def test_options_are_completed_behind_the_version(tmp_path: Path) -> None:
    assert completed(tmp_path, "whimbrel --version che") == (0, ["check"], "")


def test_a_utility_named_beside_a_request_does_not_run(tmp_path: Path) -> None:
    environment = {**os.environ, COMPLETION: "complete_bash", "COMP_WORDS": "whimbrel che", "COMP_CWORD": "1"}
    words = ["htpasswd", "-cb", "new", "alice", "secret"]
    found = warm_command.run(words, cwd=tmp_path, environment=environment, entry=warm_command.utility)
    assert (found.stdout.split(), list(tmp_path.iterdir())) == ([b"check"], [])
