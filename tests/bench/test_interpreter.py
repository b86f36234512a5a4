"""The environment of Debian's interpreter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bench.interpreter import DEBIAN, LINK, described, make, obstacle, switch

import whimbrel


def test_the_interpreter_is_named_with_its_build() -> None:
    assert described().startswith("CPython " + sys.version.partition(" ")[0])
    assert "build" in described()


def test_another_interpreter_is_used_only_with_the_same_packages(tmp_path: Path) -> None:
    assert obstacle(tmp_path / "python3") == f"there is no {tmp_path / 'python3'}"
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\necho cpython-27-x86_64-linux-gnu 2 7\n")
    other.chmod(0o755)
    assert "is cpython-27-x86_64-linux-gnu" in obstacle(other)
    assert obstacle(Path(sys.executable)) == ""


def test_an_environment_that_cannot_be_made_leaves_the_present_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.interpreter.is_debian", lambda: False)
    (tmp_path / "file").write_text("")
    reason = switch(["-c", "raise SystemExit(3)"], Path(sys.executable), tmp_path / "file" / "environment")
    assert reason.startswith("environment cannot be made: ")


@pytest.mark.skipif(bool(obstacle(DEBIAN)), reason=f"{DEBIAN} cannot use the packages of this interpreter")
def test_debians_interpreter_runs_the_programs_with_the_present_packages(tmp_path: Path) -> None:
    python = make(tmp_path / "environment", DEBIAN)
    shown = subprocess.run(
        [python.with_name("whimbrel-httpd"), "-v"], capture_output=True, text=True, check=False
    )
    assert shown.stdout.startswith("Server version: ")
    code = "import sys, whimbrel; print(sys.base_prefix, whimbrel.__file__)"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert found == ["/usr", whimbrel.__file__]
    stamp = next((tmp_path / "environment").rglob(LINK))
    before = stamp.stat().st_mtime_ns
    assert (make(tmp_path / "environment", DEBIAN), stamp.stat().st_mtime_ns) == (python, before)
