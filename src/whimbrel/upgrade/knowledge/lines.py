"""Unknown items that lines of a configuration name: variables without a value, files of users and groups."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.copied_paths import IN_PLACE, CopiedPaths
from whimbrel.config.execute import root_relative
from whimbrel.syntax.words import getword
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind

_VARIABLE: Final = re.compile(r"(?<![\\])\$\{(\w+)\}")
WITHOUT_ANSWERS: Final = frozenset(
    "cookielog coredumpdirectory customlog errorlog forensiclog globallog group lockfile loglevel logformat"
    " mutex pidfile rewritelock rewritelog scoreboardfile scriptlog scriptsock serveradmin ssllog sslmutex"
    " sslsessioncache transferlog user".split()
)
"""Directives whose value is a log, a lock or a process: no answer depends on it."""
USER_FILES: Final = frozenset(
    "authuserfile authgroupfile authdigestfile authdigestgroupfile authdbmuserfile authdbmgroupfile".split()
)
_ASSUMED: Final = "its users and groups were taken from the Require lines"
_OF_SERVERS_WITHOUT: Final = {
    "authuserfile": "; both versions answer 500 to a user where the server lacks it, too",
    "authgroupfile": "; where the server lacks it, too, 2.2 answers 500 to a user, and 2.4 401",
}
"""What a file means that the server itself does not have."""
_DBM_ENDINGS: Final = ("", ".db", ".pag", ".dat", ".mdb")


@dataclass(frozen=True, slots=True)
class NamedLine:
    """A line as both readers of a configuration know it; *name* is in lower case, variables are expanded."""

    name: str
    args: str
    place: SourceLocation


def is_of_unknown(name: str, args: str) -> bool:
    """Return True if a line counts for `undefined_variables` or `missing_user_files`; most lines do not."""
    return "${" in args or name == "define" or name in USER_FILES


def undefined_variables(lines: Iterable[NamedLine]) -> Iterator[UnknownItem]:
    """Yield an item for each variable that has no value here, at its first use that matters, else its first;
    Define lines among *lines* give values."""
    found: dict[str, UnknownItem] = {}
    defined: set[str] = set()
    for line in lines:
        if line.name == "define":
            defined.add(getword(line.args)[0].lower())
        for variable in _VARIABLE.findall(line.args) if "${" in line.args else ():
            if variable.lower() in defined:
                continue
            matters = line.name not in WITHOUT_ANSWERS
            known = found.get(variable)
            if known is None or (matters and not known.matters):
                found[variable] = UnknownItem(
                    UnknownKind.UNDEFINED_VARIABLE,
                    line.place,
                    f"${{{variable}}} is not defined here",
                    "its text was taken for its value",
                    f"--envvars FILE defines it: a file with the line export {variable}=VALUE",
                    matters,
                )
    yield from found.values()


def missing_user_files(
    lines: Iterable[NamedLine],
    root: str,
    stand_ins: Container[str] = (),
    *,
    matters: bool,
    disk: CopiedPaths = IN_PLACE,
) -> Iterator[UnknownItem]:
    """Yield an item for each file of users or groups that is not on this machine, nor in *stand_ins*."""
    seen: set[str] = set()
    for line in lines:
        if line.name not in USER_FILES:
            continue
        path = getword(line.args)[0]
        if not path or "${" in path or path in seen:
            continue
        seen.add(path)
        full = root_relative(root or "/", path)
        if disk.openable(full) not in stand_ins and not any(
            disk.exists(full + ending) for ending in _endings(line.name)
        ):
            yield UnknownItem(
                UnknownKind.MISSING,
                line.place,
                f"{disk.place(full)} is not in this copy" if disk.image else f"{path} is not on this machine",
                f"{_ASSUMED}{_OF_SERVERS_WITHOUT.get(line.name, '')}",
                f"copy {path}",
                matters,
            )


def _endings(name: str) -> tuple[str, ...]:
    return _DBM_ENDINGS if name.startswith("authdbm") else ("",)
