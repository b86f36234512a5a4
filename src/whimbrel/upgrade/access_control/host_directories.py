"""The files that exist below the directories of virtual hosts, and the .htaccess files of one host alone."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

from whimbrel.access.chains import Bounds, paths_below
from whimbrel.access.sections import absolute_path, ancestors, slashed
from whimbrel.upgrade.access_control.sections import AccessSection, Inventory
from whimbrel.upgrade.source.config_tree import Statement
from whimbrel.upgrade.source.served_roots import fixed_part

_MAX_FILES: Final = 1000
"""The maximum number of directories and files of one host that has equivalents."""


class HostDirectories:
    """The targets of all servers, and the .htaccess files below and above them.

    A .htaccess file is *owned* by a host if no other server maps a URL to its directory, or to one below, and
    no link leads there.
    """

    def __init__(self, root: str, inventory: Inventory, bounds: Bounds) -> None:
        self._bounds = bounds
        self._left = bounds.on_disk
        servers: dict[str, set[Statement | None]] = {}
        main_root = inventory.roots.get(None) or absolute_path(root, "htdocs")
        for server in (None, *inventory.servers):
            targets = [
                inventory.roots.get(server, main_root),
                *(path for _, path in inventory.aliases.get(server, ())),
            ]
            if inventory.host_root_of(server):
                targets.append(fixed_part(inventory.host_root_of(server), "%"))
            for target in targets:
                servers.setdefault(slashed(target), set()).add(server)
        by_file: dict[str, list[AccessSection]] = {}
        linked: set[str] = set()
        for section in inventory.sections:
            if section.in_htaccess:
                by_file.setdefault(slashed(section.file.directory), []).append(section)
                if section.file.linked:
                    linked.update(map(slashed, (section.file.directory, *section.file.linked)))
        self._owned: dict[Statement | None, list[AccessSection]] = {}
        self.shared: list[str] = []
        ordered = sorted(servers)
        for directory in sorted({*by_file, *linked}):
            users = _users(directory, servers, ordered)
            if len(users) == 1 and None not in users and directory not in linked:
                self._owned.setdefault(users.pop(), []).extend(by_file[directory])
            else:
                self.shared.append(directory)

    def owned(self, server: Statement) -> list[AccessSection]:
        """Return the .htaccess files of the host, with the sections in them."""
        return self._owned.get(server, [])

    @property
    def all_owned(self) -> set[AccessSection]:
        """The .htaccess files of all hosts, with the sections in them."""
        return {section for sections in self._owned.values() for section in sections}

    def has_shared_files(self, directory: str) -> bool:
        """Return True if a .htaccess file that is not owned applies to *directory*, or to one below."""
        if _begins(self.shared, directory):
            return True
        return any(
            at < len(self.shared) and self.shared[at] == above
            for above in ancestors(directory)
            for at in (bisect_left(self.shared, above),)
        )

    def paths_below(self, targets: Iterable[str]) -> list[tuple[str, ...] | None] | None:
        """Return the directories and files below each target, relative to it, sorted.

        A target that does not exist has None. The whole result is None if there are too many files.
        """
        below: list[tuple[str, ...] | None] = []
        left = _MAX_FILES
        for target in targets:
            if not self._bounds.disk.exists(target):
                below.append(None)
                continue
            if self._left < 0:
                return None
            top = target.rstrip("/")
            directories, files = paths_below(top, self._bounds)
            self._left -= len(directories) + len(files)
            left -= len(directories) + len(files)
            if left < 0:
                return None
            paths = [*directories, *(directory + name for directory, name in files)]
            below.append(tuple(sorted(path[len(top) :] for path in paths)))
        return below


def _users(
    directory: str, servers: dict[str, set[Statement | None]], ordered: Sequence[str]
) -> set[Statement | None]:
    """Return the servers with a target above, at or below *directory*; two of them if there are more."""
    users: set[Statement | None] = set()
    for above in ancestors(directory):
        users |= servers.get(above, set())
    at = bisect_left(ordered, directory)
    while len(users) < 2 and at < len(ordered) and ordered[at].startswith(directory):
        users |= servers[ordered[at]]
        at += 1
    return users


def _begins(ordered: Sequence[str], prefix: str) -> bool:
    at = bisect_left(ordered, prefix)
    return at < len(ordered) and ordered[at].startswith(prefix)
