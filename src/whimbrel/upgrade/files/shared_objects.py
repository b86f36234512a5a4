"""The httpd version of a module file, read from the file without running its code.

A module is a shared object that exports a `module` structure: version (int), minor version (int), index
(int), name (pointer), handle (pointer), next (pointer), magic (unsigned long), and so on. *version* is the
number of the API, 20051115 for 2.2 and 20120211 for 2.4; *magic* is the letters AP and the version, ``AP22``
or ``AP24``. Formats: System V ABI, ELF-64 and ELF-32.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Final

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass

VERSIONS: Final = {(20020903, "AP20"): "2.0", (20051115, "AP22"): "2.2", (20120211, "AP24"): "2.4"}
_DYNSYM = 11
_SYMTAB = 2
_NOBITS = 8
_OBJECT = 1


@dataclass(frozen=True, slots=True)
class ModuleRecord:
    """One module structure; *symbol* is its name in the file, which is the identifier of LoadModule."""

    symbol: str
    major: int
    minor: int
    cookie: str

    @property
    def api(self) -> str:
        """Return the version of httpd, "" for an unknown number."""
        return VERSIONS.get((self.major, self.cookie), "")


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """One file and its modules; a file without modules or an unreadable one has a *problem*."""

    path: str
    modules: tuple[ModuleRecord, ...] = ()
    problem: str = ""

    @property
    def api(self) -> str:
        """Return the version of httpd that the file was built for, "" if it is unknown."""
        versions = {module.api for module in self.modules}
        return versions.pop() if len(versions) == 1 else ""

    @property
    def text(self) -> str:
        """Return the description of the file as one line."""
        if self.problem:
            return self.problem
        if not self.modules:
            return "no module of httpd"
        first = self.modules[0]
        number = f"API {first.major}:{first.minor}, {first.cookie}"
        return f"built for {self.api} ({number})" if self.api else f"built for an unknown httpd ({number})"


class _ElfError(Exception):
    """The file is no readable shared object."""


@dataclass(frozen=True, slots=True)
class _Section:
    kind: int
    address: int
    offset: int
    size: int
    link: int
    entry: int


class _Elf:
    """The sections of an ELF file that symbols need."""

    def __init__(self, data: bytes) -> None:
        if data[:4] != b"\x7fELF" or len(data) < 52 or data[4] not in (1, 2) or data[5] not in (1, 2):
            raise _ElfError("no shared object (ELF)")
        self.data = data
        self.is_64_bit = data[4] == 2
        self.order = "<" if data[5] == 1 else ">"
        self.word = 8 if self.is_64_bit else 4
        self.sections = list(self._sections())

    def unpack(self, form: str, at: int) -> tuple[int, ...]:
        try:
            return struct.unpack_from(self.order + form, self.data, at)
        except struct.error:
            raise _ElfError("the file is truncated") from None

    def _sections(self) -> Iterator[_Section]:
        (offset,) = self.unpack("Q" if self.is_64_bit else "I", 40 if self.is_64_bit else 32)
        size, count, _names = self.unpack("HHH", 58 if self.is_64_bit else 46)
        for number in range(count):
            at = offset + number * size
            if self.is_64_bit:
                _, kind, _, address, start, length, link, _, _, entry = self.unpack("IIQQQQIIQQ", at)
            else:
                _, kind, _, address, start, length, link, _, _, entry = self.unpack("10I", at)
            yield _Section(kind, address, start, length, link, entry)

    def symbols(self) -> Iterator[tuple[str, int, int]]:
        """Yield the name, address and size of each defined object."""
        for table in self.sections:
            if table.kind not in (_DYNSYM, _SYMTAB) or not table.entry or table.link >= len(self.sections):
                continue
            names = self.sections[table.link]
            for at in range(table.offset, table.offset + table.size, table.entry):
                if self.is_64_bit:
                    name, info, _, section, value, size = self.unpack("IBBHQQ", at)
                else:
                    name, value, size, info, _, section = self.unpack("IIIBBH", at)
                if info & 15 == _OBJECT and section:
                    yield self._name(names.offset + name), value, size

    def _name(self, at: int) -> str:
        end = self.data.find(b"\0", at)
        return self.data[at : end if end >= 0 else at].decode("latin-1")

    def at(self, address: int) -> int | None:
        """Return the file offset of an address; None if the byte is not stored."""
        for section in self.sections:
            if (
                section.address
                and section.address <= address < section.address + section.size
                and section.kind != _NOBITS
            ):
                return section.offset + address - section.address
        return None


def read_modules(data: bytes) -> tuple[ModuleRecord, ...]:
    """Return the module structures in the bytes of a shared object; raises ValueError with the problem."""
    try:
        elf = _Elf(data)
        records = {
            symbol: module
            for symbol, address, size in elf.symbols()
            if (module := _module(elf, symbol, address, size)) is not None
        }
    except _ElfError as problem:
        raise ValueError(str(problem)) from None
    return tuple(records.values())


def _module(elf: _Elf, symbol: str, address: int, size: int) -> ModuleRecord | None:
    """Return the module structure at *address* if its cookie is valid, else None."""
    at = elf.at(address)
    magic = _magic_offset(elf.word)
    if at is None or size < magic + elf.word:
        return None
    major, minor = elf.unpack("ii", at)
    (cookie,) = elf.unpack("Q" if elf.is_64_bit else "I", at + magic)
    letters = cookie.to_bytes(elf.word, "big")[-4:]
    if letters[:2] != b"AP" or not letters[2:].isdigit():
        return None
    return ModuleRecord(symbol, major, minor, letters.decode("ascii"))


def _magic_offset(word: int) -> int:
    """Return the offset of the magic: three ints, padding up to a pointer, three pointers."""
    start = -(-12 // word) * word
    return start + 3 * word


def examine(path: str) -> ModuleFile:
    """Return the description of the file at *path*; its contents raise no exception."""
    try:
        return ModuleFile(path, read_modules(read_regular(to_bytes(path))))
    except OSError as problem:
        return ModuleFile(path, problem=f"cannot be read: {os.strerror(problem.errno or 0)}")
    except ValueError as problem:
        return ModuleFile(path, problem=str(problem))


def examine_directory(path: str) -> list[ModuleFile]:
    """Return the descriptions of all ``.so`` files in a directory and below it, by name.

    Raises OSError for an unreadable directory.
    """
    os.listdir(to_bytes(path))
    results = []
    for directory, below, names in os.walk(to_bytes(path)):
        below.sort()
        results += [
            examine(os.path.join(directory, name).decode("latin-1"))
            for name in sorted(names)
            if name.endswith(b".so")
        ]
    return results
