"""RewriteMap: values of ``${name:key}`` from text files, DBM files, programs and built-in functions.

Manual: rewrite/rewritemap.html. Files are dependencies of the request, so a cached response is valid only
while they are unchanged.
"""

from __future__ import annotations

import os
import random
import re
import string
from collections.abc import Callable, Mapping
from typing import Any, Final

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.deps.files import is_settled_file, stat_signature
from whimbrel.http.syntax.url import escape_uri, unescape_loose
from whimbrel.modules.mappers.mod_rewrite.context import Context
from whimbrel.modules.mappers.mod_rewrite.program_map import MapProgram
from whimbrel.modules.support.dbm.open import DbmFile, DbmUnreadable
from whimbrel.registry.module import Reads

MAX_LINE: Final = 1023
MAX_SEEN: Final = 10_000


class RewriteMap:
    """One map; `lookup` returns None for "not found". Maps with *waits* need `lookup_async`."""

    __slots__ = ("name",)
    reads = Reads.HEAD
    waits = False

    def __init__(self, name: str) -> None:
        self.name = name

    def lookup(self, _c: Context, _key: str) -> str | None:
        """Return the value of *key*; maps that wait return None."""
        return None

    async def lookup_async(self, c: Context, key: str) -> str | None:
        """Return the value of *key*, for maps that wait."""
        return self.lookup(c, key)


def _cause(c: Context) -> str:
    """Return why a file cannot be looked at."""
    number = c.r.deps.errno
    return f"({number}){os.strerror(number)}"


# Built-in functions -----------------------------------------------------------------------------
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)


def _unescape(key: str) -> str:
    """Decode escapes; text after a NUL is lost, as in httpd."""
    return unescape_loose(key).partition("\0")[0]


FUNCTIONS: Final[dict[str, tuple[Callable[[str], str], bool]]] = {
    "tolower": (lambda key: key.translate(_LOWER), True),
    "toupper": (lambda key: key.translate(_UPPER), True),
    "escape": (escape_uri, False),
    "unescape": (_unescape, True),
}


class Function(RewriteMap):
    """Built-in function (int:); the log shows the key as the function left it."""

    __slots__ = ("_call", "_in_place")

    def __init__(self, name: str, function: str) -> None:
        super().__init__(name)
        self._call, self._in_place = FUNCTIONS[function]

    def lookup(self, c: Context, key: str) -> str | None:
        value = self._call(key)
        c.log_step(
            5,
            f"map lookup OK: map={self.name} key={value if self._in_place else key} -> val={value}",
            in_directory=False,
        )
        return value


# Files ------------------------------------------------------------------------------------------
class FileMap(RewriteMap):
    """Map whose pairs are in a file, which is read again after a change."""

    __slots__ = ("_mark", "_pairs", "_seen", "kind", "path", "reads")

    def __init__(self, name: str, kind: str, path: str) -> None:
        super().__init__(name)
        self.kind = kind
        self.path = path
        self.reads = Reads.FILES
        self._mark: Any = None
        self._pairs: Mapping[str, str] = {}
        self._seen: set[str] = set()

    def lookup(self, c: Context, key: str) -> str | None:
        info = c.r.deps.stat(self.path)
        if info is None:
            c.r.log(
                "error",
                f"mod_rewrite: can't access text RewriteMap file {self.path}",
                code="AH00661",
                module="rewrite",
                cause=_cause(c),
            )
            return None
        signature = stat_signature(info)
        if signature != self._mark:
            self._mark = signature if is_settled_file(info) else None
            self._pairs = self._read(c)
            self._seen.clear()
        value = self._pairs.get(key)
        if c.log is not None:
            self._log(c, key, value)
        return value or None

    def _read(self, c: Context) -> Mapping[str, str]:
        try:
            return parse_text(to_text(read_regular(to_bytes(self.path))))
        except OSError:
            self._mark = None
            c.r.set_uncacheable()
            return {}

    def _log(self, c: Context, key: str, value: str | None) -> None:
        """Log the lookup as httpd does, whose cache holds every key since the last change of the file."""
        where = f"map={self.name}[{self.kind if self.kind != 'rnd' else 'txt'}] key={key}"
        if key in self._seen:
            c.log_step(5, f"cache lookup OK: {where} -> val={value or ''}", in_directory=False)
            return
        if len(self._seen) < MAX_SEEN:
            self._seen.add(key)
        c.log_step(6, "cache lookup FAILED, forcing new map lookup", in_directory=False)
        c.log_step(
            5,
            f"map lookup OK: {where} -> val={value}" if value else f"map lookup FAILED: {where}",
            in_directory=False,
        )


_LINE = re.compile(r"([^ \t\n\v\f\r#][^ \t\n\v\f\r]*)[ \t\n\v\f\r]+([^ \t\n\v\f\r]+)")


def parse_text(content: str) -> dict[str, str]:
    """Parse a text map: key and value are the first two words of a line, the first line of a key counts.

    Lines that begin with white space or ``#`` are comments; text beyond 1,023 characters is a separate line.
    """
    pairs: dict[str, str] = {}
    for line in content.split("\n"):
        for start in range(0, len(line) or 1, MAX_LINE):
            match = _LINE.match(line, start, start + MAX_LINE)
            if match:
                pairs.setdefault(match[1], match[2])
    return pairs


