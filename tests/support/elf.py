"""Shared objects with the record of an httpd module, put together by hand."""

from __future__ import annotations

import struct


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
