"""The table of extras, and the sentence about a missing package. Expected: the extras of pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from whimbrel.base.extras import EXTRAS, IMPORTS, not_installed, pip

TOP = Path(__file__).parents[3]
DECLARED: dict[str, list[str]] = tomllib.loads((TOP / "pyproject.toml").read_text())["project"][
    "optional-dependencies"
]
NOT_LIBRARIES = {"all", "dev", "docs", "fuzz", "test"}


def test_the_table_is_that_of_the_project() -> None:
    names = {
        extra: tuple(re.split(r"[\[<>=~! ]", line, maxsplit=1)[0] for line in lines)
        for extra, lines in DECLARED.items()
        if extra not in NOT_LIBRARIES
    }
    assert names == EXTRAS


@pytest.mark.parametrize("top", ["src", "docs", "README.md"])
def test_every_extra_that_is_named_exists(top: str) -> None:
    """In a message, and in the documentation."""
    files = [TOP / top] if (TOP / top).is_file() else (TOP / top).rglob("*.*")
    texts = {path: path.read_text() for path in files if path.suffix in (".py", ".md")}
    calls = re.compile(r"(?:not_installed|MissingPackage)\((?:f?\"[^\"]*\"|\w+), \"([a-z0-9-]+)\"")
    commands = re.compile(r"whimbrel\[([a-z0-9,-]+)\]")
    found = {
        name
        for text in texts.values()
        for pattern in (calls, commands)
        for names in pattern.findall(text)
        for name in names.split(",")
    }
    assert found <= DECLARED.keys()
    assert len(found) > 5 or top == "README.md"


def test_no_other_place_writes_the_command() -> None:
    """One wording: what needs it, the package, and the command."""
    written = {
        path.relative_to(TOP).as_posix()
        for path in (TOP / "src").rglob("*.py")
        if re.search(r"install '?whimbrel\[|pip install", path.read_text())
    }
    assert written == {"src/whimbrel/base/extras.py"}


def test_sentences() -> None:
    assert not_installed("--watch", "watch") == (
        f"--watch: the package watchfiles is not installed: {pip()} install 'whimbrel[watch]'"
    )
    assert not_installed("mod_ssl, mod_md", "tls", "acme") == (
        f"mod_ssl, mod_md: the packages cryptography, acme are not installed: "
        f"{pip()} install 'whimbrel[acme,tls]'"
    )
    assert "the package pyOpenSSL is" in not_installed("SSLOpenSSLConfCmd", "tls", package="pyOpenSSL")


def test_imports_are_of_packages_of_the_table() -> None:
    assert IMPORTS.keys() <= {package for packages in EXTRAS.values() for package in packages}


def test_the_command_is_that_of_this_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another pip would install for another Python, or refuse, as Debian's does."""
    for name in ("system", "own"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pip").touch()
    monkeypatch.setattr("sys.executable", f"{tmp_path}/own/python")
    monkeypatch.setenv("PATH", f"{tmp_path}/none:{tmp_path}/system:{tmp_path}/own")
    assert pip() == f"{tmp_path}/own/pip"
    monkeypatch.setenv("PATH", f"{tmp_path}/own:{tmp_path}/system")
    assert pip() == "pip"
    (tmp_path / "own/pip").unlink()
    assert pip() == f"{tmp_path}/own/python -m pip"
