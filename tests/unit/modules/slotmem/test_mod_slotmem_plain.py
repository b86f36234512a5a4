"""mod_slotmem_plain: the name of its provider."""

from __future__ import annotations

from pathlib import Path

from tests.support.engine import build_engine

LOAD = "LoadModule slotmem_plain_module modules/mod_slotmem_plain.so\n"


def test_provider(tmp_path: Path) -> None:
    configuration = build_engine(tmp_path, LOAD).configuration
    assert list(configuration.modules.providers("slotmem")) == ["plain"]
