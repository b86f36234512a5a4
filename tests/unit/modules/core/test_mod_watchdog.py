"""WatchdogInterval, with the messages of 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.config.site import Site


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("5", "Syntax OK"),
        ("500ms", "Syntax OK"),
        ("1h", "Syntax OK"),
        ("x", "Unparse-able WatchdogInterval setting"),
        ("-1", "Unparse-able WatchdogInterval setting"),
        ("0", "Invalid WatchdogInterval: minimal value 100ms"),
    ],
)
def test_interval(tmp_path: Path, word: str, said: str) -> None:
    assert Site(tmp_path, f"WatchdogInterval {word}\n").check().splitlines()[-1] == said
