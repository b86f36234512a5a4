"""Stored passwords whose check was not ended: the answers of their users are not known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.config.execute import root_relative
from whimbrel.modules.support.dbm.open import DbmFile, DbmUnreadable
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.verify.config_lines import ConfigLine, SideLines, lines_of
from whimbrel.verify.password_checks import MAX_SECONDS

_PASSWORD_FILES: Final = frozenset(("authuserfile", "authdigestfile"))


def undecided_passwords(lines: SideLines) -> Iterator[UnknownItem]:
    """Yield an item for each stored password that no check decided about, at its line of a password file;
    one without a place for those that no file has (DBM, a database)."""
    undecided = lines.side.runtime.passwords.undecided
    if not undecided:
        return
    named = set[str]()
    for text, path, _ in password_files(lines):
        for number, row in enumerate(text.splitlines(), 1):
            user, _, stored = row.partition(":")
            stored = stored.partition(":")[0].rstrip()
            if stored in undecided:
                named.add(stored)
                yield _item(SourceLocation(path, number), f"the stored password of {user}")
    if undecided - named:
        yield _item(None, "the stored password of the user")


def password_files(lines: SideLines) -> Iterator[tuple[str, str, ConfigLine]]:
    """Yield the text and path of each password file that is here, with the first line that names it."""
    seen = set[str]()
    disk = lines.side.loaded.disk
    for line in lines_of(lines.scopes):
        words = line.words() if line.name in _PASSWORD_FILES else []
        path = root_relative(lines.side.loaded.root, words[0]) if words and words[0] else ""
        if path and path not in seen and disk.is_file(path):
            seen.add(path)
            try:
                yield to_text(read_regular(to_bytes(disk.on_disk(path)))), disk.openable(path), line
            except OSError:
                continue


def dbm_files(lines: SideLines) -> Iterator[tuple[dict[str, str], ConfigLine]]:
    """Yield the entries of each DBM file of users that is here, with the first line that names it."""
    seen = set[tuple[str, str]]()
    disk = lines.side.loaded.disk
    for line in lines_of(lines.scopes):
        words = line.words() if line.name == "authdbmuserfile" else []
        if not words or not words[0]:
            continue
        types = [other.words() for other in line.scope.lines if other.name == "authdbmtype"]
        kind = types[-1][0] if types and types[-1] else "default"
        path = disk.on_disk(root_relative(lines.side.loaded.root, words[0]))
        if (path, kind) not in seen:
            seen.add((path, kind))
            try:
                yield DbmFile(path, kind).entries(), line
            except DbmUnreadable:
                continue


def _item(place: SourceLocation | None, subject: str) -> UnknownItem:
    return UnknownItem(
        UnknownKind.USERS_UNKNOWN,
        place,
        f"{subject} takes more than {MAX_SECONDS} s to check",
        "the password was taken as wrong",
        "hash it again with a smaller cost (htpasswd)",
    )
