"""A plugin of pytest that notes which test runs which line of src: one context of coverage for each test.

``python -m pytest -p tests.mutants.covering tests/unit``, with the file of the notes in MUTANTS_COVERAGE.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import coverage
import pytest

_measured = coverage.Coverage(
    data_file=os.environ["MUTANTS_COVERAGE"], source_pkgs=["whimbrel"], config_file=False, data_suffix=True
)


def pytest_sessionstart() -> None:
    """Begin before the first test module is imported."""
    _measured.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Name the test while it runs, with its fixtures."""
    _measured.switch_context(item.nodeid)
    return (yield)


def pytest_sessionfinish() -> None:
    """Write the notes of this process."""
    _measured.stop()
    _measured.save()
