"""Reports of servers about their busy and idle workers: text forms, and records in shared memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from math import floor
from mmap import mmap
from typing import Final, NamedTuple

from whimbrel.base.file_reading import read_start
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.numbers import atoi, lower
from whimbrel.http.syntax.url import unescape_loose
from whimbrel.modules.support.shared_record import NumberField, RealField, SharedRecord, TextField

NAME: Final = "heartmonitor"  # of the shared memory
MAX_FILE: Final = 1024 * 1024  # bytes of a file that are read
MAX_ADDRESS: Final = 64
DEFAULT_PORT: Final = 80
UNSIGNED: Final = 0xFFFFFFFF  # httpd sums and writes the counts of workers as unsigned numbers


class Heartbeat(NamedTuple):
    """The last report of one server; *seen*: seconds since then, or the time of it."""

    address: str
    ready: int
    busy: int
    seen: float
    port: int = DEFAULT_PORT


class HeartbeatRecord(SharedRecord):
    """A report in shared memory; a record without address is free."""

    __slots__ = ()
    ready = NumberField()
    busy = NumberField()
    port = NumberField()
    seen = RealField()
    address = TextField(MAX_ADDRESS)


def fields_of(text: str) -> dict[str, str]:
    """Return names and values of ``a=b&c``; a name without value has 1 (argstr_to_table)."""
    pairs = (word.partition("=") for word in text.split("&") if word)
    return {
        lower(unescape_loose(name)): unescape_loose(value) if sign else "1" for name, sign, value in pairs
    }


def parse_report(address: str, text: str, now: float) -> Heartbeat | None:
    """Return the report *text* of the server at *address*, None for another text."""
    fields = fields_of(text)
    if not {"v", "busy", "ready"} <= fields.keys():
        return None
    port = atoi(fields["port"]) if "port" in fields else DEFAULT_PORT
    return Heartbeat(address, atoi(fields["ready"]), atoi(fields["busy"]), now, port)


def read_file(path: str) -> dict[str, Heartbeat]:
    """Return the reports of a file by address, with their age; raises OSError."""
    lines = to_text(read_start(path, MAX_FILE)).split("\n")
    found: dict[str, Heartbeat] = {}
    for line in lines:
        address, blank, text = line.partition(" ")
        if blank and not line.startswith("#"):
            fields = fields_of(text)
            old = found.get(address, Heartbeat(address, 0, 0, -1))
            found[address] = Heartbeat(
                address,
                atoi(fields["ready"]) if "ready" in fields else old.ready,
                atoi(fields["busy"]) if "busy" in fields else old.busy,
                atoi(fields["lastseen"]) if "lastseen" in fields else old.seen,
                atoi(fields["port"]) if "port" in fields else old.port,
            )
    return found


def write_file(path: str, reports: Iterable[Heartbeat], now: float) -> None:
    """Replace a file by *reports*, whose `seen` is a time; raises OSError."""
    temporary = f"{path}.tmp.{os.getpid()}"
    with open(temporary, "wb") as file:
        for each in reports:
            age = floor(now - each.seen)
            counts = f"&ready={each.ready & UNSIGNED}&busy={each.busy & UNSIGNED}"
            line = f"{each.address} {counts}&lastseen={age}&port={each.port}\n"
            file.write(to_bytes(line))
    os.chmod(temporary, 0o644)
    os.replace(temporary, path)


def records(memory: mmap) -> Iterator[HeartbeatRecord]:
    """Yield all records of the shared memory."""
    for base in range(0, len(memory) - HeartbeatRecord.SIZE + 1, HeartbeatRecord.SIZE):
        yield HeartbeatRecord(memory, base)


def read_memory(memory: mmap, now: float) -> dict[str, Heartbeat]:
    """Return the reports in shared memory by address, with their age."""
    return {
        each.address: Heartbeat(each.address, each.ready, each.busy, floor(now - each.seen), each.port)
        for each in records(memory)
        if each.address
    }


def store(memory: mmap, report: Heartbeat) -> None:
    """Store a report, whose `seen` is a time, in the record of its server or in a free one."""
    free = None
    for each in records(memory):
        address = each.address
        if address == report.address:
            free = each
            break
        if not address and free is None:
            free = each
    if free is not None:
        free.ready = report.ready
        free.busy = report.busy
        free.port = report.port
        free.seen = report.seen
        free.address = report.address


def forget(memory: mmap, before: float) -> None:
    """Free the records of servers that were last seen earlier than *before*."""
    for each in records(memory):
        if each.address and each.seen < before:
            each.address = ""
