"""X02: without any Options 2.2 allows nearly everything, 2.4 only FollowSymLinks.

Document: documents/X02-no-options.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.access.sections import ancestors, slashed
from whimbrel.base.counts import and_more
from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.execute import root_relative
from whimbrel.syntax.words import getword
from whimbrel.upgrade.edits.helpers import insert_for_server
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.queries import is_24_config, is_in_main_server, main_statements, server_of
from whimbrel.upgrade.source.served_roots import WILD, user_words
from whimbrel.upgrade.source.suppressions import decided_line

_ANY: Final = frozenset(("*", "_default_"))
"""Words of <VirtualHost> for all addresses."""
_MAX_PATHS: Final = 3
"""Directories that a message names."""
_NAME: Final = "NAME"
"""The component of a path that stands for any user or host."""


@dataclass(frozen=True, slots=True)
class _Root:
    """A directory that requests are mapped to, with the line that maps them; None for no line."""

    path: str
    line: Statement | None

    @property
    def server(self) -> Statement | None:
        """The virtual host of the line."""
        return None if self.line is None else server_of(self.line)


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for a server with a directory that no Options without signs covers."""
    if is_24_config(tree) or not main_statements(tree):
        return
    plain = [line for line in tree.named("options") if line.file.role is Role.MAIN and replaces(line.words())]
    if any(map(is_in_main_server, plain)):
        return
    covered = [(server_of(line), path) for line in plain for path in _directories(line)]
    hosts = [] if _reaches_main(tree) else list(tree.named("<virtualhost"))
    uncovered = [
        root
        for root in _roots(tree)
        if not all(
            _is_covered(root.path, one, covered)
            for one in (hosts if root.server is None and hosts else [root.server])
        )
    ]
    inserted = insert_for_server(tree, ["Options All"]) if uncovered else None
    if inserted is not None:
        beside, edit = inserted
        line = decided_line(tree, "X02") or uncovered[0].line or beside
        paths = list(dict.fromkeys(root.path for root in uncovered))
        named = ", ".join(paths[:_MAX_PATHS]) + (
            and_more(len(paths) - _MAX_PATHS) if paths[_MAX_PATHS:] else ""
        )
        yield Finding(
            "X02",
            line.place,
            (
                f"no Options line applies to {named}: 2.2 lists directories and runs programs "
                "there, 2.4 only follows symbolic links"
            ),
            "write Options All, the default of 2.2, or only the options that are needed",
            Risk.CHANGES,
            Safety.SAFE,
            (edit,),
            decision="May every directory be listed and run programs, as in 2.2?",
            answers=(
                "yes: upgrade writes Options All",
                "no: write the Options that are needed in a <Directory> around each such directory, or "
                "# whimbrel: ignore[X02] above the line keeps the text as it is: only symbolic links are "
                "followed there",
            ),
        )


def _is_covered(path: str, server: Statement | None, covered: list[tuple[Statement | None, str]]) -> bool:
    """Return True if a line for *server*, or for all, applies to *path*."""
    return any(host in (None, server) and _applies(directory, path) for host, directory in covered)


def _applies(directory: str, path: str) -> bool:
    """Return True if a <Directory>, perhaps with wildcards, is about *path* or a directory above it."""
    top = slashed(directory)
    if not WILD & set(directory):
        return slashed(path).startswith(top)
    matches = compile_fnmatch(top, by_segment=True).search
    return any(matches(above) is not None for above in ancestors(slashed(path)))


def _reaches_main(tree: ConfigTree) -> bool:
    """Return True if a request may be of the main server: no host is for all that comes to an address."""
    listening = {word.lower() for line in tree.named("listen") for word in line.words()[:1]}
    hosts = {word.lower() for host in tree.named("<virtualhost") for word in host.args.rstrip("> ").split()}
    ports = {_port(word) for word in hosts if word.rpartition(":")[0] in _ANY or word in _ANY}
    caught = (word in hosts or _port(word) in ports for word in listening)
    return not hosts or ("" not in ports and not (listening and all(caught)))


def _port(address: str) -> str:
    """Return the port of an address, "" for all ports."""
    port = address.rpartition(":")[2] if ":" in address or address.isdigit() else ""
    return "" if port == "*" else port


def replaces(words: list[str]) -> bool:
    """Return True if the line sets all options instead of changing inherited ones."""
    return any(word[:1] not in ("+", "-") for word in words)


def _roots(tree: ConfigTree) -> list[_Root]:
    """Return the directories that requests are mapped to; a root path for a text that maps none.

    A component of a path that differs by host, user or URL is `_NAME`.
    """
    base = tree.text_root or "/"
    roots = []
    for name, at in (("documentroot", 0), ("alias", 1), ("aliasmatch", 1), ("virtualdocumentroot", 0)):
        for line in tree.named(name):
            words = line.words()
            if len(words) > at and not (name == "virtualdocumentroot" and words[at].lower() == "none"):
                roots.append(_Root(root_relative(base, _sample(name, words[at])), line))
    for line in tree.named("userdir"):
        roots += [_Root(path, line) for word in user_words(line.words()) for path in _of_users(tree, word)]
    return roots or [_Root("/", None)]


def _sample(directive: str, path: str) -> str:
    """Return *path* with `_NAME` for components with a variable part; "/" if it begins with one."""
    mark = {"aliasmatch": "$", "virtualdocumentroot": "%"}.get(directive)
    if mark is None:
        return path
    if path.startswith(mark):
        return "/"
    return "/".join(_NAME if mark in part else part for part in path.split("/"))


def _of_users(tree: ConfigTree, word: str) -> Iterator[str]:
    """Yield the directories of users for a word of UserDir; of a word below homes a path like those that
    sections with wildcards name, and those that exist here."""
    if "://" in word:
        return
    if word[:1] == "/":
        yield word.replace("*", _NAME) if "*" in word else f"{slashed(word)}{_NAME}"
        return
    patterns = (getword(section.args)[0] for section in tree.named("<directory"))
    named = [
        path for path in patterns if path[:1] == "/" and "*" in path and slashed(path).endswith(f"/{word}/")
    ]
    yield from (path.replace("*", _NAME) for path in named or [f"/home/*/{word}"])
    for _user, home in tree.disk.homes():
        if tree.disk.is_directory(path := f"{slashed(home)}{word}"):
            yield path


def _directories(line: Statement) -> list[str]:
    """Return the directory to which the line applies for its server: that of a <Directory> without a regular
    expression, or each for a line of a virtual host."""
    around = [section for section in line.enclosing() if not section.name.startswith("<if")]
    if around and around[-1].name == "<virtualhost":
        del around[-1]
        if not around:
            return ["/"]
    if len(around) == 1 and around[0].name == "<directory":
        path = getword(around[0].args)[0]
        if path[:1] == "/":
            return [path]
    return []


RULE = Rule("X02", "no-options", "Without Options 2.4 lists no directories", check)
