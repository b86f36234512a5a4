"""The finder of compiled files agrees with the standard one, and leaves to it what it cannot vouch for."""

from __future__ import annotations

import importlib.util
import os
import py_compile
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from whimbrel.cli.fast_import import CompiledFileFinder

SOURCES = {"package/__init__.py": "WHERE = 1\n", "package/leaf.py": "WHERE = 2\n", "leaf.py": "WHERE = 3\n"}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return a directory with sources and their compiled files."""
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        py_compile.compile(str(tmp_path / name), doraise=True)
    return tmp_path


@pytest.mark.parametrize("name, below", [("package", ""), ("leaf", ""), ("leaf", "package")])
def test_specs_are_those_of_the_standard_finder(directory: Path, name: str, below: str) -> None:
    path = [str(directory / below)]
    ours, theirs = (finder.find_spec(f"whimbrel.{name}", path) for finder in (CompiledFileFinder, PathFinder))
    assert ours is not None and theirs is not None
    for attribute in ("name", "origin", "cached", "has_location", "parent", "submodule_search_locations"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    module, reference = map(importlib.util.module_from_spec, (ours, theirs))
    for spec, loaded in ((ours, module), (theirs, reference)):
        assert spec.loader is not None
        spec.loader.exec_module(loaded)
    assert module.WHERE == reference.WHERE
    assert module.__file__ == reference.__file__
    loader = ours.loader
    assert isinstance(loader, importlib.machinery.SourceFileLoader)
    assert loader.get_code(ours.name) == loader.get_code(ours.name)
    assert loader.get_source(ours.name) == Path(module.__file__ or "").read_text()


def test_a_package_may_move(directory: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    there = directory.rename(tmp_path_factory.mktemp("new") / "place")
    spec = CompiledFileFinder.find_spec("whimbrel.leaf", [str(there)])
    assert spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader)
    code = spec.loader.get_code("whimbrel.leaf")
    assert code is not None and code.co_filename == str(there / "leaf.py")


def found(directory: Path) -> bool:
    return CompiledFileFinder.find_spec("whimbrel.leaf", [str(directory)]) is not None


def test_a_source_that_changed_is_left_to_the_standard_finder(directory: Path) -> None:
    assert found(directory)
    (directory / "leaf.py").write_text("WHERE = 33\n")  # another size
    assert not found(directory)


def test_a_source_with_another_time_is_left_to_the_standard_finder(directory: Path) -> None:
    os.utime(directory / "leaf.py", (1, 1))
    assert not found(directory)


@pytest.mark.parametrize("mode", ["CHECKED_HASH", "UNCHECKED_HASH"])
def test_files_with_hashes_are_left_to_the_standard_finder(directory: Path, mode: str) -> None:
    mode_of = py_compile.PycInvalidationMode
    py_compile.compile(str(directory / "leaf.py"), invalidation_mode=mode_of[mode])
    assert not found(directory)


def test_files_of_another_python_are_left_to_the_standard_finder(directory: Path) -> None:
    compiled = Path(importlib.util.cache_from_source(str(directory / "leaf.py")))
    compiled.write_bytes(b"\0\0\r\n" + compiled.read_bytes()[4:])
    assert not found(directory)


@pytest.mark.parametrize("size", [0, 3, 15])
def test_a_short_file_is_left_to_the_standard_finder(directory: Path, size: int) -> None:
    compiled = Path(importlib.util.cache_from_source(str(directory / "leaf.py")))
    compiled.write_bytes(compiled.read_bytes()[:size])
    assert not found(directory)


def test_a_file_that_was_not_compiled_is_left_to_the_standard_finder(directory: Path) -> None:
    os.unlink(importlib.util.cache_from_source(str(directory / "leaf.py")))
    assert not found(directory)


@pytest.mark.parametrize("name", ["leaf", "other.leaf", "whimbrel"])
def test_other_packages_are_left_to_the_standard_finder(directory: Path, name: str) -> None:
    assert CompiledFileFinder.find_spec(name, [str(directory)]) is None


def test_a_long_file_is_read_to_its_end(directory: Path) -> None:
    (directory / "leaf.py").write_text(f"WHERE = {'x' * 200_000!r}\n")
    py_compile.compile(str(directory / "leaf.py"), doraise=True)
    spec = CompiledFileFinder.find_spec("whimbrel.leaf", [str(directory)])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert len(module.WHERE) == 200_000
