"""Directories that lines with patterns map: those of users, of AliasMatch, and of all hosts of
VirtualDocumentRoot."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

from whimbrel.config.copied_paths import IN_PLACE, CopiedPaths
from whimbrel.upgrade.source.served_roots import VIRTUAL, fixed_part, user_words

PATTERNED: Final = frozenset(("userdir", "aliasmatch", "scriptaliasmatch"))
"""Directives that map URLs of one form to directories."""
MAX_USERS: Final = 200
"""The maximum number of directories of users of one word of UserDir."""
_LITERAL: Final = re.compile(r"\^?(/[\w/~.%-]*/)")


def mapped_directories(
    name: str, words: list[str], root: str, disk: CopiedPaths = IN_PLACE
) -> list[tuple[str, str]]:
    """Return URL prefixes with the directories that a line of `PATTERNED` maps them to, both with a slash.

    Of AliasMatch it is the part of both before the first group: most expressions copy the rest.
    """
    if name == "userdir":
        return [pair for word in user_words(words) if "://" not in word for pair in _of_users(word, disk)]
    if len(words) < 2:
        return []
    prefix = _LITERAL.match(words[0])
    target = fixed_part(os.path.join(root, words[1]), "$").rstrip("/")
    return [(prefix[1].replace("\\", "") if prefix is not None else "/", f"{target}/")] if target else []


def mass_directories(name: str, words: list[str], root: str) -> list[str]:
    """Return the directory, with its slash, that has those of all hosts of a VirtualDocumentRoot line."""
    if name not in VIRTUAL or not words or words[0].lower() == "none":
        return []
    fixed = fixed_part(os.path.join(root, words[0]), "%").rstrip("/")
    return [f"{fixed}/"] if fixed else []


def above(directory: str) -> Iterator[str]:
    """Yield the directories above *directory*, each with its slash, the root last."""
    while len(directory) > 1:
        directory = directory[: directory.rstrip("/").rfind("/") + 1]
        yield directory


def _of_users(word: str, disk: CopiedPaths) -> Iterator[tuple[str, str]]:
    """Yield the URLs and directories of users that exist, of `UserDir public_html`, `UserDir /srv/*/web` and
    `UserDir /srv/web`."""
    if word[:1] == "/":
        head, star, tail = word.partition("*")
        start = head if star else f"{word.rstrip('/')}/"
        found = [(name, f"{start}{name}{tail}") for name in disk.names_in(start)]
    else:
        found = [(user, f"{home.rstrip('/')}/{word}") for user, home in disk.homes()]
    existing = [(name, path) for name, path in found if disk.is_directory(path)]
    for name, path in existing[:MAX_USERS]:
        yield f"/~{name}/", f"{path.rstrip('/')}/"
