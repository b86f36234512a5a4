"""A configuration after reading: servers, sections, layers.  Compiled once, unchanged while requests are
served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import MappingProxyType

from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar
from whimbrel.directives.node import Node
from whimbrel.registry.settings import UNSET, default_of, merge, with_defaults

if TYPE_CHECKING:
    from whimbrel.base.regex import Regex
    from whimbrel.expr.api import CompiledCondition

R = TypeVar("R")
_NO_RECORDS: Final[Mapping[type[Any], Any]] = MappingProxyType({})


class SectionKind(Enum):
    """The containers whose settings are merged into the server's, as they are written."""

    DIRECTORY = "<Directory"
    DIRECTORY_MATCH = "<DirectoryMatch"
    FILES = "<Files"
    FILES_MATCH = "<FilesMatch"
    LOCATION = "<Location"
    LOCATION_MATCH = "<LocationMatch"
    IF = "<If"
    ELSE_IF = "<ElseIf"
    ELSE = "<Else"
    HTACCESS = ".htaccess"
    SERVER = "server"


WITHOUT_CORE: Final = frozenset((SectionKind.HTACCESS, SectionKind.SERVER))
"""Kinds of layers that have settings of the core only with a directive of it; httpd makes them for others."""
LOCATION_KINDS: Final = frozenset((SectionKind.LOCATION, SectionKind.LOCATION_MATCH))
# Number of the walk that merges the sections of a kind; directories, which are not listed, are walk 0.
WALKS: Final = {
    SectionKind.FILES: 1,
    SectionKind.FILES_MATCH: 1,
    SectionKind.LOCATION: 2,
    SectionKind.LOCATION_MATCH: 2,
    SectionKind.IF: 3,
    SectionKind.ELSE_IF: 3,
    SectionKind.ELSE: 3,
}


@dataclass(slots=True, eq=False)
class Layer:
    """The settings of one section, one .htaccess file or one server: records by type.  Compared by identity:
    layers are keys of plans.

    *prepared* makes the records that do not begin empty.
    """

    kind: SectionKind
    place: SourceLocation | None = None
    records: dict[type[Any], Any] = field(default_factory=dict)
    prepared: Mapping[type[Any], Callable[[], Any]] | None = None
    origins: dict[Any, Any] | None = None  # see origins.py; None unless LoadOptions.origins is set

    def record(self, kind: type[R]) -> R:
        """Return the record of *kind*, created if the layer has none."""
        existing = self.records.get(kind)
        if existing is None:
            make = kind if self.prepared is None else self.prepared.get(kind, kind)
            existing = make()
            self.records[kind] = existing
        return existing


@dataclass(slots=True, eq=False)
class Section:
    """One <Directory>, <Files>, <Location> or <If> section and how it matches.

    Attributes:
        pattern: the path as httpd stores it (a directory without regular expression ends in ``/``).
        regex: set for the Match and ``~`` forms; `fnmatch`: True if the pattern has wildcards.
        components: number of slashes of a directory pattern, which orders sections.
        condition, test: for IF and ELSE_IF the expression's text and its compiled form.
    """

    kind: SectionKind
    pattern: str
    layer: Layer
    regex: Regex | None = None
    fnmatch: bool = False
    components: int = 0
    condition: str = ""
    test: CompiledCondition | None = None


# hosts of an Address that stand for any
ANY = "*"
DEFAULT = "_default_"


@dataclass(frozen=True, slots=True)
class Address:
    """An address of a <VirtualHost> or Listen: *host* ``*`` is any, or ``_default_``; port 0 is any."""

    host: str
    port: int
    written: str = ""


