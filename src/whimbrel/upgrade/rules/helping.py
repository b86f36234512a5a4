"""What rules have in common: in which server and section a line stands, and edits that keep a file fit for 2.2 where that is wished."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.syntax.words import getword
from whimbrel.upgrade.estate import Estate, Role, Statement
from whimbrel.upgrade.model import FileEdit

BRANCHES: Final = ("<ifmodule", "<ifdefine", "<ifversion", "<iffile", "<ifdirective", "<ifsection")
"""Sections that only decide whether their lines are read."""
NEW: Final = "<IfModule mod_authz_core.c>"
OLD: Final = "<IfModule !mod_authz_core.c>"
END: Final = "</IfModule>"


# where -------------------------------------------------------------------------------------------
def server_of(line: Statement) -> Statement | None:
    """The <VirtualHost> around *line*, None in the main server."""
    return next(line.enclosing("<virtualhost"), None)


def scope_of(line: Statement) -> Statement | None:
    """The section that *line* configures: the innermost one that is no branch; None at the top of a file's tree."""
    return next((section for section in line.enclosing() if section.name not in BRANCHES), None)


def at_server_level(line: Statement) -> bool:
    """Whether *line* stands in a server or virtual host, in no section for folders, and in no .htaccess file."""
    scope = scope_of(line)
    return line.file.role is Role.MAIN and (scope is None or scope.name == "<virtualhost")


def same_place(one: Statement, other: Statement) -> bool:
    """Whether both configure the same server, section or .htaccess folder."""
    scope = scope_of(one)
    return scope is scope_of(other) and (scope is not None or (one.file.role, one.file.folder) == (other.file.role, other.file.folder))


def branches_of(line: Statement) -> list[Statement]:
    """The branches around *line* within its scope."""
    found = []
    for section in line.enclosing():
        if section.name not in BRANCHES:
            break
        found.append(section)
    return found


def in_24(estate: Estate, *names: str) -> Iterator[Statement]:
    """All lines called *names* that 2.4 may read, those of its own branches too."""
    return (line for line in estate.named(*names, dead=True) if line.in_24 is not False)


def positions(estate: Estate) -> dict[int, int]:
    """The place of each statement in the order of reading, by its id."""
    found = estate.memo.get("positions")
    if not isinstance(found, dict):
        found = estate.memo["positions"] = {id(line): at for at, line in enumerate(estate.everything())}
    return found


def lacks(estate: Estate, module: str) -> bool:
    """Whether the configuration loads modules, but *module* (an identifier) not under 2.4."""
    return module not in estate.new_modules and estate.has("loadmodule")


# what --------------------------------------------------------------------------------------------
def quoted(word: str) -> str:
    """*word* as an argument, in quotes where it needs them; what getword makes of it is *word*."""
    if word and not any(c in word for c in " \t\"'\\"):
        return word
    out = []
    for at, c in enumerate(word):
        follows = word[at + 1:at + 2]
        out.append("\\" + c if c == '"' or (c == "\\" and follows in ("\\", '"', "")) else c)
    return '"' + "".join(out) + '"'


def reads_back(word: str) -> bool:
    """Whether `quoted` has a form for *word* that httpd reads as the same."""
    return getword(quoted(word))[0] == word


# edits -------------------------------------------------------------------------------------------
def drop(estate: Estate, line: Statement) -> tuple[FileEdit, ...]:
    """Take *line* away, or keep it for 2.2 alone."""
    return swap(estate, line, ())


def change(estate: Estate, line: Statement, args: str) -> tuple[FileEdit, ...]:
    """Give *line* other arguments; with the wish for both versions, 2.2 keeps the old ones."""
    return swap(estate, line, [f"{line.node.name} {args}"]) if estate.wishes.also_22 else (line.put_args(args),)


def swap(estate: Estate, line: Statement, lines: Iterable[str]) -> tuple[FileEdit, ...]:
    """Put *lines* in the place of *line*; with the wish for both versions, 2.2 keeps the old one."""
    wanted = list(lines)
    if not estate.wishes.also_22:
        return (line.replace(wanted) if wanted else line.remove(),)
    return line.before([OLD]), line.after([END, *_for_24(wanted)])


def below(estate: Estate, line: Statement, lines: Iterable[str]) -> tuple[FileEdit, ...]:
    """Put *lines*, which only 2.4 takes, below *line*."""
    return (line.after(_wished(estate, lines)),)


def above(estate: Estate, line: Statement, lines: Iterable[str]) -> tuple[FileEdit, ...]:
    """Put *lines*, which only 2.4 takes, above *line*."""
    return (line.before(_wished(estate, lines)),)


def _wished(estate: Estate, lines: Iterable[str]) -> list[str]:
    return _for_24(list(lines)) if estate.wishes.also_22 else list(lines)


def _for_24(lines: list[str]) -> list[str]:
    return [NEW, *(f"    {line}" for line in lines), END] if lines else []
