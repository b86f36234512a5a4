"""C29: the lock database of mod_dav_fs has another format.  Document: documents/C29-dav-lock-db.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.config.execute import root_relative
from whimbrel.upgrade.files.davlock import LockDatabase, recognize
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every lock database; an existing one of 2.2 must be deleted."""
    for line in tree.named("davlockdb"):
        words = line.words()
        if not words:
            continue
        path = tree.disk.openable(root_relative(tree.text_root or "/", words[0]))
        database = recognize(path)
        if database is LockDatabase.OF_22:
            yield Finding(
                "C29",
                line.place,
                ("2.2 wrote this lock database: 2.4 finds no lock in it, so locked files can be changed"),
                f"delete {path}.pag and {path}.dir while no server runs",
                Risk.OPENS,
            )
        elif database is not LockDatabase.OF_24:
            yield Finding(
                "C29",
                line.place,
                "the lock database has another format in 2.4",
                "delete the old files before 2.4 starts for the first time",
                Risk.COSMETIC,
            )


RULE = Rule("C29", "dav-lock-db", "The lock database has another format", check)