@dataclass(slots=True, eq=False)
class Server:
    """One server: the main server or a <VirtualHost>.

    A server without own settings takes little memory: there are configurations of ten thousand servers.

    Attributes:
        records: per-server records of the modules, merged with the main server's once the configuration
            is complete.
        defaults: per-directory settings outside all sections.
        directories: <Directory> sections in httpd's order of merging.
        locations: <Location> sections in file order.
    """

    place: SourceLocation | None = None
    is_virtual: bool = False
    addresses: list[Address] = field(default_factory=list)
    name: str = ""
    named: bool = False  # ServerName was given, maybe without a name (``:80``)
    names: Sequence[str] = ()
    wild_names: Sequence[str] = ()
    scheme: str = ""
    port: int = 0
    path: str = ""
    admin: str = "[no address given]"
    records: dict[type[Any], Any] = field(default_factory=dict)
    defaults: Layer = field(default_factory=lambda: Layer(SectionKind.SERVER))
    directories: Sequence[Section] = ()
    locations: Sequence[Section] = ()
    origins: dict[Any, Any] | None = None  # see origins.py
    _filled: Mapping[type[Any], Any] = field(default=_NO_RECORDS)
    _outer: Server | None = None
    _passed_on: dict[type[Any], Any] | None = None

    def record(self, kind: type[R]) -> R:
        """Return the per-server record of *kind* as set so far; created if there is none."""
        existing = self.records.get(kind)
        if existing is None:
            existing = kind()
            self.records[kind] = existing
        return existing

    def add(self, section: Section) -> None:
        """Append a <Directory> or <Location> section that stands in this server."""
        name = "locations" if section.kind in LOCATION_KINDS else "directories"
        sections = getattr(self, name) or []
        sections.append(section)
        setattr(self, name, sections)

    def config(self, kind: type[R]) -> R:
        """Return the merged record with defaults filled in; for use once the configuration is complete."""
        found = self._filled.get(kind)
        if found is None:
            base = self.records.get(kind)
            outer = self._outer
            if outer is not None and base is outer.records.get(kind):
                found = outer.config(kind)  # thousands of hosts may set nothing
            else:
                found = with_defaults(kind() if base is None else base)
            self._filled = {**self._filled, kind: found}
        return found

    def value(self, kind: type[Any], name: str) -> Any:
        """Return one field of the merged record, its default if no layer sets it."""
        record = self._filled.get(kind) or self.records.get(kind)
        value = UNSET if record is None else getattr(record, name)
        return default_of(kind, name) if value is UNSET else value

    def origins_of(self, record: object, name: str) -> tuple[Any, ...]:
        """Return the lines (origins.Origin) that set a field here, () without `LoadOptions.origins`."""
        found = [lines for key, lines in (self.origins or {}).items() if key[:2] == (record, name)]
        return tuple(line for lines in found[:1] for line in lines)

    def inherit(self, main: Server) -> None:
        """Lay this virtual host's settings over the main server's, as httpd's ap_fixup_virtual_hosts does."""
        for kind, base in main.records.items():
            own = self.records.get(kind)
            self.records[kind] = base if own is None else merge(base, own)
        outer = main.defaults.records
        inner = self.defaults.records
        if inner:
            for kind, base in outer.items():
                own = inner.get(kind)
                inner[kind] = main._for_hosts(kind) if own is None else merge(base, own)
        else:
            self.defaults.records = main._for_all_hosts()
        self.directories = [*main.directories, *self.directories] if self.directories else main.directories
        self.locations = [*main.locations, *self.locations] if self.locations else main.locations
        self._filled = _NO_RECORDS
        self._outer = main

    def _for_hosts(self, kind: type[Any]) -> Any:
        """Return the per-directory record that virtual hosts have which set nothing in it."""
        if self._passed_on is None:
            self._passed_on = {}
        record = self._passed_on.get(kind)
        if record is None:
            base = self.defaults.records[kind]
            make = (self.defaults.prepared or {}).get(kind)
            record = base if make is None else merge(base, make())
            self._passed_on[kind] = record
        return record

    def _for_all_hosts(self) -> dict[type[Any], Any]:
        """Return all merged records of hosts that set nothing: they share one object."""
        wanted = self.defaults.records
        if self._passed_on is None or len(self._passed_on) < len(wanted):
            for kind in wanted:
                self._for_hosts(kind)
        return self._passed_on or {}


