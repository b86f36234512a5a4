"""A configuration without the virtual hosts that cannot answer one host: its answer is that of the whole.

A virtual host leaves the answers of the others alone, unless its lines reach beyond it. So a request is
answered by its own hosts, the first host of each address, and all hosts with changed text. Lines that are
left out become blank, so that numbers of lines stay. A reading of the whole confirms the answer afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass

MIN_HOSTS: Final = 24
"""Virtual hosts below which the whole is read at once."""
MAX_FILES: Final = 20_000
"""Files whose virtual hosts are remembered."""
_OPEN: Final = re.compile(rb"^[ \t]*<virtualhost\b([^\n]*)(?:\n|\Z)", re.IGNORECASE | re.MULTILINE)
_CLOSE: Final = re.compile(rb"^[ \t]*</virtualhost[ \t]*>", re.IGNORECASE | re.MULTILINE)
_NAMES: Final = re.compile(rb"^[ \t]*server(?:name|alias)[ \t]+([^\n]*)", re.IGNORECASE | re.MULTILINE)
_REACHES_BEYOND: Final = re.compile(
    rb"^[ \t]*(?:include|includeoptional|define|undefine|loadmodule|loadfile|use|undefmacro|</?macro"
    rb"|<perl|<lua|serverpath|dos\w+|rpaf\w+|md\w+|<md\w+|namevirtualhost|<virtualhost)\b",
    re.IGNORECASE | re.MULTILINE,
)
_HAS_NAME: Final = re.compile(rb"^[ \t]*servername[ \t]+[^\s$]", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class HostBlock:
    """One <VirtualHost> section of a file.

    Attributes:
        start, end: its bytes. *addresses*: the text of its tag.
        names: its names in lower case.
        is_plain: no line of it reaches beyond it, and its names have no wildcard.
    """

    start: int
    end: int
    addresses: bytes
    names: frozenset[bytes]
    text: bytes
    is_plain: bool


def host_blocks(data: bytes) -> list[HostBlock]:
    """Return the virtual hosts of a file; none for a file with macros."""
    if b"<macro" in data.lower():
        return []
    return list(_blocks(data))


def _blocks(data: bytes) -> Iterator[HostBlock]:
    at = 0
    while (tag := _OPEN.search(data, at)) is not None:
        close = _CLOSE.search(data, tag.end())
        if close is None:
            return
        body = data[tag.end() : close.start()]
        names = frozenset(word.lower() for found in _NAMES.finditer(body) for word in found[1].split())
        is_plain = (
            _REACHES_BEYOND.search(body) is None
            and _HAS_NAME.search(body) is not None
            and b"$" not in tag[1]
            and not any(set(name) & set(b'*?$"\\') for name in names)
        )
        addresses = b" ".join(tag[1].split()).lower()
        yield HostBlock(tag.start(), close.end(), addresses, names, data[tag.start() : close.end()], is_plain)
        at = close.end()


class ConfigSlices:
    """The slices of one configuration that loads.

    Key: the path of a file; value: its text with the virtual hosts, valid for this text; bound MAX_FILES;
    the oldest is evicted.
    """

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        self._texts = dict(texts)
        self._blocks: BoundedDict[str, tuple[bytes, list[HostBlock]]] = BoundedDict(MAX_FILES)
        self._emptied: BoundedDict[str, tuple[bytes, bytes]] = BoundedDict(MAX_FILES)
        self._good = {
            (path, block.text) for path, data in texts.items() for block in self._blocks_of(path, data)
        }

    @property
    def has_many_hosts(self) -> bool:
        """Return True if a slice is worth its making."""
        return len(self._good) >= MIN_HOSTS

    def texts_for(self, host: str, edits: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return the texts, by path, of files without virtual hosts that do not matter to *host*.

        *edits* are the files with changed text.
        """
        name = to_bytes(host.rpartition(":")[0] if _has_port(host) else host).lower().rstrip(b".")
        seen: set[bytes] = set()
        found: dict[str, bytes] = {}
        for path, disk in self._texts.items():
            data = edits.get(path, disk)
            blocks = self._blocks_of(path, data)
            dropped = [block for block in blocks if not self._is_needed(path, block, name, seen)]
            if not dropped:
                continue
            if len(dropped) == len(blocks):
                found[path] = self._without_all(path, data, blocks)
            else:
                found[path] = without(data, dropped)
        return found

    def _is_needed(self, path: str, block: HostBlock, name: bytes, seen: set[bytes]) -> bool:
        is_first = block.addresses not in seen
        seen.add(block.addresses)
        named = name in block.names or any(one.partition(b":")[0] == name for one in block.names)
        return is_first or not block.is_plain or named or (path, block.text) not in self._good

    def _blocks_of(self, path: str, data: bytes) -> list[HostBlock]:
        known = self._blocks.get(path)
        if known is None or known[0] != data:
            known = (data, host_blocks(data))
            self._blocks[path] = known
        return known[1]

    def _without_all(self, path: str, data: bytes, blocks: list[HostBlock]) -> bytes:
        known = self._emptied.get(path)
        if known is None or known[0] != data:
            known = (data, without(data, blocks))
            self._emptied[path] = known
        return known[1]


def _has_port(host: str) -> bool:
    return ":" in host and not host.endswith("]")


def without(data: bytes, blocks: list[HostBlock]) -> bytes:
    """Return *data* with blank lines in the place of *blocks*."""
    pieces = []
    at = 0
    for block in blocks:
        pieces += [data[at : block.start], b"\n" * block.text.count(b"\n")]
        at = block.end
    return b"".join([*pieces, data[at:]])
