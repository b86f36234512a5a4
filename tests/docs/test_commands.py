"""The commands of the pages that a new user follows print what the pages show."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.docs.console import Console, is_as_expected, steps
from tests.meta.tree import ROOT

PAGES: Final = sorted(
    path.name for path in (ROOT / "docs").glob("*.md") if "```console" in path.read_text(encoding="utf-8")
)
PROGRAMS: Final = ("bash", "curl", "grep", "openssl", "sed")
PACKAGES: Final = {"ssl_module": "cryptography", "md_module": "acme"}
"""Modules that pages load -> the optional packages that they need."""


def need(page: str) -> None:
    """Skip a test of *page* where a program or an optional package is absent."""
    found = list(steps(page))
    words = {"bash", *(step.text.split()[0] for step in found if step.kind != "file")}
    absent = sorted(program for program in words & {*PROGRAMS} if shutil.which(program) is None)
    if absent:
        pytest.skip(f"not here: {', '.join(absent)}")
    for module, package in PACKAGES.items():
        if any(step.kind == "file" and module in step.text for step in found):
            pytest.importorskip(package, reason=f"no {package} here: {page} loads {module}")


@pytest.fixture
def directory() -> Iterator[Path]:
    """Return a directory that workers of another user can reach, as one in a home."""
    with tempfile.TemporaryDirectory(prefix="whimbrel-page-") as name:
        Path(name).chmod(0o755)
        work = Path(name, "work")
        work.mkdir()
        yield work


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page(page: str, directory: Path) -> None:
    need(page)
    with Console(directory) as console:
        for step in steps(page):
            console.check_step(step)


def test_the_walk_is_among_the_pages() -> None:
    commands = [step.text for step in steps("ten-minutes.md") if step.kind == "command"]
    assert "ten-minutes.md" in PAGES and len(commands) > 15
    for word in ("example", "check", "upgrade", "verify"):
        assert any(command.startswith(f"whimbrel {word} ") for command in commands), word


@pytest.mark.parametrize(
    ("expected", "printed", "result"),
    [
        ("a\n", "a", True),
        ("a\n", "b", False),
        ("a\n", "a\nb", False),
        ("a\n...\n", "a\nb\nc", True),
        ("...\nc\n", "a\nb\nc", True),
        ("...\nd\n", "a\nb\nc", False),
        ("a...c\n", "abbc", True),
        ("a...c\n", "a\nc", False),
        ("", "", True),
        ("", "a", False),
    ],
)
def test_expected_lines(expected: str, printed: str, result: bool) -> None:
    assert is_as_expected(expected, printed) is result
