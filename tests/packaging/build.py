"""Build the distributions with the project's own backend, which needs no network."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.meta.tree import ROOT


class Distributions(NamedTuple):
    """What one build leaves."""

    wheel: Path
    sdist: Path


def build(directory: Path, epoch: int = 1_700_000_000) -> Distributions:
    """Build a wheel and an sdist into *directory*; skip the test where the backend is absent."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("no hatchling here: the distributions cannot be built")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(directory)],
        cwd=ROOT,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)},
        check=True,
        capture_output=True,
    )
    return Distributions(next(directory.glob("*.whl")), next(directory.glob("*.tar.gz")))
