"""A module as a table: settings records, setters of directives, hook makers, providers.  Nothing registers
itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping

from whimbrel.base.dialect import Dialect
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final, IntEnum, IntFlag, Protocol, TypeVar
from whimbrel.directives.spec import Setter, Versions
from whimbrel.registry.phases import HookFn, HookStatus, Phase

if TYPE_CHECKING:
    from whimbrel.base.errors import SourceLocation

S = TypeVar("S")
# group of providers: functions (configuration, ProgramHost) -> list of SharedProgram (registry.programs)
PROGRAMS: Final = "programs"


class Reads(IntFlag):
    """Inputs of a hook's result besides the merged settings; they decide whether the response can
    be cached.
    """

    NOTHING = 0
    # method, protocol, query, Host and the other fields of the request head
    FIELDS = 1
    # the URL's path or the file's name, beyond the mapping of one to the other and `PathRules`
    PATH = 2
    HEAD = FIELDS | PATH
    CLIENT = 4  # address of the client (not its port); not set if only Request.client_in reads it
    FILES = 8  # files on disk, read through Request.deps, which records them
    TIME = 16  # the clock, beyond the Date field and the log's time
    UNCACHEABLE = 32  # anything else: a back end, a name lookup, a program, the scoreboard


class Scope(Protocol):
    """One merged configuration, as hook makers see it.

    `dir_config` and `server_config` return records with defaults (no UNSET).  A maker runs once for each
    distinct merged configuration.
    """

    dialect: Dialect

    def dir_config(self, kind: type[S]) -> S: ...

    def server_config(self, kind: type[S]) -> S: ...

    def provider(self, group: str, name: str) -> Any:
        """Return the object registered under *group* and *name* by a loaded module, or None."""

    def loaded(self, module: str) -> bool:
        """Return True if the module with that identifier (authz_core_module) is loaded."""


@dataclass(frozen=True, slots=True)
class PathRules:
    """What a hook reads of the URL's path and of the file's name: its results are then known for other names
    in the same directory (engine/specialized).

    Attributes:
        prefixes: URL paths; the hook may treat each of them, and all paths below it, in a special way.
        matches: functions of a decoded URL path that return True if the hook may treat it in a special way.
        classify: function of the last segment of a file name; names with equal results are treated alike.
    """

    prefixes: tuple[str, ...] = ()
    matches: tuple[Callable[[str], bool], ...] = ()
    classify: Callable[[str], Hashable] | None = None


@dataclass(frozen=True, slots=True)
class FileResponse:
    """The response of a handler that sends the request's file.

    Attributes:
        etag: function from the file's stat result to its ETag, None without one.
        in_memory: bytes up to which the body is read into memory; `in_frames`: the same for HTTP/2.
    """

    etag: Callable[[os.stat_result], str | None]
    in_memory: int
    in_frames: int


@dataclass(frozen=True, slots=True)
class CompiledHook:
    """A hook compiled for one merged configuration.

    Attributes:
        path_rules: what it reads of the path if `reads` does not contain `Reads.PATH`.
        file_response: the response of a handler whose successful responses are all the request's file.
        is_async: fn is a coroutine function, or may return an awaitable. The following attributes save calls.
        constant: the status that fn returns for every request.
        methods: mask of method numbers; fn declines all others.
        handlers: names of handlers; fn declines all others.
        needs_file: fn declines and changes nothing if the request has no file (`finfo`), handler or
            encoding, and its connection no notes.
    """

    fn: HookFn
    reads: Reads = Reads.HEAD
    is_async: bool = False
    constant: HookStatus | None = None
    methods: int = -1
    handlers: frozenset[str] | None = None
    needs_file: bool = False
    path_rules: PathRules = PathRules()
    file_response: FileResponse | None = None


HookMaker = Callable[[Scope], CompiledHook | None]


def importer(package: str) -> Callable[[str, str], Any]:
    """Return the function that returns a name of a file of *package*, imported when it is called."""

    def imported(file: str, name: str) -> Any:
        __import__(f"{package}.{file}")  # importlib takes a hundredth of -t's time
        return getattr(sys.modules[f"{package}.{file}"], name)

    return imported


def lazy_maker(file: str, name: str) -> HookMaker:
    """Return a hook maker that imports *name* from the Python module *file* when it first runs: reading a
    configuration needs no hook.
    """

    def make(scope: Scope) -> CompiledHook | None:
        __import__(file)  # importlib takes a hundredth of -t's time
        maker: HookMaker = getattr(sys.modules[file], name)
        return maker(scope)

    make.__module__ = file
    return make


class Order(IntEnum):
    """httpd's APR_HOOK_*; equal orders are in load order."""

    REALLY_FIRST = -10
    FIRST = 0
    MIDDLE = 10
    LAST = 20
    REALLY_LAST = 30


