"""The run of all tests: what fails beside others is run once more, alone, and a second failure counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import run_all

ONCE = """
from pathlib import Path
def test_it():
    mark = Path(__file__).with_name("mark")
    was_run = mark.exists()
    mark.touch()
    assert was_run
"""
ALWAYS = "def test_it():\n    assert False\n"
PASSES = "def test_it():\n    assert True\n"


@pytest.fixture(autouse=True)
def _without_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The import of those that are installed takes most of the time of a run."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([PASSES], 0),
        ([ONCE, PASSES], 0),
        ([ALWAYS, PASSES], 1),
        ([ONCE, ALWAYS], 1),
        ([ONCE] * run_all.MAX_REPEATED, 0),
        ([ONCE] * (run_all.MAX_REPEATED + 1), 1),
        (["import a_module_that_is_not_here\n"], 2),
    ],
)
def test_the_status_of_a_run(
    texts: list[str], expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, text in enumerate(texts):
        directory = tmp_path / f"part{number}"
        directory.mkdir()
        (directory / f"test_{number}.py").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.chdir(tmp_path)
    assert run_all.main([".", "-q"]) == expected


def test_a_test_that_passes_alone_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_a.py").write_text(ONCE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.chdir(tmp_path)
    assert run_all.main(["-q"]) == 0
    assert capfd.readouterr().out.endswith("a fault of the test:\n  test_a.py::test_it\n")


def test_a_directory_runs_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What fails in either run is run once more; both reports are there, and each test ran in one of them."""
    for name, text in (("unit", ONCE + PASSES), ("other", ONCE)):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"test_{name}.py").write_text(
            text.replace("test_it():\n    assert True", "test_b(): pass")
        )
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p xdist\n")
    monkeypatch.chdir(tmp_path)
    assert run_all.main(["--beside", "unit", ".", "-q", "-n", "1"]) == 0
    report = capfd.readouterr().out
    first, beside = report.split("beside them, unit:")
    assert "1 failed" in first and "1 failed, 1 passed" in beside and "2 passed" in beside
    assert report.endswith("  other/test_other.py::test_it\n  unit/test_unit.py::test_it\n")


@pytest.mark.parametrize(("unit", "other"), [(ALWAYS, PASSES), (PASSES, ALWAYS)])
def test_a_failure_of_either_run_fails_both(
    unit: str, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("unit", unit), ("other", other)):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"test_{name}.py").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p xdist\n")
    monkeypatch.chdir(tmp_path)
    assert run_all.main(["--beside", "unit", ".", "-q", "-n", "1"]) == 1
