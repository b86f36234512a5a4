"""The servers that map a URL to a directory, or to one above or below it: no other sections apply there.

A <Directory> inside a <VirtualHost> is in force for the requests of that host alone. Lines of the main server
that map URLs hold in each host, RewriteRule lines where RewriteOptions inherits them. DocumentRoot is
inherited by hosts without one; VirtualDocumentRoot takes its place.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Final

from whimbrel.access.sections import absolute_path
from whimbrel.upgrade.model import InputContext
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.queries import has_server_context, server_of
from whimbrel.upgrade.source.served_roots import VIRTUAL, executed_by_22, fixed_part, user_words

_TARGETS: Final = {
    "alias": 1,
    "aliasmatch": 1,
    "documentroot": 0,
    "scriptalias": 1,
    "scriptaliasmatch": 1,
    "wsgiscriptalias": 1,
    "wsgiscriptaliasmatch": 1,
    **dict.fromkeys(VIRTUAL, 0),
}
"""The number of the argument that names a directory or file."""
_OF_ONE_SERVER: Final = frozenset({"documentroot", "rewriterule"})
"""Directives of the main server that hold in no virtual host, or in those that inherit them."""
_DOCUMENT_ROOT: Final = "%{DOCUMENT_ROOT}"
_VARIABLE: Final = "$%"
"""Characters that begin a variable part of a path."""
_Parts = tuple[str, ...]


class ServingHosts:
    """The servers by the directories that URLs are mapped to; a server is its <VirtualHost>, or None."""

    def __init__(self, tree: ConfigTree) -> None:
        self._is_known = tree.context is InputContext.SERVER
        self._at: dict[_Parts, set[Statement | None]] = {}
        self._above: dict[_Parts, set[Statement | None]] = {}
        self._shared: set[_Parts] = set()
        self._above_shared: set[_Parts] = set()
        self._hosts = list(executed_by_22(tree, "<virtualhost"))
        self._known: dict[str, frozenset[Statement | None] | None] = {}
        for host, path in self._mapped(tree) if self._is_known else ():
            self._add(host, path, is_shared=False)
        for path in self._of_all(tree) if self._is_known else ():
            self._add(None, path, is_shared=True)
        self._in_homes = [f"/{word}/" for word in _user_words(tree) if word[:1] != "/"]

    def is_served_by(
        self, server: Statement | None, directory: str, others: Container[Statement | None] = ()
    ) -> bool:
        """Return True if the server may serve *directory*; the main server stands for each host that is not
        one of *others*.

        A directory that no line names may be served by each.
        """
        if directory not in self._known:
            self._known[directory] = self._servers(directory)
        servers = self._known[directory]
        if servers is None or server in servers:
            return True
        return server is None and any(host not in others for host in servers)

    def _servers(self, directory: str) -> frozenset[Statement | None] | None:
        """Return the servers of a directory, None if it may be any."""
        parts = _parts(directory)
        around = [parts[:count] for count in range(len(parts) + 1)]
        if parts in self._above_shared or any(path in self._shared for path in around):
            return None
        if any(word in f"{directory}/" for word in self._in_homes):
            return None
        found = set(self._above.get(parts, ()))
        for path in around:
            found.update(self._at.get(path, ()))
        return frozenset(found) or None

    def _add(self, host: Statement | None, path: str, *, is_shared: bool) -> None:
        parts = _parts(path)
        above = (parts[:count] for count in range(len(parts)))
        if is_shared:
            self._shared.add(parts)
            self._above_shared.update(above)
            return
        self._at.setdefault(parts, set()).add(host)
        for path_above in above:
            self._above.setdefault(path_above, set()).add(host)

    def _mapped(self, tree: ConfigTree) -> Iterator[tuple[Statement | None, str]]:
        """Yield each server with the directories that its own lines, or an inherited DocumentRoot, name."""
        roots: dict[Statement | None, str] = {}
        host_roots: dict[Statement | None, bool] = {
            server_of(line): bool(line.words()) and line.words()[0].lower() != "none"
            for line in executed_by_22(tree, "virtualdocumentroot", "virtualdocumentrootip")
        }
        inheriting = self._inheriting(tree)
        rewriting: set[Statement | None] = set()
        for line in _mapping_lines(tree):
            path = _target(tree, line)
            host = server_of(line)
            if line.name == "rewriterule":
                rewriting.update(inheriting if host is None else (host,))
            if line.name == "documentroot":
                roots[host] = path
            elif line.name == "rewriterule" and host is None:
                yield from ((one, path) for one in inheriting)
            elif host is not None:
                yield host, path
        main_root = roots.get(None) or absolute_path(tree.text_root, "htdocs")
        for host in (None, *self._hosts):
            # mod_rewrite appends a path that is no file to the DocumentRoot, in spite of VirtualDocumentRoot
            if host in rewriting or not host_roots.get(host, host_roots.get(None, False)):
                yield host, roots.get(host, main_root)

    def _inheriting(self, tree: ConfigTree) -> list[Statement | None]:
        """Return the servers that apply the RewriteRule lines of the main server: itself, and others by
        RewriteOptions."""
        inheriting: dict[Statement | None, None] = {None: None}
        for line in executed_by_22(tree, "rewriteoptions"):
            words = {word.lower() for word in line.words()}
            host = server_of(line)
            if host is None and words & {"inheritdown", "inheritdownbefore"}:
                return [None, *self._hosts]
            if has_server_context(line) and words & {"inherit", "inheritbefore"}:
                inheriting[host] = None
        return [*inheriting]

    def _of_all(self, tree: ConfigTree) -> Iterator[str]:
        """Yield the directories that lines of the main server name for all servers, and those of users."""
        for line in _mapping_lines(tree):
            if line.name not in _OF_ONE_SERVER and server_of(line) is None:
                yield _target(tree, line)
        for word in _user_words(tree):
            if word[:1] == "/":
                yield fixed_part(word, "*")
            else:
                yield from {f"{home.rstrip('/')}/{word}" for _user, home in tree.disk.homes()}


def _mapping_lines(tree: ConfigTree) -> Iterator[Statement]:
    """Yield the lines of servers that map URLs to files, if they have a target."""
    for line in executed_by_22(tree, *_TARGETS):
        words = line.words()
        at = _TARGETS[line.name]
        if len(words) > at and words[at] and words[at].lower() != "none":
            yield line
    for line in executed_by_22(tree, "rewriterule"):
        words = line.words()
        is_path = len(words) > 1 and words[1][:1] in ("/", "$", "%")
        if is_path and has_server_context(line) and not words[1].startswith(_DOCUMENT_ROOT):
            yield line


def _target(tree: ConfigTree, line: Statement) -> str:
    """Return the directory above the variable part of the path that the line names; "/" for any directory."""
    path = line.words()[_TARGETS.get(line.name, 1)]
    if line.name == "rewriterule":
        path = path.partition("?")[0]
    for mark in _VARIABLE:
        path = fixed_part(path, mark) if mark in path else path
    return absolute_path(tree.text_root, path) if path.strip("/") else "/"


def _user_words(tree: ConfigTree) -> list[str]:
    """Return the words of UserDir lines that name directories."""
    words = (word for line in executed_by_22(tree, "userdir") for word in user_words(line.words()))
    return [word for word in words if "://" not in word]


def _parts(path: str) -> _Parts:
    return tuple(part for part in path.split("/") if part)


def serving_hosts(tree: ConfigTree) -> ServingHosts:
    """Return the servers of *tree* by the directories that they serve."""
    known = tree.cache.get("serving hosts")
    if not isinstance(known, ServingHosts):
        known = ServingHosts(tree)
        tree.cache["serving hosts"] = known
    return known
