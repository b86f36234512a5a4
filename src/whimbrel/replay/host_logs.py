"""The log lines of a configuration by virtual host, and the owners of logs whose lines name no host."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from whimbrel.base.errors import SourceLocation
from whimbrel.base.file_reading import open_regular
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import lower
from whimbrel.base.real_paths import real_path
from whimbrel.config.execute import root_relative
from whimbrel.directives.node import Node
from whimbrel.directives.tokens import words as split_words
from whimbrel.explain.request_description import LOCAL, WILDCARDS, place_of
from whimbrel.replay.log_files import ROTATED, STANDARD_INPUT
from whimbrel.replay.log_format import COMMON, LineFormat
from whimbrel.verify.side import Side
from whimbrel.verify.tls_ports import default_server, takes_tls

MAX_SEARCHED: Final = 512 << 20
"""Bytes of all logs; of larger ones none is searched for a line, as one that is not could have it, too."""
MAIN: Final = ""
"""The main server, in the place of a virtual host."""
ACCESS: Final = frozenset(("customlog", "transferlog", "globallog"))
ERROR: Final = frozenset(("errorlog",))
_IN_FORMAT: Final = "log in their format"


class LogDirective(NamedTuple):
    """A line that names a log: *path* on this machine, "" for a program; *nickname* or format, "" without."""

    name: str
    nickname: str
    path: str
    place: SourceLocation


class LoggingHost(NamedTuple):
    """A virtual host that alone wrote the lines of a log: where its requests came, and the place of its log
    line. *reason*: how that is known.
    """

    name: str
    address: str
    port: int
    is_tls: bool
    place: SourceLocation
    reason: str

    @property
    def origin(self) -> str:
        """The scheme, the host and, unless it is that of the scheme, the port."""
        scheme, default = ("https", 443) if self.is_tls else ("http", 80)
        return f"{scheme}://{self.name}" + (f":{self.port}" if self.port != default else "")

    def sentence(self, directory: str) -> str:
        """Return that lines without a host are its requests; places are relative to *directory*."""
        place = f"{self.place.path.removeprefix(f'{directory}/')}:{self.place.line}"
        return f"taken for {self.origin}, {self.reason} ({place})"


class LogOwners(NamedTuple):
    """Whose requests the lines of a log are: *host*, else one of *names*, which *what* ("log into FILE")."""

    host: LoggingHost | None = None
    names: tuple[str, ...] = ()
    what: str = _IN_FORMAT


class HostLogs:
    """The log lines of a configuration.

    Attributes:
        hosts: names of each virtual host, by its place.
        lines: log lines by the place of their virtual host, MAIN for the main server.
    """

    def __init__(self, side: Side) -> None:
        self.side = side
        self.hosts = dict[str, list[str]]()
        self.lines = dict[str, list[LogDirective]]()
        self._named = dict[str, str]()
        if side.is_loaded:
            self._read(side)

    def owners(
        self, form: LineFormat, path: str = STANDARD_INPUT, kinds: frozenset[str] = ACCESS
    ) -> LogOwners:
        """Return the owners of the lines of the log at *path*, or of a log in *form* that no line names."""
        found = self.owners_of_file(path, kinds) if path != STANDARD_INPUT else LogOwners()
        if found.host is not None or found.names:
            return found
        writers = [
            (host, line.place) for host in self.lines for line in self._of_format(self.lines[host], form)[:1]
        ]
        if len(writers) == 1 and writers[0][0] != MAIN:
            reason = "the only virtual host that logs in this format"
            host = self._logging_host(*writers[0], reason)
            if host is not None:
                return LogOwners(host)
        own = self._names(host for host in self.hosts if self._of_format(self._lines_of(host, ACCESS), form))
        return LogOwners(None, own or self._names(self.hosts))

    def owners_of_file(self, path: str, kinds: frozenset[str] = ACCESS) -> LogOwners:
        """Return the owners of the log at *path*: those whose lines name it or the file that it was rotated
        from; else those of the only log with this file name.
        """
        place = real_path(path)
        places = (place, ROTATED.sub("", place))
        writers = self._writers(lambda line: line.path in places, kinds)
        word = "this file is"
        if not writers:
            names = {os.path.basename(one) for one in places}
            of_name = {line.path for line in self._all(kinds) if os.path.basename(line.path) in names}
            writers = self._writers(lambda line: line.path in of_name, kinds) if len(of_name) == 1 else []
            word = "has this file name"
        return self._of_writers(writers, f"whose log {word}", os.path.basename(place))

    def owners_of_line(self, line: bytes, kinds: frozenset[str]) -> LogOwners:
        """Return the owners of the logs that have *line*; none where no log of a virtual host has it, or the
        logs are too large.
        """
        files = dict.fromkeys(one.path for one in self._all(kinds) if one.path)
        if sum(map(_size, files)) > MAX_SEARCHED or not line:
            return LogOwners()
        having = [path for path in files if _has_line(path, line)]
        writers = self._writers(lambda one: one.path in having, kinds)
        names = ", ".join(map(os.path.basename, having))
        return self._of_writers(writers, "whose log has this line", names)

    def log_names(self, kinds: frozenset[str]) -> dict[str, str]:
        """Return the file names of the logs of virtual hosts, by the names of these."""
        return {
            name: os.path.basename(line.path)
            for host, names in self.hosts.items()
            for name in names
            for line in self._lines_of(host, kinds)[:1]
            if line.path
        }

    def _of_writers(self, writers: list[tuple[str, SourceLocation]], reason: str, file: str) -> LogOwners:
        if len(writers) == 1 and writers[0][0] != MAIN:
            host = self._logging_host(*writers[0], reason)
            if host is not None:
                return LogOwners(host)
        names = self._names((host for host, _ in writers), is_with_main=True)
        is_of_main = [host for host, _ in writers] == [MAIN]
        return LogOwners(None, names, f"log into {file}") if len(names) > 1 or is_of_main else LogOwners()

    def _writers(
        self, has: Callable[[LogDirective], bool], kinds: frozenset[str]
    ) -> list[tuple[str, SourceLocation]]:
        """Return the virtual hosts, and the main server if it gets requests, with a log line for which *has*
        is true, each with the place of this line.
        """
        hosts = [*([MAIN] if self._is_main_reached() else []), *self.hosts]
        found = ((host, next(filter(has, self._lines_of(host, kinds)), None)) for host in hosts)
        return [(host, line.place) for host, line in found if line is not None]

    def _lines_of(self, host: str, kinds: frozenset[str]) -> list[LogDirective]:
        """Return the lines by which *host* logs: without one of its own it logs as the main server does.
        GlobalLog is of all.
        """
        of_main = [line for line in self.lines.get(MAIN, ()) if line.name in kinds]
        own = [line for line in self.lines.get(host, ()) if line.name in kinds]
        if host == MAIN or not own:
            return of_main
        return [*own, *(line for line in of_main if line.name == "globallog")]

    def _all(self, kinds: frozenset[str]) -> Iterator[LogDirective]:
        return (line for lines in self.lines.values() for line in lines if line.name in kinds)

    def _of_format(self, lines: Iterable[LogDirective], form: LineFormat) -> list[LogDirective]:
        return [
            line
            for line in lines
            if line.name in ACCESS and self._named.get(line.nickname, line.nickname or COMMON) == form.text
        ]

    def _names(self, hosts: Iterable[str], *, is_with_main: bool = False) -> tuple[str, ...]:
        main = [self.side.loaded.main.name or "localhost"] if is_with_main else []
        names = (name for host in hosts for name in (main if host == MAIN else self.hosts[host]))
        return tuple(dict.fromkeys(names))

    def _is_main_reached(self) -> bool:
        """Return True if the main server gets requests: an address of Listen has no virtual host."""
        loaded = self.side.loaded
        ports = {listener.port for listener in loaded.spec.listeners} or {80}
        return any(default_server(loaded, LOCAL, port) is loaded.main for port in ports)

    def _logging_host(self, host: str, place: SourceLocation, reason: str) -> LoggingHost | None:
        loaded = self.side.loaded
        servers = [server for server in loaded.virtual_hosts if str(server.place) == host]
        if len(servers) != 1 or not servers[0].name:
            return None
        [server] = servers
        written = server.addresses[0]
        address = LOCAL if written.host in WILDCARDS else written.host
        port = written.port or place_of(loaded, server.name, is_tls=False)[1]
        return LoggingHost(server.name, address, port, takes_tls(loaded, address, port), place, reason)

    def _read(self, side: Side) -> None:
        waiting: list[tuple[Node, str]] = [(node, MAIN) for node in reversed(side.loaded.tree)]
        while waiting:
            node, host = waiting.pop()
            low = lower(node.name)
            words = split_words(node.args)
            if low == "<virtualhost":
                host = str(node.place)
                self.hosts[host] = []
            elif low == "servername" and host:
                self.hosts[host] = [_host_name(word) for word in words[:1]]
            elif low == "logformat" and words:
                self._named["".join(words[1:2])] = words[0]
            elif low in ACCESS or low in ERROR:
                nickname = "".join(words[1:2]) if low != "transferlog" else ""
                line = LogDirective(low, nickname, self._path_of(words[:1]), node.place)
                self.lines.setdefault(MAIN if low == "globallog" else host, []).append(line)
            waiting += [(child, host) for child in reversed(node.children)]

    def _path_of(self, words: list[str]) -> str:
        """Return where this machine has the log of a line, "" for a program or what is no file."""
        name = "".join(words)
        if not name or name[0] == "|" or "${" in name or name.startswith("syslog"):
            return ""
        loaded = self.side.loaded
        return real_path(loaded.disk.on_disk(root_relative(loaded.root, name)))


def _size(path: str) -> int:
    """Return the bytes of the file at *path*; 0 for one that is not here."""
    try:
        return os.path.getsize(to_bytes(path))
    except OSError:
        return 0


def _has_line(path: str, line: bytes) -> bool:
    """Return True if the file at *path* has *line*; False for one that cannot be read."""
    try:
        with os.fdopen(open_regular(to_bytes(path)), "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return False
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _contains(data, line)
    except OSError:
        return False


def _contains(data: mmap.mmap, line: bytes) -> bool:
    """Return True if *line* is a whole line of *data*."""
    at = data.find(line)
    while at >= 0:
        end = at + len(line)
        is_begin = not at or data[at - 1 : at] == b"\n"
        if is_begin and (data[end : end + 1] in (b"", b"\n") or data[end : end + 2] == b"\r\n"):
            return True
        at = data.find(line, at + 1)
    return False


def _host_name(word: str) -> str:
    """Return the host of the argument of ServerName."""
    return word.rpartition("://")[2].partition(":")[0]
