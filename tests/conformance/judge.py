"""The comparison of the recordings: run.py and harness.py, which lie beside the repository and are no part of it.

Looked for in $WHIMBREL_SHARED, else in ../shared.  Where they are absent, whoever asks for them is skipped, and says so.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conformance.cases import Case, Exempt, covered
from whimbrel.testing.ports import free_ports

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("WHIMBREL_SHARED", ROOT.parent / "shared"))
HTTPD = Path(sys.executable).with_name("whimbrel-httpd")
UTILITIES = f"{Path(sys.executable).with_name('whimbrel')} {{}}"
MODULE_DIR = "/usr/lib/whimbrel/modules"


@dataclass(frozen=True)
class Score:
    """How many answers were asked for, and how many agreed in status, headers and body."""

    asked: int = 0
    full: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(self.asked + other.asked, self.full + other.full)

    @property
    def percent(self) -> float:
        return 100 * self.full / max(self.asked, 1)


def score(result: dict[str, Any]) -> Score:
    """What run.py counts for the result of one case."""
    if result["kind"] in ("configtest", "command"):
        return Score(1, int(result["text"]))
    answers = result["answers"]
    if not answers:
        return Score(1, int(result.get("started", False)))
    return Score(len(answers), sum(bool(levels[2]) for levels in answers))


def fresh(name: str) -> ModuleType:
    """One file of the judge as a module of its own, however often it is loaded."""
    path = SHARED / "conformance" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"conformance_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@cache
def load() -> ModuleType:
    """run.py; `.harness` of it is the other one.  Skips the calling test where they are absent."""
    if not (SHARED / "conformance" / "run.py").is_file():
        pytest.skip(f"no {SHARED.name}/conformance/run.py beside the repository: nothing to compare with")
    run = fresh("run")
    run.harness.free_ports = free_ports
    return run


def ask(case: Case, version: str) -> dict[str, Any]:
    """The result of asking this checkout's whimbrel-httpd one recorded case, as run.py reports it."""
    run = load()
    command = str(HTTPD) + (" --dialect 2.2" if version == "2.2" else "")
    program = run.harness.Program.parse(command, MODULE_DIR, run.harness.BUILTIN[version])
    result: dict[str, Any] = run.run_case(case, program, version, UTILITIES)
    return result


def needed(entry: Exempt) -> bool:
    """Whether some recorded case of *entry* still differs."""
    questions = ((case, version) for case in covered(entry) for version in case["answers"] if version in ("2.2", "2.4"))
    return any(ask(case, version)["differences"] for case, version in questions)
