"""A plugin of pytest that notes which test runs which line of src: one context of coverage for each test.

``python -m pytest -p tests.mutants.covering tests/unit``, with the folder of the notes in MUTANTS_NOTES.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

_NOTES = Path(os.environ["MUTANTS_NOTES"])
_measured = coverage.Coverage(data_file=str(_NOTES / "coverage"), source_pkgs=["whimbrel"], config_file=False)
_seconds: dict[str, float] = {}


def pytest_sessionstart() -> None:
    """Begin before the first test module is imported."""
    _measured.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Name the test while it runs, with its fixtures."""
    begin = time.monotonic()
    _measured.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        _measured.switch_context("")
        _seconds[item.nodeid] = time.monotonic() - begin


def pytest_sessionfinish() -> None:
    """Write the lines of each test, and its seconds."""
    _measured.stop()
    _measured.save()
    (_NOTES / "seconds.json").write_text(json.dumps(_seconds))
