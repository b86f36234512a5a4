"""The directories that URLs are mapped to: those that lines name, and those that their patterns match here.

A pattern whose variable part may contain any path (AliasMatch, VirtualDocumentRoot) yields the directory
above that part: all below it may be served.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.base.regex import Regex, RegexError, compile_regex
from whimbrel.config.copied_paths import CopiedPaths
from whimbrel.config.execute import root_relative
from whimbrel.syntax.words import getword
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement

WILD: Final = frozenset("*?[")
MAX_MATCHES: Final = 10_000
"""The maximum number of directories that one pattern yields."""
_TARGETS: Final = {"documentroot": 0, "alias": 1, "scriptalias": 1}
_MATCHES: Final = {"aliasmatch": 1, "scriptaliasmatch": 1}
VIRTUAL: Final = (
    "virtualdocumentroot",
    "virtualdocumentrootip",
    "virtualscriptalias",
    "virtualscriptaliasip",
)
"""Directives that map each host to a directory of its own."""
_USER_KEYWORDS: Final = ("enable", "enabled", "disable", "disabled")
_SPECIAL: Final = re.compile(r"[\\.^$*+?()\[\]{}|]")
_ESCAPED: Final = re.compile(r"\\([./_-])")


@dataclass(frozen=True, slots=True)
class ServedRoot:
    """One directory of the configuration; .htaccess files may be read in it and below.

    Attributes:
        path: as the configuration names it.
        line: the line that names it.
        is_named: a line maps URLs to this very path, so that it exists where the server runs.
        pattern: only directories that match it, and all below them, are served; None for all.
        starts: names in the directory that begin with one of them are served, and all below; () for all.
    """

    path: str
    line: Statement
    is_named: bool = True
    pattern: Regex | None = None
    starts: tuple[str, ...] = ()


def executed_by_22(tree: ConfigTree, *names: str) -> Iterator[Statement]:
    """Yield the statements that 2.2 executes, whether 2.4 does or not."""
    return (line for line in tree.named(*names, include_inactive=True) if line.in_22 is not False)


def served_roots(
    tree: ConfigTree, default_root: str, to_local: Callable[[str], str]
) -> dict[str, ServedRoot]:
    """Return the roots by path, sorted, so that one inside another follows it.

    *default_root* is the root of a server without DocumentRoot, "" if it is unknown. *to_local* maps a path
    of the configuration to this machine.
    """
    roots: dict[str, ServedRoot] = {}
    for root in _all(tree, to_local):
        known = roots.get(root.path)
        if known is None:
            roots[root.path] = root
        else:
            pattern = known.pattern if root.pattern is not None else None
            named = known if known.is_named else root
            starts = known.starts + root.starts if known.starts and root.starts else ()
            if named.pattern is not pattern or named.starts != starts:
                named = replace(named, pattern=pattern, starts=starts)
            roots[root.path] = named
    first = next(iter(tree.statements), None)
    if default_root and first is not None and not any(executed_by_22(tree, "documentroot")):
        roots.setdefault(default_root, ServedRoot(default_root, first, is_named=False))
    return {path: roots[path] for path in sorted(roots) if path.strip("/")}


def _all(tree: ConfigTree, to_local: Callable[[str], str]) -> Iterator[ServedRoot]:
    base = tree.text_root or "/"
    for name, at in _TARGETS.items():
        for line in executed_by_22(tree, name):
            words = line.words()
            if len(words) > at and words[at]:
                yield ServedRoot(root_relative(base, words[at]), line)
    for name, at in _MATCHES.items():
        for line in executed_by_22(tree, name):
            words = line.words()
            if len(words) > at and words[at]:
                yield from _above(root_relative(base, words[at]), "$", line)
    for line in executed_by_22(tree, *VIRTUAL):
        path = getword(line.args)[0]
        if path and path.lower() != "none":
            yield from _above(root_relative(base, path), "%", line)
    yield from _of_users(tree, to_local)
    yield from _of_sections(tree, to_local)


def _above(path: str, mark: str, line: Statement) -> Iterator[ServedRoot]:
    """Yield the part of *path* above the first component that contains *mark*."""
    fixed = fixed_part(path, mark)
    if fixed.strip("/"):
        start = path[len(fixed) :].partition(mark)[0].lstrip("/")
        is_unbounded = fixed == path or not start
        yield ServedRoot(fixed, line, starts=() if is_unbounded else (start,))


def fixed_part(path: str, mark: str) -> str:
    """Return *path* without its first component that contains *mark*, and what follows it."""
    head, found, _ = path.partition(mark)
    return head.rpartition("/")[0] if found else path


def user_words(words: list[str]) -> list[str]:
    """Return the words of a UserDir line that name directories or URLs."""
    return [] if words and words[0].lower() in _USER_KEYWORDS else words


def _of_users(tree: ConfigTree, to_local: Callable[[str], str]) -> Iterator[ServedRoot]:
    """Yield the directories of users: `UserDir public_html` below each home, `UserDir /srv/*/web` and
    `UserDir /srv/web` for each name that exists there."""
    for line in executed_by_22(tree, "userdir"):
        for word in user_words(line.words()):
            if word[:1] == "/":
                pattern = word if "*" in word else f"{word.rstrip('/')}/*"
                for path in _matching(pattern, to_local, tree, line):
                    yield ServedRoot(path, line, is_named=False)
            elif "://" not in word and "*" not in word:
                for home in sorted({home for _user, home in tree.disk.homes()}):
                    path = f"{home.rstrip('/')}/{word}"
                    local = to_local(path)
                    if local and tree.disk.is_directory(local):
                        yield ServedRoot(path, line, is_named=False)


def _of_sections(tree: ConfigTree, to_local: Callable[[str], str]) -> Iterator[ServedRoot]:
    for line in executed_by_22(tree, "<directory", "<directorymatch"):
        words = line.words()
        if line.name == "<directorymatch" or words[:1] == ["~"]:
            yield from _of_expression(words[-1] if words else "", line)
            continue
        path = getword(line.args)[0]
        if path[:1] != "/" or path.count("/", 0, len(path.rstrip("/"))) < 2:
            continue
        if WILD & set(path):
            for found in _matching(path, to_local, tree, line):
                yield ServedRoot(found, line, is_named=False)
        else:
            yield ServedRoot(root_relative("/", path), line, is_named=False)


def _of_expression(pattern: str, line: Statement) -> Iterator[ServedRoot]:
    """Yield the directory that every match of an anchored expression lies in; one without such a directory is
    about directories of other roots."""
    if pattern[:2] != "^/" or "|" in pattern:
        return
    text = _ESCAPED.sub(lambda found: found[1] if found[1] != "." else "\0", pattern[1:])
    special = _SPECIAL.search(text)
    head = (text if special is None else text[: special.start()]).replace("\0", ".")
    head = head.rpartition("/")[0] if special is not None else head
    if head.strip("/"):
        try:
            yield ServedRoot(head, line, is_named=False, pattern=compile_regex(pattern))
        except RegexError:
            return


def _matching(
    pattern: str, to_local: Callable[[str], str], tree: ConfigTree, line: Statement
) -> Iterator[str]:
    """Yield the directories of this machine that *pattern* matches, as the configuration names them; those
    beyond `MAX_MATCHES` become an unread part of *tree*."""
    found = [""]
    for part in pattern.split("/"):
        if not part:
            continue
        if not WILD & set(part):
            found = [f"{path}/{part}" for path in found]
            continue
        matches = compile_fnmatch(part).search
        found = [
            f"{path}/{name}"
            for path in found
            for name in _directories(to_local(path or "/"), tree.disk)
            if matches(name) is not None
        ]
        if len(found) > MAX_MATCHES:
            del found[MAX_MATCHES:]
            text = f"more than {MAX_MATCHES} directories match {pattern}: not all were searched"
            tree.unread.append(UnknownItem(UnknownKind.LEFT_OUT, line.place, text))
    for path in found:
        local = to_local(path)
        if local and tree.disk.is_directory(local):
            yield path


def _directories(path: str, disk: CopiedPaths) -> list[str]:
    """Return the names of the directories in *path*; none for "", which is not here."""
    top = path.rstrip("/")
    return [name for name in disk.names_in(path) if disk.is_directory(f"{top}/{name}")] if path else []