@dataclass(frozen=True, slots=True)
class Hook:
    """A hook: *make* runs once for each distinct merged configuration; it returns None if the hook is
    inactive there.

    *before* and *after* name modules by their source (``mod_alias.c``).
    """

    phase: Phase
    make: HookMaker
    order: int = Order.MIDDLE
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    versions: Versions = Versions.BOTH


@dataclass(frozen=True, slots=True)
class Provider:
    """Something other modules look up by group and name: ("authz", "ip"), ("authn", "file"), ("log_item",
    "h").
    """

    group: str
    name: str
    value: Any
    versions: Versions = Versions.BOTH


class CompletedConfig(Protocol):
    """The configuration after the last line was read, as post_config steps see it."""

    dialect: Dialect

    def servers(self) -> Iterable[Any]:
        """Return the main server first, then the virtual hosts in file order."""

    def loaded(self, module: str) -> bool: ...

    def warn(
        self,
        text: str,
        *,
        code: str = "",
        level: str = "warn",
        module: str = "core",
        place: SourceLocation | None = None,
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Segment:
    """Memory that all workers share, filled with zeros at first.

    Attributes:
        name: identifies it, by convention with the module's name in front.
        size: bytes, more than 0.
        layout: a graceful restart keeps the contents if name, size and layout are the same.
        fill: function of the master that writes the first contents, before a worker exists.
        save: function of the master that is called when the contents are dropped: at a restart that does not
            keep them, and at the end of the server.
    """

    name: str
    size: int
    layout: str = ""
    fill: Callable[[Any], None] | None = field(default=None, compare=False)
    save: Callable[[Any], None] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One httpd module.

    Attributes:
        name: httpd's identifier (``dir_module``).
        source: the file that -l and <IfModule> name (``mod_dir.c``).
        dir_setters: setters by directive, as the catalogue spells it; they get the record of per-directory
            settings, `dir_config`.
        server_setters: those that get the record of per-server settings, `server_config`.
        setters: those that get no record.
        check_config: steps that run once the configuration is complete.
        register: steps that follow them, except under -t, and add providers that only requests call.
        post_config: steps that follow those of all modules, except under -t; these and check_config raise
            ConfigError or StartError.
        post_config_last: steps that follow those of all modules (httpd's APR_HOOK_LAST).
        shared: functions from the configuration to segments of shared memory, which exist before workers.
        worker_begins, worker_ends: functions of the engine that run in each worker (httpd's child_init).
        own_context_checks: directives whose setter refuses contexts itself: for some arguments only, or after
            a warning.
        unimplemented: directives that are accepted but stop a start, as they have no behaviour here.
    """

    name: str
    source: str
    dir_setters: Mapping[str, Setter] = field(default_factory=dict)
    server_setters: Mapping[str, Setter] = field(default_factory=dict)
    setters: Mapping[str, Setter] = field(default_factory=dict)
    dir_config: type[Any] | None = None
    server_config: type[Any] | None = None
    hooks: tuple[Hook, ...] = ()
    providers: tuple[Provider, ...] = ()
    versions: Versions = Versions.BOTH
    check_config: tuple[Callable[[Any], None], ...] = ()
    register: tuple[Callable[[Any], None], ...] = ()
    post_config: tuple[Callable[[Any], None], ...] = ()
    post_config_last: tuple[Callable[[Any], None], ...] = ()
    shared: tuple[Callable[[Any], Iterable[Segment]], ...] = ()
    worker_begins: tuple[Callable[[Any], Awaitable[None]], ...] = ()
    worker_ends: tuple[Callable[[Any], Awaitable[None]], ...] = ()
    own_context_checks: frozenset[str] = frozenset()
    unimplemented: frozenset[str] = frozenset()

    def setter(self, name: str) -> Setter | None:
        """Return the setter of a directive, *name* as the catalogue spells it; None: it has no behaviour."""
        return self.dir_setters.get(name) or self.server_setters.get(name) or self.setters.get(name)
