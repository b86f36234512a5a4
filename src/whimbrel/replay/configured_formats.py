"""Access-log formats of a configuration: those of LogFormat, CustomLog and GlobalLog lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from whimbrel.base.errors import SourceLocation
from whimbrel.base.numbers import lower
from whimbrel.directives.tokens import words as split_words
from whimbrel.explain.request_description import LOCAL, WILDCARDS, place_of
from whimbrel.replay.log_format import COMMON, DEFAULT_FORMATS, LineFormat
from whimbrel.verify.side import Side
from whimbrel.verify.tls_ports import takes_tls


def formats_of(*sides: Side, given: str = "") -> list[LineFormat]:
    """Return *given* alone, or its definition if it is a name; else the formats of the configurations, the
    default ones, and each of them with the virtual host in front.  Raises ValueError for a format without the
    request.
    """
    named: dict[str, str] = {}
    texts: dict[str, None] = {}
    for side in sides:
        for node in _log_lines(side):
            words = split_words(node.args)
            if lower(node.name) == "logformat" and len(words) > 1:
                named[words[1]] = words[0]
            for word in words[:1] if lower(node.name) == "logformat" else words[1:2]:
                if "%" in word:
                    texts[word] = None
    if given:
        return [LineFormat.compile(named.get(given, _SHORT.get(given, given)))]
    compiled = []
    for text in (*texts, *DEFAULT_FORMATS):
        try:
            compiled.append(LineFormat.compile(text))
        except ValueError:
            continue  # a log of something else than requests
    with_host = [f"%v {form.text}" for form in compiled if not HOSTS.intersection(form.names)]
    return [*compiled, *map(LineFormat.compile, with_host)]


class LoggingHost(NamedTuple):
    """A virtual host that alone logs in a format: where its requests came, and the place of its log line."""

    name: str
    address: str
    port: int
    is_tls: bool
    place: SourceLocation

    @property
    def origin(self) -> str:
        """The scheme, the host and, unless it is that of the scheme, the port."""
        scheme, default = ("https", 443) if self.is_tls else ("http", 80)
        return f"{scheme}://{self.name}" + (f":{self.port}" if self.port != default else "")

    def sentence(self, directory: str) -> str:
        """Return that lines without a host are its requests; places are relative to *directory*."""
        place = f"{self.place.path.removeprefix(f'{directory}/')}:{self.place.line}"
        return f"taken for {self.origin}, the only virtual host that logs in this format ({place})"


class _Logs:
    """The log lines of a configuration.

    Attributes:
        hosts: names of each virtual host, by its place.
        lines: nickname or format and place of each log line, by the place of its virtual host; "" for the
            main server and for GlobalLog.
    """

    def __init__(self, side: Side) -> None:
        self.hosts = dict[str, list[str]]()
        self.lines = dict[str, list[tuple[str, SourceLocation]]]()
        self._named = dict[str, str]()
        self._read(side)

    def of_format(self, host: str, form: LineFormat) -> list[SourceLocation]:
        """Return the places of the lines of *host* that log in *form*."""
        return [
            place
            for nickname, place in self.lines.get(host, ())
            if self._named.get(nickname, nickname or COMMON) == form.text
        ]

    def _read(self, side: Side) -> None:
        waiting = [(node, "") for node in reversed(side.loaded.tree)] if side.is_loaded else []
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
            elif low in ("customlog", "transferlog", "globallog"):
                nickname = "".join(words[1:2]) if low != "transferlog" else ""
                of_host = "" if low == "globallog" else host
                self.lines.setdefault(of_host, []).append((nickname, node.place))
            waiting += [(child, host) for child in reversed(node.children)]


def logging_host(side: Side, form: LineFormat) -> LoggingHost | None:
    """Return the only virtual host with a log line in *form*; None if another one or the main server has one,
    too, or none has one.
    """
    logs = _Logs(side)
    found = [(host, places[0]) for host in logs.lines if (places := logs.of_format(host, form))]
    if len(found) != 1 or not found[0][0]:
        return None
    [(host, place)] = found
    servers = [server for server in side.loaded.virtual_hosts if str(server.place) == host]
    if len(servers) != 1 or not servers[0].name:
        return None
    [server] = servers
    written = server.addresses[0]
    address = LOCAL if written.host in WILDCARDS else written.host
    port = written.port or place_of(side.loaded, server.name, is_tls=False)[1]
    return LoggingHost(server.name, address, port, takes_tls(side.loaded, address, port), place)


def hosts_of_format(side: Side, form: LineFormat) -> list[str]:
    """Return the names of the virtual hosts that log in *form*, in their order; of all if none does.

    A virtual host without CustomLog or TransferLog logs as the main server does.
    """
    logs = _Logs(side)
    found = dict.fromkeys(
        name
        for host, names in logs.hosts.items()
        if logs.of_format(host if host in logs.lines else "", form)
        for name in names
    )
    return list(found or dict.fromkeys(name for names in logs.hosts.values() for name in names))


def _host_name(word: str) -> str:
    """Return the host of the argument of ServerName."""
    return word.rpartition("://")[2].partition(":")[0]


HOSTS: Final = frozenset(("host", "header host"))
"""The values of a format that name the host of a request."""
_SHORT = dict(zip(("vhost_combined", "combined", "common"), DEFAULT_FORMATS, strict=True))


def _log_lines(side: Side) -> Iterator[Any]:
    found: list[Any] = []
    side.each_node(
        lambda node: (
            found.append(node) if lower(node.name) in ("logformat", "customlog", "globallog") else None
        )
    )
    return iter(found)
