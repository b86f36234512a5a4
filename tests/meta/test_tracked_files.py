"""Text that must not stand in a file of the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.meta.tree import ROOT, assert_none, tracked

# Written in pieces, so this file does not match its own patterns.
STUB = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b|pragma: no " r"cover")
NOT_DONE = re.compile("NotImplementedError")
INDEX_HOST = re.compile(
    r"\b(?:py"
    r"pi|python"
    r"hosted|npm"
    r"js|crates)\.(?:org|com|io)\b"
    r"|\bindex-"
    r"url\s+[^\s-]|\bfind-"
    r"links\s+[^\s-]|\btrusted-"
    r"host\s+[^\s-]"
)
MACHINE_PATH = re.compile(r"(?<![\w.@%}*/-])/(?:wo" r"rk|ro" r"ot)/\w|(?<![\w.@%}*/-])/ho" r"me/[a-z]\w*/\w")


def lines(path: Path) -> list[str]:
    """Return the lines of a text file; none of a binary one."""
    data = path.read_bytes()
    return [] if b"\0" in data else data.decode("latin-1").split("\n")


def hits(pattern: re.Pattern[str], *below: str) -> list[str]:
    """Return every line of a tracked file with *pattern*: in all files, or in the Python files of some
    directories.
    """
    chosen = [
        p for p in tracked() if not below or (p.suffix == ".py" and p.relative_to(ROOT).parts[0] in below)
    ]
    return [
        f"{p.relative_to(ROOT)}:{n}: {line.strip()[:100]}"
        for p in chosen
        for n, line in enumerate(lines(p), 1)
        if pattern.search(line)
    ]


@pytest.fixture(autouse=True)
def _version_control() -> None:
    if not tracked():
        pytest.skip("no git here, or no repository: nothing is tracked")


def test_no_stub_words() -> None:
    assert_none(hits(STUB, "src", "tests", "bench", "tools"))


def test_nothing_is_left_unimplemented() -> None:
    assert_none(hits(NOT_DONE, "src"))


def test_no_package_index() -> None:
    assert_none(hits(INDEX_HOST))


def test_no_path_of_somebodys_machine() -> None:
    assert_none(hits(MACHINE_PATH))


def test_the_patterns_find_what_they_look_for() -> None:
    assert INDEX_HOST.search("see {}.org/simple".format("py" + "pi"))
    assert MACHINE_PATH.search('"/{}/jane/src"'.format("home"))
    assert MACHINE_PATH.search("in /{}/a".format("work"))
    assert not MACHINE_PATH.search("UserDir /home/*/public_html") and not MACHINE_PATH.search("htdocs/work/x")
