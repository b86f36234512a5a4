"""The extension for VS Code, checked by the tools of VS Code: its tokenizer, and the packager of extensions.

npm install --prefix DIR @vscode/vsce vscode-oniguruma vscode-textmate vscode-tmgrammar-test
WHIMBREL_NODE_MODULES=DIR/node_modules python -m pytest tests/editors
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Final

import pytest
from tests.meta.tree import ROOT

EXTENSION: Final = ROOT / "editors/vscode"
MODULES: Final = Path(os.environ.get("WHIMBREL_NODE_MODULES", EXTENSION / "node_modules")).resolve()


def node(package: str, program: str, *words: str | Path, cwd: Path = EXTENSION) -> str:
    """Return what *program* prints, which *package* of npm has, or the extension itself ("")."""
    name = shutil.which("node")
    if name is None:
        pytest.skip("no node here")
    needed = package or "vscode-textmate"
    if not (MODULES / needed).is_dir():
        pytest.skip(f"no {needed} of npm here: WHIMBREL_NODE_MODULES names the directory")
    path = MODULES / package / program if package else EXTENSION / program
    environment = {**os.environ, "NODE_PATH": str(MODULES)}
    found = subprocess.run(
        [name, path, *words], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def test_every_line_of_the_examples_has_a_color() -> None:
    files = sorted((ROOT / "src/whimbrel/examples").rglob("*.conf"))
    assert files
    assert node("", "check_grammar.js", *files) == f"{len(files)} files, 0 lines without a color\n"


def test_scopes_as_the_tokenizer_gives_them() -> None:
    words = ["--grammar", "syntaxes/httpd.tmLanguage.json", "grammar.httpd"]
    assert node("vscode-tmgrammar-test", "dist/unit.js", *words).startswith("✓ grammar.httpd")


def test_the_packager_accepts_the_manifest(tmp_path: Path) -> None:
    """`vsce` checks the manifest against its schema; the package has what the manifest names."""
    copy = tmp_path / "vscode"
    shutil.copytree(EXTENSION, copy, ignore=shutil.ignore_patterns("node_modules", "*.vsix"))
    shutil.copy(ROOT / "LICENSE", copy / "LICENSE.txt")
    package = tmp_path / "extension.vsix"
    words = ["package", "--no-dependencies", "--allow-missing-repository", "--out", package]
    printed = node("@vscode/vsce", "vsce", *words, cwd=copy)
    assert "WARNING" not in printed
    manifest = json.loads((EXTENSION / "package.json").read_text())
    named = [manifest["main"], *(one["path"] for one in manifest["contributes"]["grammars"])]
    with zipfile.ZipFile(package) as archive:
        names = set(archive.namelist())
        packed = json.loads(archive.read("extension/package.json"))
    assert {f"extension/{name.removeprefix('./')}" for name in named} <= names
    assert {"extension/LICENSE.txt", "extension/readme.md"} <= names
    assert packed["contributes"] == manifest["contributes"]
    assert not [name for name in names if "check_grammar" in name or name.endswith("grammar.httpd")]
