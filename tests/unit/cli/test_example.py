"""whimbrel example: the copy of the example site, and the commands that it names."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from whimbrel.cli import example, main

RUNNER = CliRunner()


def test_the_copy_is_complete_and_names_its_own_place(tmp_path: Path) -> None:
    root = tmp_path / "a site"
    assert RUNNER.invoke(example.app, [str(root)]).exit_code == 0
    originals = {path.relative_to(example.SITE) for path in example.SITE.rglob("*") if path.is_file()}
    assert {path.relative_to(root) for path in root.rglob("*") if path.is_file()} == originals
    assert Path("htdocs/members/.htaccess") in originals
    text = "".join(path.read_text() for path in root.rglob("*.conf"))
    assert f'ServerRoot "{root}"' in text and "${" not in text
    assert (root / "logs").is_dir() and (root / "run").is_dir()


def test_what_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("x")
    result = RUNNER.invoke(example.app, [str(tmp_path)])
    assert result.exit_code == 2 and "exists and is not empty" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["own"]
    assert RUNNER.invoke(example.app, [str(tmp_path / "own")]).exit_code == 2


@pytest.mark.parametrize("name", ["a$b", 'a"b', "a\nb"])
def test_a_path_that_a_configuration_cannot_hold_is_refused(tmp_path: Path, name: str) -> None:
    assert RUNNER.invoke(example.app, [str(tmp_path / name)]).exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_the_walk_ends_with_the_same_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands that `whimbrel example` prints, up to the one that serves."""
    monkeypatch.chdir(tmp_path)
    printed = RUNNER.invoke(main.app, ["example", "site"]).output.splitlines()
    lines = [shlex.split(line) for line in printed if line.startswith("  whimbrel ")]
    assert [line[1] for line in lines] == ["check", "upgrade", "verify", "serve"]
    found = {line[1]: RUNNER.invoke(main.app, line[1:]) for line in lines[:3]}
    assert {name: result.exit_code for name, result in found.items()} == {
        "check": 1,
        "upgrade": 0,
        "verify": 0,
    }
    assert "Order" in found["check"].output and ": same" in found["verify"].output
    upgraded = (tmp_path / "site-2.4/conf/httpd.conf").read_text()
    assert "Require all denied" in upgraded and "\nNameVirtualHost" not in upgraded
