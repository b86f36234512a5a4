"""--fleet of check, upgrade and verify, as a command."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import create_autospec

import pytest
import typer
from tests.support.fleet_trees import write_broken, write_server
from typer.testing import CliRunner, Result

from whimbrel.base.file_writing import Place
from whimbrel.cli import check, upgrade, verify

Capture = pytest.CaptureFixture[str]

REMOVE = "hint: remove it first, or name another directory\n"


def run(app: typer.Typer, *words: str | Path) -> Result:
    """Return the result of a command with one process."""
    return CliRunner().invoke(app, [*map(str, words), "-j", "1"])


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    base = tmp_path / "machines"
    write_server(base / "a", 1, 5)
    shutil.copytree(base / "a", base / "b")
    write_broken(base / "c", "empty")
    return base


def test_check_writes_the_pages(fleet: Path, tmp_path: Path, capfd: Capture) -> None:
    result = run(check.app, "--fleet", fleet, "--pages", tmp_path / "pages")
    assert result.exit_code == 1
    assert "3 servers: 2 with findings, 1 not decided" in result.stdout
    assert result.stdout.endswith(f"\nNext: whimbrel upgrade --fleet {fleet}\n")
    assert f"not decided  {fleet}/c: no main file of httpd in there" in result.stdout
    pages = tmp_path / "pages"
    assert sorted(path.name for path in pages.rglob("*.html")) == ["a.html", "index.html"]
    assert (pages / "index.html").read_text().count('href="servers/a.html"') == 2
    again = run(check.app, "--fleet", fleet, "--pages", pages)
    assert (again.exit_code, capfd.readouterr().err) == (2, f"{pages} is not empty\n{REMOVE}")


def test_a_page_that_cannot_be_written_does_not_cost_the_report(
    fleet: Path, tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No room is left for the pages, in the middle of the work."""
    pages = tmp_path / "pages"
    full = OSError(errno.ENOSPC, "No room", str(pages))
    monkeypatch.setattr(Place, "replace", create_autospec(Place.replace, side_effect=full))
    result = run(check.app, "--fleet", fleet, "--pages", pages)
    assert "3 servers: 2 with findings, 1 not decided" in result.stdout
    assert (result.exit_code, capfd.readouterr().err) == (2, f"{pages}: No room\n")


def test_upgrade_then_verify(fleet: Path, tmp_path: Path, capfd: Capture) -> None:
    """Each server has its directory below --out, and its pair in the comparison."""
    out = tmp_path / "upgraded"
    result = run(upgrade.app, "--fleet", fleet, "--out", out, "--no-verify", "--json")
    assert result.exit_code == 3
    assert [server["verdict"] for server in json.loads(result.stdout)["servers"]] == [
        "needs review",
        "needs review",
        "not decided",
    ]
    assert sorted(path.name for path in out.iterdir()) == ["a", "b"]
    assert f'ServerRoot "{out}/b"' in (out / "b/conf/httpd.conf").read_text()
    assert "Order" in (fleet / "b/conf/httpd.conf").read_text()
    again = run(upgrade.app, "--fleet", fleet, "--out", out)
    assert (again.exit_code, capfd.readouterr().err) == (2, f"{out} is not empty\n{REMOVE}")
    shutil.rmtree(out / "b")
    shutil.copytree(out / "a", out / "new")
    found = run(verify.app, "--fleet", fleet, out, "--limit", "20", "--format", "json")
    faults = {server["name"]: server["fault"] for server in json.loads(found.stdout)["servers"]}
    assert faults == {
        "a": None,
        "b": "the new side has no server of this name",
        "c": "the new side has no server of this name",
        "new": "the old side has no server of this name",
    }


def test_an_upgrade_names_the_next_command(fleet: Path, tmp_path: Path) -> None:
    words = ("--fleet", fleet, "--no-verify", "-D", "SSL")
    result = run(upgrade.app, *words)
    assert result.exit_code == 1
    command = f"whimbrel upgrade --fleet -D SSL --no-verify {fleet} --out upgraded"
    assert result.stdout.endswith(f"\nNext: {command}\n")
    written = run(upgrade.app, *words, "--out", tmp_path / "new")
    command = f"whimbrel verify --fleet -D SSL {fleet} {tmp_path}/new"
    assert written.stdout.endswith(f"\nNext: {command}\n")


def test_upgrade_in_place_keeps_backups(fleet: Path) -> None:
    result = run(upgrade.app, "--fleet", fleet, "--write", "--no-verify")
    assert result.exit_code == 3
    for name in ("a", "b"):
        assert "Order" not in (fleet / name / "conf/httpd.conf").read_text()
        assert "Order" in (fleet / name / "conf/httpd.conf.whimbrel-2.2~").read_text()
        undone = CliRunner().invoke(upgrade.app, ["--undo", "-d", str(fleet / name)])
        assert undone.exit_code == 0, undone.output
        assert "Order" in (fleet / name / "conf/httpd.conf").read_text()


@pytest.mark.parametrize(
    ("app", "words", "problem"),
    [
        (check.app, ("--fleet",), "--fleet needs a directory of servers"),
        (check.app, ("--fleet", "absent"), "absent: No such file or directory"),
        (check.app, ("--fleet", ".", "--baseline", "x"), "--fleet takes no --baseline"),
        (check.app, ("--fleet", ".", "-d", "x"), "--fleet takes no -d"),
        (check.app, ("--cluster", "x", "."), "--cluster needs --fleet"),
        (check.app, ("--server-seconds", "3", "."), "--server-seconds needs --fleet"),
        (upgrade.app, ("--fleet", ".", "--undo"), "--fleet takes no --undo"),
        (upgrade.app, ("--fleet", "{fleet}", "--write", "--cluster", "x"), "--cluster writes no files"),
        (verify.app, ("--fleet", ".", "--with-httpd", "x"), "--fleet takes no --with-httpd"),
        (verify.app, ("--fleet", "{fleet}", "--format", "sarif"), "--fleet: no --format sarif"),
    ],
)
def test_wrong_usage(
    fleet: Path, app: typer.Typer, words: tuple[str, ...], problem: str, capfd: Capture
) -> None:
    result = run(app, *(word.replace("{fleet}", str(fleet)) for word in words))
    assert result.exit_code == 2
    assert capfd.readouterr().err.startswith(problem)


def test_the_command_with_its_processes(fleet: Path) -> None:
    """As a user runs it: confined, on two processes, with a server that needs more than its memory."""
    (fleet / "d/conf").mkdir(parents=True)
    lines = "".join(f"SetEnv A{number} {'x' * 100}\n" for number in range(40_000))
    (fleet / "d/conf/httpd.conf").write_text(f"Listen 80\nUser apache\n{lines}")
    words = ["check", "--fleet", str(fleet), "-j", "2", "--server-memory", "110", "--format", "json"]
    process = subprocess.run(
        [sys.executable, "-m", "whimbrel", *words], capture_output=True, timeout=120, check=False
    )
    assert (process.returncode, process.stderr) == (1, b"")
    document = json.loads(process.stdout)
    assert [server["verdict"] for server in document["servers"]] == [
        "findings",
        "findings",
        *["not decided"] * 2,
    ]
    assert document["servers"][1]["same_as"] == "a"
    assert document["servers"][3]["fault"] == "more than 110 MB are needed"
