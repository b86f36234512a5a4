"""Findings on single files that options of `whimbrel check` name: configure, modules, passwords, locks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import from_system, to_bytes, to_text
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.utilities.usage_error import UsageError

FileChecker = Callable[[str], Iterator[Finding]]


def findings_by_file(paths_by_option: Mapping[str, Path]) -> Iterator[tuple[str, list[Finding]]]:
    """Yield each path of *given* with its findings; raises UsageError for a missing file, OSError for an
    unreadable one.
    """
    for option, path in paths_by_option.items():
        if not path.exists() and option != "davlock":
            raise UsageError(f"{path}: No such file or directory")
        name = from_system(str(path))
        yield name, list(CHECKERS[option](name))


def _content(path: str) -> str:
    return to_text(read_regular(to_bytes(path)))


def _config_nice(path: str) -> Iterator[Finding]:
    from whimbrel.upgrade.files.config_nice import translate

    translation = translate(_content(path), path)
    yield from translation.findings
    yield Finding(
        "C01", SourceLocation(path, 0), "the same for 2.4 reads", "", Risk.COSMETIC, evidence=translation.text
    )


def _modules(path: str) -> Iterator[Finding]:
    from whimbrel.upgrade.files.shared_objects import examine, examine_directory

    module_files = examine_directory(path) if Path(path).is_dir() else [examine(path)]
    if not module_files:
        raise UsageError(f"{path}: no module in there")
    for module_file in module_files:
        place = SourceLocation(module_file.path, 0)
        if module_file.api == "2.4":
            yield Finding("C06", place, module_file.text, "", Risk.COSMETIC)
        elif module_file.modules:
            yield Finding(
                "C06",
                place,
                f"{module_file.text}: 2.4 refuses to load it",
                "build it for 2.4, or take that of 2.4",
                Risk.BREAKS,
            )
        else:
            yield Finding(
                "C06",
                place,
                module_file.text,
                "look at what it is",
                Risk.CHANGES if module_file.problem else Risk.COSMETIC,
            )


def _passwords(path: str) -> Iterator[Finding]:
    from whimbrel.upgrade.files.password_file import examine

    return examine(_content(path), path)


def _locks(path: str) -> Iterator[Finding]:
    from whimbrel.upgrade.files.davlock import LockDatabase, recognize

    kind = recognize(path)
    if kind is LockDatabase.ABSENT:
        raise UsageError(f"{path}: No such file or directory")
    place = SourceLocation(path, 0)
    if kind is LockDatabase.OF_22:
        yield Finding(
            "C29",
            place,
            "this lock database was written by 2.2; 2.4 finds no lock in it",
            "delete it before 2.4 starts",
            Risk.OPENS,
        )
    elif kind is LockDatabase.UNKNOWN:
        yield Finding(
            "C29",
            place,
            "this is no lock database that can be read",
            "delete it before 2.4 starts",
            Risk.CHANGES,
        )
    else:
        yield Finding(
            "C29",
            place,
            kind.value,
            "nothing, unless 2.2 wrote it: then delete it before 2.4 starts",
            Risk.COSMETIC,
        )


CHECKERS: Final[dict[str, FileChecker]] = {
    "config_nice": _config_nice,
    "modules": _modules,
    "htpasswd": _passwords,
    "davlock": _locks,
}
