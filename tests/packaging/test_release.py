"""The steps of a release: version and changelog."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.meta.tree import ROOT
from whimbrel import __version__
from whimbrel.base.product import SOFTWARE, VERSION

CHANGELOG = "# Changes\n\n## 0.3.0 (not released)\n\n* New.\n\n## 0.2.0 (2026-01-02)\n\n* Old.\n* Older.\n"


@pytest.fixture
def release() -> ModuleType:
    """Return tools/release as a module."""
    loader = importlib.machinery.SourceFileLoader("release", str(ROOT / "tools/release"))
    spec = importlib.util.spec_from_loader("release", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_a_cut_changes_version_and_changelog(
    release: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "src/whimbrel/__init__.py"
    package.parent.mkdir(parents=True)
    package.write_text('"""Whimbrel."""\n\n__version__ = "0.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    release.cut("0.3.0", "2026-05-06", tmp_path)
    assert package.read_text() == '"""Whimbrel."""\n\n__version__ = "0.3.0"\n'
    text = (tmp_path / "CHANGELOG.md").read_text()
    assert text == CHANGELOG.replace("(not released)", "(2026-05-06)")
    assert "git tag -s v0.3.0" in capsys.readouterr().out
    assert release.notes(text, "0.3.0") == "* New.\n"
    with pytest.raises(SystemExit, match="not marked"):
        release.cut("0.4.0", "2026-05-07", tmp_path)


def test_notes_are_the_section_of_a_released_version(release: ModuleType) -> None:
    assert release.notes(CHANGELOG, "0.2.0") == "* Old.\n* Older.\n"
    for version, problem in (("0.3.0", "is not released"), ("0.1.0", "no section")):
        with pytest.raises(SystemExit, match=problem):
            release.notes(CHANGELOG, version)


def test_the_bill_of_materials_names_the_version(release: ModuleType) -> None:
    bill = {
        "metadata": {"component": {"name": "whimbrel", "type": "application"}},
        "components": [{"name": "uvloop"}],
    }
    found = json.loads(release.materials(json.dumps(bill), '"""W."""\n\n__version__ = "0.3.0"\n'))
    assert found["metadata"]["component"]["version"] == "0.3.0"
    assert found["metadata"]["component"]["purl"] == "pkg:pypi/whimbrel@0.3.0"
    assert found["components"] == bill["components"]
    with pytest.raises(SystemExit, match="no __version__"):
        release.materials(json.dumps(bill), "")


@pytest.mark.parametrize("version", ["1", "v0.2.0", "0.2", "0.2.0-beta"])
def test_other_numbers_are_no_versions(release: ModuleType, tmp_path: Path, version: str) -> None:
    with pytest.raises(SystemExit, match="not a version"):
        release.cut(version, "2026-05-06", tmp_path)


def test_wrong_usage_prints_the_steps() -> None:
    found = subprocess.run([sys.executable, ROOT / "tools/release"], capture_output=True, text=True)
    assert found.returncode == 1 and "release cut VERSION" in found.stderr


def test_the_server_field_follows_the_version() -> None:
    assert __version__.startswith(f"{VERSION}.") and f"Whimbrel/{VERSION} " in SOFTWARE


def test_the_changelog_begins_with_the_version_or_what_follows_it() -> None:
    number, state = re.findall(r"^## (\S+) \((.+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.M)[0]
    assert number == __version__ or state == "not released"
