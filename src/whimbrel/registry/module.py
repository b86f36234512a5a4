"""A module as a table: settings records, directives, hook makers, providers.  Nothing registers itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Flag, IntEnum, auto
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from whimbrel.base.dialect import Dialect
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.directives.spec import AnyDirective, Versions
from whimbrel.registry.phases import HookFn, HookStatus, Phase

if TYPE_CHECKING:
    from whimbrel.base.errors import SourceLocation

S = TypeVar("S")


class Reads(Flag):
    """Inputs of a hook's result besides the merged settings; they decide whether the response can
    be cached.
    """

    NOTHING = 0
    HEAD = auto()  # method, target, Host and the other fields of the request head
    CLIENT = auto()  # address of the client (not its port); not set if only Request.client_in reads it
    FILES = auto()  # files on disk, read through Request.deps, which records them
    TIME = auto()  # the clock, beyond the Date field and the log's time
    UNCACHEABLE = auto()  # anything else: a back end, a name lookup, a program, the scoreboard


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
class CompiledHook:
    """A hook compiled for one merged configuration.

    Attributes:
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


HookMaker = Callable[[Scope], CompiledHook | None]


def lazy_maker(file: str, name: str) -> HookMaker:
    """Return a hook maker that imports *name* from the Python module *file* when it first runs: reading a
    configuration needs no hook.
    """

    def make(scope: Scope) -> CompiledHook | None:
        maker: HookMaker = getattr(import_module(file), name)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One httpd module.

    Attributes:
        name: httpd's identifier (``dir_module``).
        source: the file that -l and <IfModule> name (``mod_dir.c``).
        check_config: steps that run once the configuration is complete.
        post_config: steps that follow them, except under -t; both raise ConfigError or StartError.
        unimplemented: directives that are accepted but stop a start, as they have no behaviour here.
    """

    name: str
    source: str
    directives: tuple[AnyDirective, ...] = ()
    dir_config: type[Any] | None = None
    server_config: type[Any] | None = None
    hooks: tuple[Hook, ...] = ()
    providers: tuple[Provider, ...] = ()
    versions: Versions = Versions.BOTH
    check_config: tuple[Callable[[Any], None], ...] = ()
    post_config: tuple[Callable[[Any], None], ...] = ()
    unimplemented: frozenset[str] = frozenset()
