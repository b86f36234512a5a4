"""Files of a machine that no copy of its server gets: keys and certificates, logs, modules.

They can lie below a directory of documents: `<Directory /usr/local/apache2>` is about the whole ServerRoot.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.catalogue.written_files import WRITTEN, WrittenKind, written_path
from whimbrel.config.execute import root_relative
from whimbrel.upgrade.source.config_tree import ConfigTree

_ROTATED: Final = re.compile(r"[.-][0-9][0-9A-Za-z.-]*")
"""What follows the name of a log in the names of its older parts."""
_KEY: Final = re.compile(rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The files that are left out.

    Attributes:
        secrets: files and directories of keys and certificates, as the text names them.
    """

    secrets: Sequence[str]
    _exact: frozenset[str]
    _logs: frozenset[str]

    @classmethod
    def of(cls, tree: ConfigTree, secrets: Sequence[str]) -> LeftOut:
        """Return those of a server whose lines name the files *secrets* as keys or certificates."""
        modules: list[str] = []
        logs: list[str] = []
        for line in tree.all_statements():
            words = line.words()
            if line.name == "loadmodule" and len(words) > 1:
                modules.append(root_relative(tree.text_root, words[1]))
            elif WRITTEN.get(line.name) is WrittenKind.LOG and words:
                path = written_path(line.name, words[0])
                logs += [root_relative(tree.text_root, path)] if path else []
        exact = (tree.disk.on_disk(path) for path in (*secrets, *modules))
        return cls(secrets, frozenset(exact), frozenset(tree.disk.on_disk(path) for path in logs))

    def has(self, place: str) -> bool:
        """Return True if the file or directory at *place* is left out by its own name."""
        if place in self._exact or place in self._logs:
            return True
        return any(
            place.startswith(log) and _ROTATED.fullmatch(place, len(log)) is not None for log in self._logs
        )


def has_private_key(data: bytes) -> bool:
    """Return True if *data* contains a private key in PEM form (RFC 7468, section 10)."""
    return b"PRIVATE KEY-----" in data and _KEY.search(data) is not None
