"""LoadModule lines that SUSE's start script writes from APACHE_MODULES: an edit of them does not last.

Sources: README.SuSE of SUSE's package apache2 (modules for every MPM in /usr/lib/apache2, those for one in
/usr/lib/apache2-prefork), and the comments of its /etc/sysconfig/apache2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from whimbrel.base.errors import SourceLocation
from whimbrel.base.file_reading import read_variables
from whimbrel.base.latin1 import to_system
from whimbrel.catalogue import catalogue
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement

SETTING: Final = "APACHE_MODULES"
SETTINGS: Final = "/etc/sysconfig/apache2"
_GENERATED: Final = "/sysconfig.d/loadmodule.conf"
_MODULE_NAME: Final = re.compile(r"(?:.*/apache2(?:-\w+)?/)?mod_(\w+)\.so|(?:mod_)?([\w-]+)")
"""A module of a directory that the start script searches, as a path, or as a word of APACHE_MODULES."""
_ASSIGNMENT: Final = re.compile(rf"(?:[^#]*[;&\s])?{SETTING}=")


class _Setting(NamedTuple):
    """The assignment to APACHE_MODULES that was read, and the modules that it names."""

    place: SourceLocation
    modules: list[str]


def generated_module_findings(tree: ConfigTree, number: str) -> Iterator[Finding]:
    """Yield a finding of the rule *number* if APACHE_MODULES lacks modules of the generated file, or if edits
    have changed them and the setting is not here.
    """
    lines = [line for line in tree.named("loadmodule") if line.file.path.endswith(_GENERATED)]
    names = [_name(line) for line in lines if len(line.words()) == 2]
    persistent = tree.cache.setdefault("persistent", {})
    assert isinstance(persistent, dict)
    before = persistent.setdefault("modules of the generated file", (_first_place(lines), names))
    place, old_names = before
    if place is None:
        return
    setting = _setting(tree)
    if setting is not None:
        yield from _of_setting(setting, tree.disk.text_of(place.path), names, old_names, number)
    elif names != old_names:
        generated = tree.disk.text_of(place.path)
        yield _of_unread_setting(place, generated, names, old_names, number, has_file=bool(_path(tree)))


def _of_setting(
    setting: _Setting, generated: str, names: list[str], old_names: list[str], number: str
) -> Iterator[Finding]:
    """Yield a finding if *setting* lacks modules of the generated file: its next start is without them."""
    missing = [name for name in names if name not in setting.modules]
    if not missing:
        return
    removed = [name for name in old_names if name not in names]
    gone = [name for name in setting.modules if name in removed or _is_gone(name)]
    others = [name for name in setting.modules if name not in gone]
    yield Finding(
        number,
        setting.place,
        f"the start script writes {generated} from {SETTING} at each start, which lacks modules of the new "
        f"file ({_changes(missing, gone)})",
        _assignment([*others, *missing]),
        Risk.BREAKS,
        is_proven=True,
    )


def _of_unread_setting(
    place: SourceLocation,
    generated: str,
    names: list[str],
    old_names: list[str],
    number: str,
    *,
    has_file: bool,
) -> Finding:
    """Return the finding at the Include of the generated file: a comment in that file would not last.

    *has_file*: the file of the setting is, and its value is not decided.
    """
    state = "whose value is not decided here" if has_file else "which is not here"
    added = [name for name in names if name not in old_names]
    gone = [name for name in old_names if name not in names]
    advice = f"{_assignment(names)} into {SETTINGS}"
    return Finding(
        number,
        place.included_from or place,
        f"{generated} is written at each start from {SETTING} of {SETTINGS}, {state}: the change "
        f"of it ({_changes(added, gone)}) lasts if it is made there too",
        advice,
        Risk.BREAKS,
        decision=f"Has {SETTING} of {SETTINGS} the modules of 2.4?",
        answers=(f"yes: # whimbrel: ignore[{number}] above the line records it", f"no: {advice}"),
        accepted=f"{SETTING} of {SETTINGS} has the modules of 2.4",
        shown_by=f"write {SETTING} of {SETTINGS} without a shell"
        if has_file
        else f"copy {SETTINGS} into the tree",
    )


def _assignment(names: list[str]) -> str:
    return f'write {SETTING}="{" ".join(names)}"'


def _changes(added: list[str], gone: list[str]) -> str:
    return " ".join([*(f"+{name}" for name in added), *(f"-{name}" for name in gone)])


def _first_place(lines: list[Statement]) -> SourceLocation | None:
    return lines[0].place if lines else None


def _name(line: Statement) -> str:
    """Return the word of APACHE_MODULES: the name of a module in a usual directory, else its path."""
    identifier, path = line.words()
    name = _short(path)
    return name if name == identifier.removesuffix("_module") else path


def _short(word: str) -> str:
    """Return the name of the module that *word* of APACHE_MODULES names; a path elsewhere is its own."""
    found = _MODULE_NAME.fullmatch(word)
    return word if found is None else found[1] or found[2]


def _is_gone(name: str) -> bool:
    """Return True if *name* is a module of 2.2 that 2.4 has not."""
    identifier = f"{name}_module"
    is_old = catalogue("2.2").module(identifier) is not None
    return is_old and catalogue("2.4").module(identifier) is None


def _path(tree: ConfigTree) -> str:
    """Return the path of the file of the setting, "" if it was not read."""
    return next((path for path in tree.service_files if path.endswith(SETTINGS)), "")


def _setting(tree: ConfigTree) -> _Setting | None:
    """Return the last assignment to APACHE_MODULES in the files of variables that were read."""
    path = _path(tree)
    value = tree.environment.get(SETTING)
    if not path or value is None:
        return None
    try:
        lines = read_variables(to_system(path)).split("\n")
    except OSError:
        return None
    numbers = [number for number, line in enumerate(lines, 1) if _ASSIGNMENT.match(line)]
    return (
        _Setting(SourceLocation(path, numbers[-1]), [*dict.fromkeys(map(_short, value.split()))])
        if numbers
        else None
    )
