"""The directive tables of an installed httpd, from its program and module files (ELF, 64-bit, little-endian).

`-L` prints names, help texts and contexts only; the tables also hold the argument shape and every bit of the
contexts.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SHAPES = (
    "RAW_ARGS",
    "TAKE1",
    "TAKE2",
    "ITERATE",
    "ITERATE2",
    "FLAG",
    "NO_ARGS",
    "TAKE12",
    "TAKE3",
    "TAKE23",
    "TAKE123",
    "TAKE13",
    "TAKE_ARGV",
)
MODULE_MAGIC = 0x41503234  # "AP24"
RELATIVE = (8, 0x403)  # the relocation types of x86-64 and aarch64 that hold an address of the same file


@dataclass(frozen=True)
class TableRow:
    """One row of a module's table as the program holds it."""

    name: str
    where: int
    args: str
    help: str


@dataclass(frozen=True)
class Table:
    """One module: *identifier* as LoadModule names it, *source* as in -l; *has_dir_config*: it has
    per-directory settings.
    """

    identifier: str
    source: str
    folders: bool
    rows: tuple[TableRow, ...]


class Elf:
    """Parts of one ELF file: bytes by address, pointers after relocation, exported names."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        head = struct.unpack_from("<HHIQQQIHHHHHH", self.data, 16)
        self.segments = [
            struct.unpack_from("<IIQQQQQQ", self.data, head[4] + i * head[8]) for i in range(head[9])
        ]
        self.sections = [
            struct.unpack_from("<IIQQQQIIQQ", self.data, head[5] + i * head[10]) for i in range(head[11])
        ]
        self.pointers = dict(self._relocations())

    def _relocations(self) -> Iterator[tuple[int, int]]:
        symbols = [value for _, value in self.symbols()]
        for section in self.sections:
            if section[1] == 4:  # SHT_RELA
                for offset, info, addend in struct.iter_unpack(
                    "<QQq", self.data[section[4] : section[4] + section[5]]
                ):
                    yield (
                        offset,
                        addend
                        if info & 0xFFFFFFFF in RELATIVE or info >> 32 >= len(symbols)
                        else symbols[info >> 32] + addend,
                    )

    def symbols(self) -> list[tuple[str, int]]:
        """Return every dynamic symbol in order: (name, address)."""
        for section in self.sections:
            if section[1] == 11:  # SHT_DYNSYM
                names = self.sections[section[6]][4]
                table = self.data[section[4] : section[4] + section[5]]
                return [
                    (self._string(names + name), value)
                    for name, _, _, _, value, _ in struct.iter_unpack("<IBBHQQ", table)
                ]
        return []

    def _string(self, offset: int) -> str:
        return self.data[offset : self.data.index(b"\0", offset)].decode("latin-1")

    def _offset(self, address: int) -> int:
        for kind, _, offset, start, _, size, _, _ in self.segments:
            if kind == 1 and start <= address < start + size:
                return address - start + offset
        raise ValueError(f"no such address: {address:#x}")

    def text(self, address: int) -> str:
        """Return the C string at *address*."""
        return self._string(self._offset(address))

    def word(self, address: int) -> int:
        """Return the 32-bit number at *address*."""
        return int(struct.unpack_from("<I", self.data, self._offset(address))[0])


def tables(path: Path) -> list[Table]:
    """Return every module that the file *path* exports, with its rows in order."""
    elf = Elf(path)
    found = []
    for name, address in elf.symbols():
        if (
            name.endswith("_module")
            and address
            and address + 16 in elf.pointers
            and elf.word(address + 40) == MODULE_MAGIC
        ):
            source = elf.text(elf.pointers[address + 16]).rsplit("/", 1)[-1]
            rows = tuple(_rows(elf, elf.pointers.get(address + 88, 0)))
            found.append(Table(name, source, bool(elf.pointers.get(address + 56)), rows))
    return found


def _rows(elf: Elf, address: int) -> Iterator[TableRow]:
    """Yield the rows of a table of (name, function, data, contexts, shape, help) up to the row without a
    name.
    """
    while address and elf.pointers.get(address):
        text = elf.pointers.get(address + 32)
        yield TableRow(
            elf.text(elf.pointers[address]),
            elf.word(address + 24),
            SHAPES[elf.word(address + 28)],
            elf.text(text) if text else "",
        )
        address += 40
