"""Settings of mod_dumpio."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.modules.asked import engine

from whimbrel.base.errors import ConfigError
from whimbrel.modules.debugging.mod_dumpio import wanted

LOAD = "LoadModule dumpio_module modules/mod_dumpio.so\n"


def test_settings(tmp_path: Path) -> None:
    configuration = engine(tmp_path, LOAD + "DumpIOInput On").configuration
    found = wanted(configuration, configuration.main)
    assert (found.input, found.output) == (True, False)


def test_level_of_the_old_version(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError,
        match="DumpIOLogLevel requires level keyword: one of emerg/alert/crit/error/warn/notice/info/debug",
    ):
        engine(tmp_path, LOAD + "DumpIOLogLevel bogus", version="2.2")
