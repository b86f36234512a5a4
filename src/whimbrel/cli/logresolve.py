"""whimbrel logresolve: resolve the addresses of an access log from standard input to standard output.

Manual: programs/logresolve.html. Each address is looked up once. A lookup ends after a fixed time; after
several that did, lookups stop.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from threading import Thread
from typing import Final, TypeVar

from whimbrel.base.file_writing import write_named
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.utilities import usage
from whimbrel.utilities.options import Exit, UtilityProgram, parse, start
from whimbrel.utilities.usage_error import UsageError

LOOKUP_TIMEOUT: Final = 5.0  # seconds for one address
_MAX_TIMEOUTS: Final = 20  # look-ups in a row without an answer in time
ResultT = TypeVar("ResultT")
_MAPPED: Final = bytes(10) + b"\xff\xff"  # an IPv4 address as an IPv6 one
_HEX: Final = "0123456789abcdefABCDEF:"


def main() -> None:
    """Entry point of whimbrel-logresolve."""
    start(run, "logresolve")


def run(program: UtilityProgram) -> int:
    """Resolve standard input; return the exit status. Raises Exit."""
    chosen = _options_22(program.words) if program.is_22 else _options(program)
    resolver = LogResolver("c" in chosen, program.is_22)
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(to_bytes(resolver.line(to_text(line))))
    sys.stdout.buffer.flush()
    if "s" in chosen:
        _write(program, chosen["s"], resolver.statistics())
    return 0


def _options(program: UtilityProgram) -> dict[str, str]:
    seen: set[str] = set()

    def check(letter: str, _value: str) -> None:
        if letter in seen:
            raise Exit(1, usage.LOGRESOLVE)
        seen.add(letter)

    try:
        return dict(parse(program.words, "s:c", check)[0])
    except UsageError as problem:
        raise Exit(1, f"{program.name}: {problem.message}\n{usage.LOGRESOLVE}") from None


def _options_22(words: list[str]) -> dict[str, str]:
    """Return the options of 2.2, which stand in words of their own."""
    chosen = {}
    rest = iter(words)
    for word in rest:
        if word not in ("-c", "-s"):
            raise Exit(0, usage.LOGRESOLVE_22)
        value = next(rest, None) if word == "-s" else ""
        if value is None:
            raise Exit(1, "logresolve: missing filename to -s\n")
        chosen[word[1]] = value
    return chosen


def _write(program: UtilityProgram, path: str, content: str) -> None:
    try:
        write_named(to_bytes(path), to_bytes(content))
    except OSError:
        raise Exit(
            1,
            f"logresolve: could not open statistics file '{path}'\n"
            if program.is_22
            else f"{program.name}: Could not open {path} for writing.",
        ) from None


@dataclass(slots=True)
class LogResolver:
    """Resolver of a log: names by address, and the counts of the statistics."""

    double_lookup: bool
    is_22: bool = False
    names: dict[str, str] = field(default_factory=dict)
    entries: int = 0
    named: int = 0
    resolved: int = 0
    unknown: int = 0
    refused: int = 0
    hits: int = 0
    consecutive_timeouts: int = 0

    def line(self, line: str) -> str:
        """Return the line with its address resolved."""
        if self.is_22 and line == "\n":
            return ""
        self.entries += 1
        address, space, rest = line.partition(" ")
        if self.is_22 and not space:
            address = address.removesuffix("\n")
        if not space:
            rest = "\n"
        if address in self.names:
            return self._cached_line(address, space, rest)
        family, packed = _address(address, self.is_22)
        if family is None or line[:1] not in _HEX:
            self.named += 1
            return line
        self.resolved += 1
        name = self._resolve(address, family, packed)
        self.names[address] = name or address
        return self._output_line(name, space, rest) if name else line

    def _cached_line(self, address: str, space: str, rest: str) -> str:
        self.hits += 1
        if self.is_22:
            self.resolved += 1
        return self._output_line(self.names[address], space, rest)

    def _output_line(self, name: str, space: str, rest: str) -> str:
        return f"{name}\n" if self.is_22 and not space else f"{name} {rest}"

    def _resolve(self, address: str, family: int, packed: bytes) -> str:
        name = self._reverse_lookup(
            socket.inet_ntop(family, packed).removeprefix("::ffff:")
            if packed[:12] == _MAPPED
            else socket.inet_ntop(family, packed)
        )
        if not name:
            self.unknown += 1
        elif self.double_lookup and not self._confirmed(name, family, packed):
            self.refused += 1
            return ""
        return name

    def _reverse_lookup(self, address: str) -> str:
        names = self._in_time(lambda: [socket.getnameinfo((address, 0), socket.NI_NAMEREQD)[0]])
        return names[0] if names else ""

    def _confirmed(self, name: str, family: int, packed: bytes) -> bool:
        return packed in self._in_time(
            lambda: [
                socket.inet_pton(family, str(info[4][0])) for info in socket.getaddrinfo(name, None, family)
            ]
        )

    def _in_time(self, lookup: Callable[[], list[ResultT]]) -> list[ResultT]:
        """Return the result of the resolver; nothing if it fails or times out."""
        if self.consecutive_timeouts >= _MAX_TIMEOUTS:
            return []
        results: list[list[ResultT]] = []
        thread = Thread(target=_run_lookup, args=(lookup, results), daemon=True)
        thread.start()
        thread.join(LOOKUP_TIMEOUT)
        self.consecutive_timeouts = self.consecutive_timeouts + 1 if thread.is_alive() else 0
        return results[0] if results else []

    def statistics(self) -> str:
        """Return the text of -s."""
        rows = [
            ("Entries: %d", self.entries, True),
            ("    With name   : %d", self.named, True),
            ("    Resolves    : %d", self.resolved, True),
            ("    - No reverse : %d", self.unknown, False),
            ("    - Double lookup failed : %d", self.refused, False),
            ("Cache hits      : %d", self.hits, True),
            ("Cache size      : %d", len(self.names), True),
        ]
        text = "".join(form % count + "\n" for form, count, always in rows if always or count)
        return f"logresolve Statistics:\n{text}" + (self._buckets() if self.is_22 else "")

    def _buckets(self) -> str:
        """Return 2.2's cache table: the bucket of an address is the sum of its four bytes modulo 256."""
        buckets: dict[int, list[str]] = {}
        for address, name in self.names.items():
            packed = socket.inet_aton(address)
            buckets.setdefault(sum(packed) % 256, []).append(f"  {socket.inet_ntoa(packed):>15} - {name}\n")
        rows = (f"  {at:3}" + "     ".join(reversed(lines)) for at, lines in sorted(buckets.items()))
        return "Cache buckets   :     IP number * hostname\n" + "".join(rows)


def _run_lookup(lookup: Callable[[], list[ResultT]], results: list[list[ResultT]]) -> None:
    try:
        results.append(lookup())
    except (OSError, UnicodeError):
        results.append([])


def _address(word: str, is_22: bool) -> tuple[int | None, bytes]:
    """Return family and bytes of a numeric address as getaddrinfo parses it (127.1 too), or None. 2.2 accepts
    four numbers with dots only.
    """
    if is_22:
        digits = word.replace(".", "").isdigit() and word.count(".") == 3
        return _parsed(socket.AF_INET, word) if digits else (None, b"")
    return _parsed(socket.AF_INET6, word) if ":" in word else _parsed(socket.AF_INET, word)


def _parsed(family: int, word: str) -> tuple[int | None, bytes]:
    if not word or word.split() != [word]:
        return None, b""
    try:
        return family, socket.inet_aton(word) if family == socket.AF_INET else socket.inet_pton(family, word)
    except (OSError, ValueError):
        return None, b""
