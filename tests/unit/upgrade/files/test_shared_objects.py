"""What module files were built for: Debian's own modules, and files put together by hand."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from whimbrel.base.latin1 import from_system
from whimbrel.upgrade.files.shared_objects import ModuleRecord, examine, examine_directory, read_modules

DEBIAN = Path("/usr/lib/apache2/modules")


def elf(
    major: int,
    cookie: bytes,
    *,
    wide: bool = True,
    little: bool = True,
    minor: int = 41,
    symbol: bytes = b"my_module",
) -> bytes:
    """A shared object with one symbol table and one data section that holds a module record."""
    order, word = ("<" if little else ">"), (8 if wide else 4)
    head = 64 if wide else 52
    record = struct.pack(order + "iii", major, minor, -1) + bytes(4 if wide else 0) + bytes(3 * word)
    record += int.from_bytes(cookie, "big").to_bytes(word, "little" if little else "big") + bytes(8 * word)
    names = b"\0" + symbol + b"\0"
    address = 0x1000
    if wide:
        symbols = bytes(24) + struct.pack(order + "IBBHQQ", 1, 0x11, 0, 3, address, len(record))
    else:
        symbols = bytes(16) + struct.pack(order + "IIIBBH", 1, address, len(record), 0x11, 0, 3)
    places = [head, head + len(symbols), head + len(symbols) + len(names)]
    sections = [
        (0, 0, 0, 0, 0, 0),
        (11, 0, places[0], len(symbols), 2, 24 if wide else 16),
        (3, 0, places[1], len(names), 0, 0),
        (1, address, places[2], len(record), 0, 0),
    ]
    form = "IIQQQQIIQQ" if wide else "10I"
    table = b"".join(
        struct.pack(order + form, 0, kind, 0, at, start, size, link, 0, 0, entry)
        for kind, at, start, size, link, entry in sections
    )
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1 if little else 2, 1]) + bytes(9)
    after = places[2] + len(record)
    middle = struct.pack(order + ("HHIQQQI" if wide else "HHIIIII"), 3, 62, 1, 0, 0, after, 0)
    sizes = struct.pack(order + "HHHHHH", head, 0, 0, len(table) // len(sections), len(sections), 2)
    return ident + middle + sizes + symbols + names + record + table


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize(
    ("major", "cookie", "api"),
    [
        (20051115, b"AP22", "2.2"),
        (20120211, b"AP24", "2.4"),
        (20020903, b"AP20", "2.0"),
        (20111111, b"AP24", ""),
    ],
)
def test_the_record_of_a_module(major: int, cookie: bytes, api: str, *, wide: bool, little: bool) -> None:
    found = read_modules(elf(major, cookie, wide=wide, little=little))
    assert found == (ModuleRecord("my_module", major, 41, cookie.decode()),)
    assert found[0].api == api


@pytest.mark.parametrize("data", [b"", b"#!/bin/sh\n", b"\x7fELF" + bytes(8), elf(20051115, b"AP22")[:200]])
def test_what_is_no_shared_object(data: bytes) -> None:
    with pytest.raises(ValueError, match="shared object|truncated"):
        read_modules(data)


def test_objects_without_cookie_are_no_modules() -> None:
    assert read_modules(elf(20051115, b"XXXX")) == ()


def test_every_cut_of_a_file_is_told_or_read() -> None:
    whole = elf(20051115, b"AP22")
    for size in range(len(whole)):
        try:
            assert read_modules(whole[:size]) in ((), read_modules(whole))
        except ValueError:
            continue


def test_verdicts(tmp_path: Path) -> None:
    (tmp_path / "mod_old.so").write_bytes(elf(20051115, b"AP22"))
    (tmp_path / "libz.so").write_bytes(elf(1, b"XXXX"))
    (tmp_path / "text.so").write_bytes(b"text")
    found = {
        Path(one.path).name: (one.api, one.text) for one in examine_directory(from_system(str(tmp_path)))
    }
    assert found == {
        "mod_old.so": ("2.2", "built for 2.2 (API 20051115:41, AP22)"),
        "libz.so": ("", "no module of httpd"),
        "text.so": ("", "no shared object (ELF)"),
    }
    assert "cannot be read" in examine(from_system(str(tmp_path / "none.so"))).text


@pytest.mark.skipif(not DEBIAN.is_dir(), reason="no modules of Debian's apache2 here")
def test_modules_of_debian() -> None:
    found = examine_directory(str(DEBIAN))
    assert len(found) > 50
    assert {one.api for one in found} == {"2.4"}
    names = {Path(one.path).stem.removeprefix("mod_"): one.modules[0].symbol for one in found}
    assert names["rewrite"] == "rewrite_module"