class RandomMap(FileMap):
    """Random map (rnd:): each request gets a random one of the parts between ``|``."""

    __slots__ = ()

    def __init__(self, name: str, path: str) -> None:
        super().__init__(name, "rnd", path)
        self.reads = Reads.FILES | Reads.UNCACHEABLE

    def lookup(self, c: Context, key: str) -> str | None:
        value = super().lookup(c, key)
        if value is None or "|" not in value:
            return value
        c.log_step(5, f"randomly choosing the subvalue `{value}'", in_directory=False)
        return random.choice(value.split("|")) or None


class DbmMap(FileMap):
    """Map in a DBM file (dbm:) of the kinds that `DbmFile` reads."""

    __slots__ = ("_file",)

    def __init__(self, name: str, kind: str, path: str) -> None:
        super().__init__(name, "dbm", path)
        self._file = DbmFile(path, kind)

    def lookup(self, c: Context, key: str) -> str | None:
        watched = self.path + suffix_of(self._file.kind)
        if c.r.deps.stat(watched) is None:
            c.r.log(
                "error",
                f"mod_rewrite: can't access DBM RewriteMap file {watched}",
                code="AH00662",
                module="rewrite",
                cause=_cause(c),
            )
            return None
        try:
            value = self._file.content(c.r).get(key)
        except DbmUnreadable:
            c.r.log(
                "error",
                f"mod_rewrite: can't open DBM RewriteMap {self.path}",
                code="AH00656",
                module="rewrite",
            )
            return None
        if c.log is not None:
            self._log(c, key, value)
        return value or None


def suffix_of(kind: str) -> str:
    """Return the file name suffix of that kind of DBM file (of its first file)."""
    return {"sdbm": ".dir", "ndbm": ".db"}.get(kind, "")


# Programs ---------------------------------------------------------------------------------------
class ProgramMap(RewriteMap):
    """Map of a program (prg:) with a reply to each line: one for all workers, of the server's starter."""

    __slots__ = ("program",)
    reads = Reads.UNCACHEABLE
    waits = True

    def __init__(self, name: str, command: str, arguments: list[str], directory: str) -> None:
        super().__init__(name)
        self.program = MapProgram([command, *arguments], directory)

    async def lookup_async(self, c: Context, key: str) -> str | None:
        value = None
        if "\n" not in key:
            seconds = c.r.server_conf(CoreServerConfig).timeout
            value = await c.r.engine.runtime.in_thread(lambda: self.program.lookup(key, seconds))
        if value is not None and value.lower() == "null":
            value = None
        tail = f"key={key}" if value is None else f"key={key} -> val={value}"
        c.log_step(
            5, f"map lookup {'FAILED' if value is None else 'OK'}: map={self.name} {tail}", in_directory=False
        )
        return value


def needs_engine(rewrite_map: RewriteMap) -> bool:
    """Return True if the map needs the server's own rewriting engine: programs start only with it."""
    return isinstance(rewrite_map, ProgramMap)


# Databases --------------------------------------------------------------------------------------
class SqlMap(RewriteMap):
    """Database map (dbd:): a prepared statement of mod_dbd, run in a thread.

    The value is the first column of a row, of several rows a random one. With *lasting* (fastdbd) every
    result is cached, absence too.
    """

    __slots__ = ("_known", "lasting", "statement")
    reads = Reads.UNCACHEABLE
    waits = True

    def __init__(self, name: str, statement: str, *, lasting: bool) -> None:
        super().__init__(name)
        self.statement = statement
        self.lasting = lasting
        self._known: dict[str, str | None] = {}

    async def lookup_async(self, c: Context, key: str) -> str | None:
        if not self.lasting:
            return await self._query(c, key)
        if key in self._known:
            value = self._known[key]
            c.log_step(
                5, f"cache lookup OK: map={self.name}[SQL] key={key}, val={value or ''}", in_directory=False
            )
            return value
        c.log_step(6, "cache lookup FAILED, forcing new map lookup", in_directory=False)
        value = await self._query(c, key)
        if len(self._known) >= MAX_SEEN:
            self._known.clear()
        self._known[key] = value
        return value

    async def _query(self, c: Context, key: str) -> str | None:
        # its import takes time that other maps must not pay
        from whimbrel.modules.database.dbd_drivers import (
            DatabaseError,
        )

        query = c.r.plan.provider("dbd", "ask")
        values = list[str | None]()
        try:
            result = await query(c.r, self.statement, key)
            values = [row[0] for row in result.rows if row]
        except DatabaseError as problem:
            if not problem.connected or _unprepared(str(problem)):
                c.r.log(
                    "error",
                    "rewritemap: No db handle available! Check your database access",
                    code="AH02963",
                    module="rewrite",
                )
            else:
                c.r.log(
                    "error",
                    f"rewritemap: error {problem} querying for {key}",
                    code="AH00657",
                    module="rewrite",
                )
        if len(values) > 1:
            c.log_step(3, f"Multiple values found for {key}", in_directory=False)
        there = [value for value in values if value is not None]
        value = random.choice(there) if there else None
        tail = (
            f"FAILED: map {self.name} key={key}"
            if value is None
            else f"OK: map {self.name} key={key}, val={value}"
        )
        c.log_step(5, f"SQL map lookup {tail}", in_directory=False)
        return value


def _unprepared(reason: str) -> bool:
    """Return True if a statement could not be prepared: httpd has no connection then."""
    return reason.startswith(("no such ", "near ", "incomplete input", "unrecognized token"))