def unique_by(servers: Iterable[Server], kind: type[Any]) -> list[Server]:
    """Return the first server with each record of *kind*: most of ten thousand hosts share one."""
    first: dict[int, Server] = {}
    for server in servers:
        first.setdefault(id(server.records.get(kind)), server)
    return list(first.values())


def confs(servers: Iterable[Server], kind: type[R]) -> list[R]:
    """Return the merged records of all *servers*, each once, in the order of the first server that has it."""
    return [server.config(kind) for server in unique_by(servers, kind)]


@dataclass(frozen=True, slots=True)
class Listener:
    """One Listen line: *address* is "" for any IPv4 and IPv6 address."""

    address: str
    port: int
    protocol: str = ""


@dataclass(frozen=True, slots=True)
class LogSink:
    """Destination of lines: a file (*target*), a program (*piped*; *shell*: by /bin/sh -c), or syslog."""

    target: str
    piped: bool = False
    shell: bool = False
    syslog: bool = False


@dataclass(slots=True)
class ServerSpec:
    """The settings that the server processes need.

    Paths are absolute; times are seconds; *user* and *group* are as written (``#33`` allowed), "" if unset.
    """

    root: str
    listeners: list[Listener] = field(default_factory=list)
    user: str = ""
    group: str = ""
    pid_file: str = ""
    error_log: LogSink | None = None
    log_sinks: list[LogSink] = field(default_factory=list)
    processes: int = 0
    max_processes: int = 0
    threads: int = 25
    max_workers: int = 400
    requests_per_child: int = 0
    backlog: int = 511
    graceful_timeout: float = 0.0
    core_directory: str = ""
    chroot: str = ""
    run_directory: str = ""
    buffered_logs: bool = False


@dataclass(slots=True, eq=False)
class Included:
    """One configuration file that was read.

    Attributes:
        line: line of its Include, 0 for the main file.
        shown_line: the line in DUMP_INCLUDES: that of the Include which was executed last, in whatever file;
            None before the first.
    """

    path: str
    line: int
    depth: int
    shown_line: int | None


class Stage(Enum):
    """When httpd emits a start-up message.

    Its first start runs post_config twice, with standard error and the log open; a restart runs it once.
    """

    READING = 1  # on the console, and in the log
    FIRST_RUN = 2  # of post_config, at the first start only: in the log
    EVERY_RUN = 3  # of post_config that precedes workers: in the log


@dataclass(slots=True, eq=False)
class StartMessage:
    """A start-up message in the error log's terms; *cause* is a system error in APR's wording, printed before
    the code.

    *logged* is (code, text) for the error log, if it differs from the console; *server* has the log, None for
    the main server.
    """

    text: str
    code: str
    level: str
    module: str
    place: SourceLocation | None
    cause: str = ""
    logged: tuple[str, str] | None = None
    stage: Stage = Stage.READING
    server: Server | None = None


class VirtualHostSource(Protocol):
    """The part of a configuration that virtual host tables are built from.

    Attributes:
        dialect: the dialect of the configuration.
        main: the main server.
        virtual_hosts: the virtual hosts in the order of their definition.
        name_virtual_hosts: the addresses of NameVirtualHost (2.2).
    """

    dialect: Dialect
    main: Server
    virtual_hosts: list[Server]
    name_virtual_hosts: list[Any]

    @property
    def program(self) -> str:
        """The name of the program, as its messages begin with it."""

    def main_logs(self, level: str) -> bool:
        """Return True if the main server's LogLevel admits messages of *level*."""

    def warn(self, text: str, *, code: str = "", level: str = "warn", cause: str = "") -> None:
        """Record a start-up message; *cause* is a system error in APR's wording."""


Tree = list[Node]


def all_nodes(tree: Tree) -> Iterator[Node]:
    """Iterate over all directives of the tree, containers before their contents."""
    stack = list(reversed(tree))
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))
