"""X02: without any Options 2.2 allows nearly everything, 2.4 only FollowSymLinks.  Document: documents/X02-no-options.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.config.execute import root_relative
from whimbrel.syntax.words import getword
from whimbrel.upgrade.estate import Estate, Role, Statement
from whimbrel.upgrade.mending import for_server, in_server, is_new, main_statements
from whimbrel.upgrade.model import Finding, Risk, Rule, Safety


def check(estate: Estate) -> Iterator[Finding]:
    """A server whose folders are not all covered by Options without signs."""
    if is_new(estate) or not main_statements(estate):
        return
    plain = [line for line in estate.named("options") if line.file.role is Role.MAIN and replaces(line.words())]
    if any(map(in_server, plain)):
        return
    covered = [path for line in plain for path in _folders(line)]
    bare = [path for path in roots(estate) if not any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in covered)]
    place = for_server(estate, ["Options All"]) if bare else None
    if place is not None:
        line, edit = place
        yield Finding(
            "X02",
            line.place,
            f"no Options line speaks about {bare[0]}: 2.2 lists folders and runs programs there, 2.4 only follows symbolic links",
            "write Options All, 2.2's default, or better what is needed",
            Risk.CHANGES,
            Safety.SAFE,
            (edit,),
            decision="which Options are needed: All lists directories and runs programs everywhere, as under 2.2",
        )


def replaces(words: list[str]) -> bool:
    """Whether the line says everything itself instead of changing what holds outside."""
    return any(word[:1] not in ("+", "-") for word in words)


def roots(estate: Estate) -> list[str]:
    """The folders that requests lead to; one that nobody can name stands for a server without DocumentRoot."""
    found = []
    for name, at in (("documentroot", 0), ("alias", 1)):
        for line in estate.named(name):
            words = line.words()
            if len(words) > at:
                found.append(root_relative(estate.root or "/", words[at]))
    vague = any(estate.named("virtualdocumentroot", "aliasmatch", "userdir"))
    return [*found, "/"] if vague or not found else found


def _folders(line: Statement) -> list[str]:
    """The folder for which the line holds for everybody: a plain <Directory> of the whole server."""
    around = [section for section in line.enclosing() if not section.name.startswith("<if")]
    if len(around) == 1 and around[0].name == "<directory":
        path = getword(around[0].args)[0]
        if path[:1] == "/" and not set("*?[") & set(path):
            return [path]
    return []


RULE = Rule("X02", "no-options", "Without Options 2.4 lists no folders", check)
