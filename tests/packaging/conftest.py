"""The distributions of this checkout, built once for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging.build import Distributions, build


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """Return the wheel and the sdist."""
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def wheel(distributions: Distributions) -> Path:
    """Return the path of the wheel."""
    return distributions.wheel
