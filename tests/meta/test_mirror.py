"""tests/unit mirrors the package: a test file stands where its module stands."""

from __future__ import annotations

from pathlib import Path

from tests.meta.tree import PACKAGE, ROOT, assert_none, tracked

UNIT = ROOT / "tests" / "unit"


def has_subject(test: Path) -> bool:
    """Return True if the module that a unit test names exists; test_head_recorded.py may be a second file for
    head.py.
    """
    folder, words = PACKAGE / test.relative_to(UNIT).parent, test.stem.removeprefix("test_").split("_")
    names = ("_".join(words[:count]) for count in range(len(words), 0, -1))
    return any((folder / f"{name}.py").is_file() or (folder / name).is_dir() for name in names)


def test_every_unit_test_has_its_module() -> None:
    tests = [p for p in tracked() if p.is_relative_to(UNIT) and p.name.startswith("test_")]
    assert_none(test.relative_to(ROOT) for test in tests if not has_subject(test))
