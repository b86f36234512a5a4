"""The paths of UserDir: the URL path of each user whose directory has access lines of its own, of some users
whose directories exist, and of one other user.

A request for ``/~name`` meets the sections of the virtual host that it is made to, whoever's directory it is.
Source: httpd's mod_userdir.c, translate_userdir.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Iterable, Iterator
from typing import Final

from whimbrel.access.sections import absolute_path
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.queries import server_of
from whimbrel.upgrade.source.served_roots import executed_by_22, user_words

_OTHER: Final = "user"
"""The name that stands for a user without access lines."""
_HOME: Final = "/home/*"
_MAX_EXISTING: Final = 4
"""The maximum number of users of one pattern without access lines whose existing files are tried: sections
about names decide there as in the directories of other users."""
_MAX_USERS: Final = 64
"""The maximum number of users of one line: each is a path that every virtual host looks through."""


def user_paths(
    tree: ConfigTree, directories: Iterable[str]
) -> Iterator[tuple[Statement | None, tuple[str, str]]]:
    """Yield the server, URL path and file path of each user that one of *directories* belongs to, of some
    with a directory on this disk, and of one other user.

    *directories* are absolute, with a slash at the end; so is the file path, and the URL path is without.
    """
    lines = [line for line in executed_by_22(tree, "userdir") if user_words(line.words())]
    directories = list(directories) if lines else []
    for line in lines:
        users: dict[str, str] = {}
        for word in line.words():
            for pattern in _patterns(tree, word):
                expression = re.compile(re.escape(pattern).replace(r"\*", "([^/]+)", 1))
                found = (expression.match(directory) for directory in directories)
                matches = [match for match in found if match is not None]
                named = dict.fromkeys(match[1] for match in matches)
                names = dict.fromkeys([*named, *_existing(tree, pattern, named), _OTHER])
                for name in names:
                    users.setdefault(name, pattern.replace("*", name))
        if len(users) > _MAX_USERS:
            text = (
                f"of the users of UserDir with access lines only {_MAX_USERS} were tried in each virtual host"
            )
            item = UnknownItem(UnknownKind.LEFT_OUT, line.place, text)
            if item not in tree.unread:
                tree.unread.append(item)
        for name, path in itertools.islice(users.items(), _MAX_USERS):
            yield server_of(line), (f"/~{name}", path)


def _existing(tree: ConfigTree, pattern: str, named: Container[str]) -> Iterator[str]:
    """Yield the first users whose directory exists and who are not *named*."""
    above, _, rest = pattern.partition("*")
    others = (name for name in tree.disk.names_in(above) if name not in named)
    found = (name for name in others if tree.disk.is_directory(f"{above}{name}{rest}"))
    yield from itertools.islice(found, _MAX_EXISTING)


def _patterns(tree: ConfigTree, word: str) -> Iterator[str]:
    """Yield the directories of a word of UserDir, with a ``*`` for the user and a slash at the end."""
    if "://" in word:
        return
    if word[:1] != "/":
        homes = {home.rstrip("/").rpartition("/")[0] for _user, home in tree.disk.homes()}
        yield from (
            f"{above}/*/{word.rstrip('/')}/" for above in [_HOME[:-2], *sorted(homes - {"", _HOME[:-2]})]
        )
        return
    path = absolute_path(tree.text_root, word).rstrip("/")
    yield f"{path}/" if "*" in path else f"{path}/*/"
