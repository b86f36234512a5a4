"""tests/unit has the shape of the package: a test file stands where its module stands."""

from __future__ import annotations

from pathlib import Path

from tests.meta.tree import PACKAGE, ROOT, tracked

UNIT = ROOT / "tests" / "unit"


def subject(test: Path) -> Path:
    """The module or package (without suffix) that a unit test is about."""
    return PACKAGE / test.relative_to(UNIT).parent / test.stem.removeprefix("test_")


def test_every_unit_test_has_its_module() -> None:
    tests = [p for p in tracked() if p.is_relative_to(UNIT) and p.name.startswith("test_")]
    lost = [str(t.relative_to(ROOT)) for t in tests if not (subject(t).with_suffix(".py").is_file() or subject(t).is_dir())]
    assert lost == []
