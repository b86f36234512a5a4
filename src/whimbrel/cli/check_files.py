"""The single files that options of `whimbrel check` name: configure line, modules, passwords, locks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from whimbrel.cli.conf_options import BadUse
from whimbrel.errors import Place
from whimbrel.octets import from_system, raw, text
from whimbrel.upgrade.model import Finding, Risk

Judge = Callable[[str], Iterator[Finding]]


def judged(given: Mapping[str, Path]) -> Iterator[tuple[str, list[Finding]]]:
    """For each option of *given* its path and what is to be said; raises BadUse where one isn't there, OSError where it can't be read."""
    for option, path in given.items():
        if not path.exists() and option != "davlock":
            raise BadUse(f"{path}: No such file or directory")
        name = from_system(str(path))
        yield name, list(JUDGES[option](name))


def _content(path: str) -> str:
    with open(raw(path), "rb") as file:
        return text(file.read())


def _config_nice(path: str) -> Iterator[Finding]:
    from whimbrel.upgrade.config_nice import translate

    translation = translate(_content(path), path)
    yield from translation.findings
    yield Finding("C01", Place(path, 0), "the same for 2.4 reads", "", Risk.COSMETIC, evidence=translation.text)


def _modules(path: str) -> Iterator[Finding]:
    from whimbrel.upgrade.shared_objects import examine, examine_folder

    verdicts = examine_folder(path) if Path(path).is_dir() else [examine(path)]
    if not verdicts:
        raise BadUse(f"{path}: no module in there")
    for verdict in verdicts:
        place = Place(verdict.path, 0)
        if verdict.api == "2.4":
            yield Finding("C06", place, verdict.text, "", Risk.COSMETIC)
        elif verdict.modules:
            yield Finding("C06", place, f"{verdict.text}: 2.4 refuses to load it", "build it for 2.4, or take that of 2.4", Risk.BREAKS)
        else:
            yield Finding("C06", place, verdict.text, "look at what it is", Risk.CHANGES if verdict.problem else Risk.COSMETIC)


def _passwords(path: str) -> Iterator[Finding]:
    from whimbrel.upgrade.password_file import examine

    return examine(_content(path), path)


def _locks(path: str) -> Iterator[Finding]:
    from whimbrel.upgrade.davlock import Locks, recognised

    kind = recognised(path)
    if kind is Locks.ABSENT:
        raise BadUse(f"{path}: No such file or directory")
    place = Place(path, 0)
    if kind is Locks.OF_22:
        yield Finding("C29", place, "this lock database was written by 2.2; 2.4 finds no lock in it", "delete it before 2.4 starts", Risk.OPENS)
    elif kind is Locks.UNKNOWN:
        yield Finding("C29", place, "this is no lock database that can be read", "delete it before 2.4 starts", Risk.CHANGES)
    else:
        yield Finding("C29", place, kind.value, "nothing, unless 2.2 wrote it: then delete it before 2.4 starts", Risk.COSMETIC)


JUDGES: Final[dict[str, Judge]] = {"config_nice": _config_nice, "modules": _modules, "htpasswd": _passwords, "davlock": _locks}
