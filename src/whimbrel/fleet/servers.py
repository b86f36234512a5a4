"""The servers of a fleet: the sub-directories of a directory, or the lines of a list."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import Final

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import from_system
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.base.printable import file_problem
from whimbrel.config.servers import directory_of, fault_of
from whimbrel.utilities.usage_error import UsageError

MAX_SERVERS: Final = 100_000
"""Servers of a fleet."""
MAX_NAME: Final = 200
"""Bytes of the name of a server, which becomes that of a file."""
MAX_LINE: Final = 16_384
"""Bytes of a line of a list: two names of the length that the system allows, and quotes."""
NO_NEW: Final = "the new side has no server of this name"
"""The fault of a server that the old side alone has."""


@dataclass(frozen=True, slots=True)
class FleetServer:
    """A server of a fleet. Its text is in the encoding of the system, as `os` has it.

    Attributes:
        name: of the sub-directory or the second column of the list; unique in the fleet.
        path: the tree, or its main file.
        new: the same of the other side of `verify`; "" for none.
        fault: why the server cannot be compared, "" for nothing.
    """

    name: str
    path: str
    new: str = ""
    fault: str = ""


def fleet_servers(paths: list[str]) -> list[FleetServer]:
    """Return the servers that *paths* name, in order; raises UsageError."""
    servers: dict[str, FleetServer] = {}
    for path in paths:
        for server in _servers_of(path):
            known = servers.setdefault(server.name, server)
            if known is not server:
                raise UsageError(
                    f"{from_system(server.path)}: {from_system(known.path)} has the same name\n"
                    "hint: give it another name in the second column of a list: --fleet LIST"
                )
            if len(servers) > MAX_SERVERS:
                raise UsageError(f"{from_system(path)}: more than {MAX_SERVERS} servers")
    if not servers:
        shown = from_system(", ".join(paths))
        raise UsageError(f"{shown}: no server in there: each sub-directory or line is one")
    return list(servers.values())


def fleet_pairs(old: list[FleetServer], new: list[FleetServer]) -> list[FleetServer]:
    """Return the servers of both sides by name; a server that one side lacks has a fault."""
    others = {server.name: server for server in new}
    pairs = []
    for server in old:
        other = others.pop(server.name, None)
        if other is None:
            pairs.append(replace(server, fault=NO_NEW))
        else:
            pairs.append(replace(server, new=other.path))
    pairs += [replace(server, fault="the old side has no server of this name") for server in others.values()]
    return pairs


def _servers_of(path: str) -> Iterator[FleetServer]:
    if os.path.isdir(path):
        try:
            names = sorted(os.listdir(path))
        except OSError as problem:
            raise UsageError(file_problem(problem)) from None
        for name in names:
            tree = os.path.join(path, name)
            if os.path.isdir(tree):
                yield FleetServer(name, os.path.abspath(tree))
        return
    fault = fault_of(path)
    if fault:
        raise UsageError(f"{fault}\nhint: name a directory of servers, or a list of them: --fleet DIR")
    yield from _listed(path)


def _listed(path: str) -> Iterator[FleetServer]:
    """Yield the servers of a list: a path, relative to the list, then a name or nothing."""
    try:
        text = os.fsdecode(read_regular(os.fsencode(path)))
    except OSError as problem:
        raise UsageError(file_problem(problem)) from None
    base = os.path.dirname(os.path.abspath(path))
    for number, line in enumerate(text.split("\n"), 1):
        place = f"{from_system(path)}:{number}"
        if len(line) > MAX_LINE:
            raise UsageError(f"{place}: the line is longer than {MAX_LINE} bytes")
        try:
            words = shlex.split(line, comments=True)
        except ValueError as problem:
            raise UsageError(f"{place}: {problem}") from None
        if not words:
            continue
        if len(words) > 2:
            raise UsageError(f"{place}: more than a path and a name: a path with blanks needs quotes")
        tree = os.path.normpath(os.path.join(base, words[0]))
        name = words[1] if len(words) > 1 else _name_of(tree)
        if "/" in name or "\0" in name or name in ("", ".", "..") or len(os.fsencode(name)) > MAX_NAME:
            raise UsageError(f"{place}: {from_system(name)} cannot be the name of a server: it names a file")
        yield FleetServer(name, tree)


def _name_of(tree: str) -> str:
    """Return the name of the directory of a server, or of that around a main file."""
    return os.path.basename(tree if os.path.isdir(tree) else directory_of(tree))
