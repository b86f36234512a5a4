"""Texts of a copied configuration, which starts by itself and reads and writes nothing of the original.

ServerRoot, the files that were copied, and what the server writes (logs, locks, its process number) are those
of the copy. Documents and scripts are not part of it: relative paths of them become absolute ones.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from whimbrel.base.counts import count_noun
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.real_paths import without_links
from whimbrel.catalogue.written_files import WRITTEN, written_directory, written_path
from whimbrel.config.execute import root_relative
from whimbrel.config.windows import is_windows_path
from whimbrel.directives.tokens import expand
from whimbrel.directives.tokens import words as words_of
from whimbrel.syntax.lines import V22_LINES, plain
from whimbrel.syntax.tree import Directive, Document, parse
from whimbrel.upgrade.files.named_files import READING

_INCLUDES: Final = ("include", "includeoptional")
_DOCUMENTS: Final = {"documentroot": 0, "alias": 1, "scriptalias": 1}
"""Directives of documents, with the position of the path."""
_MODULES: Final = {"loadmodule": 1, "loadfile": 0}
MAX_NAMES: Final = 6
"""Names of directives in the sentence about a copy."""


@dataclass(slots=True)
class Relocation:
    """The move of one configuration.

    Attributes:
        roots: the ServerRoot that is read, and that of the text.
        copy: the directory of the copy.
        copied: the paths of the files in the copy, as they were.
        values: those of the variables that have one value each; a path with another one stays.
        written: directories that the copy needs for what its server writes, filled by `relocated`.
        linked: directories of module files, below ServerRoot, filled by `relocated`.
        named: names of directives whose paths are those of the copy, with counts, filled by `relocated`.
    """

    roots: tuple[str, ...]
    copy: str
    copied: Collection[str]
    values: Mapping[str, str] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    linked: set[str] = field(default_factory=set)
    named: dict[str, int] = field(default_factory=dict)

    def relocated(self, document: Document) -> bytes:
        """Return the text of a file of the copy."""
        data = document.bytes
        pieces = list[bytes]()
        at = 0
        for node in document.walk():
            if not isinstance(node, Directive):
                continue
            for old, new in self._words(node.name.lower(), words_of(node.args)):
                start = data.find(to_bytes(old), max(node.start + len(node.name), at), node.end)
                if start >= 0 and old != new:
                    if new.startswith(self.copy):
                        self.named[node.name] = self.named.get(node.name, 0) + 1
                    is_quoted = data[start - 1 : start] in (b'"', b"'")
                    text = f'"{new}"' if " " in new and not is_quoted else new
                    pieces += [data[at:start], to_bytes(text)]
                    at = start + len(to_bytes(old))
        return b"".join((*pieces, data[at:]))

    def _words(self, name: str, words: list[str]) -> Iterator[tuple[str, str]]:
        """Yield the words of one line that change, with the new ones."""
        if name == "serverroot" and words:
            if is_windows_path(words[0]):
                return  # no directory of this machine stands for it, and it shows the system
            yield words[0], self.copy
        elif name in _INCLUDES and words:
            yield words[0], self._moved(words[0])
        elif name in WRITTEN:
            path = written_path(name, words[0]) if words else ""
            if path:
                moved = self._moved(path)
                self._note_written(name, moved)
                yield path, moved
        elif name in _MODULES and len(words) > _MODULES[name]:
            path = words[_MODULES[name]]
            yield path, self._unmoved(path)
            directory, slash, _file = self._unmoved(path).rpartition("/")
            if slash and not directory.startswith("/"):
                self.linked.add(directory)
        elif name in _DOCUMENTS and len(words) > _DOCUMENTS[name]:
            path = words[_DOCUMENTS[name]]
            if not path.startswith(("/", "$", "|")) and not is_windows_path(path):
                yield path, f"{self.roots[0]}/{path}"
        else:
            for word in words:
                path = word.partition(":")[2] if name == "rewritemap" else word
                if self._original(path) in self.copied:
                    yield path, self._moved(path)
                elif name in READING:
                    yield path, self._unmoved(path)

    def _note_written(self, name: str, path: str) -> None:
        inside = path.removeprefix(f"{self.copy}/")
        directory = written_directory(name, inside)
        if directory and not inside.startswith(("/", "$")):
            self.written.add(directory)

    def _moved(self, path: str) -> str:
        expanded = self._expanded(path)
        for root in self.roots:
            if expanded.startswith(f"{root}/"):
                return self.copy + expanded[len(root) :]
        return self._unmoved(path)

    def _unmoved(self, path: str) -> str:
        """Return the absolute path for a relative one that leads out of the ServerRoot, which the copy does
        not move; others as they are.
        """
        expanded = self._expanded(path)
        if ".." not in expanded or expanded.startswith(("/", "$", "|")):
            return path
        full = root_relative(self.roots[0], expanded)
        return path if full.startswith(f"{self.roots[0]}/") else full

    def _expanded(self, path: str) -> str:
        path = expand(path, self.values.get) if "${" in path else path
        return root_relative("/", path) if path.startswith("/") else path

    def _original(self, path: str) -> str:
        """Return the path as it was read: the text may name another ServerRoot."""
        path = self._expanded(path)
        for root in self.roots[1:]:
            if path.startswith(f"{root}/"):
                return self.roots[0] + path[len(root) :]
        return path


def facts_of(named: Mapping[str, int], copy: str) -> Iterator[str]:
    """Yield the sentence about the lines that make *copy* a server of its own, for who would put it in the
    place of the old one. *named* are those of `Relocation.named`.
    """
    if not named:
        return
    counts = sorted(named.items(), key=lambda one: (one[0].lower() not in ("serverroot", *_INCLUDES), one[0]))
    words = [name if count == 1 else f"{count} {name} lines" for name, count in counts[:MAX_NAMES]]
    more = sum(count for _, count in counts[MAX_NAMES:])
    words += [count_noun(more, "other line")] if more else []
    listed = " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
    yield (
        f"{listed} of the copy point{'s' * (sum(named.values()) == 1)} into {copy}: it is a server to try in "
        f"that place; its files in the place of the old ones would still read {copy}"
    )


def roots_of(directory: str, texts: Iterable[bytes]) -> tuple[str, ...]:
    """Return the directory that is copied, and the ServerRoot of the text if that is another one."""
    found = {directory.rstrip("/"): None}
    for data in texts:
        if b"serverroot" not in data.lower() and plain(to_text(data)):
            continue
        for node in parse(data, V22_LINES).walk():
            if isinstance(node, Directive) and node.name.lower() == "serverroot":
                words = words_of(node.args)
                if words and words[0].startswith("/"):
                    found[words[0].rstrip("/")] = None
    return tuple(found)


def links_of(directory: str, linked: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the directories of modules that exist here, with what they are."""
    for name in sorted(linked):
        path = without_links(to_bytes(f"{directory.rstrip('/')}/{name}"))
        if os.path.isdir(path):
            yield name, path
