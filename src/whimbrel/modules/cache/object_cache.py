"""Shared object caches (httpd's ap_socache): small values by key, shared by all workers.

A kind is the provider of the group ``socache`` under the name that CacheSocache has: a `SocacheKind`. Values
may vanish at any time; whatever fails is a miss.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.programs import may_start_programs
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final
from whimbrel.catalogue.checks.providers import SOCACHE
from whimbrel.config.execute import state_of

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.directives.command import Command
    from whimbrel.engine.request import Request

GROUP: Final = "socache"


class ObjectCache:
    """One cache in one worker."""

    __slots__ = ()

    @abstractmethod
    async def retrieve(self, r: Request, key: bytes, limit: int) -> bytes | None:
        """Return the value of *key* if it has at most *limit* bytes; None without one."""

    @abstractmethod
    async def store(self, r: Request, key: bytes, value: bytes, seconds: int) -> bool:
        """Store a value for *seconds*; return False if it is not stored."""

    @abstractmethod
    async def remove(self, r: Request, key: bytes) -> None:
        """Remove a value."""


@dataclass(frozen=True, slots=True)
class SocacheKind:
    """A kind of cache.

    Attributes:
        check: function of the argument that returns httpd's message about a bad one, "" for none.
        make: function of the configuration and the argument that returns the cache, in the worker.
        prepare: function of the configuration and the argument that the master calls before it forks.
    """

    check: Callable[[str], str]
    make: Callable[[Any, str], ObjectCache]
    prepare: Callable[[Configuration, str], None] | None = None


def worker_cache(r: Request, kind: tuple[str, str]) -> ObjectCache | None:
    """Return the object cache of a name and an argument, one for each worker; None for no name.

    A tool has none: the argument may name any file and any server.
    """
    if not kind[0] or not may_start_programs():
        return None
    known: dict[tuple[str, str], ObjectCache] = r.engine.worker_state.setdefault(GROUP, {})
    found = known.get(kind)
    if found is None:
        configuration = r.engine.configuration
        found = configuration.provider(GROUP, kind[0]).make(configuration, kind[1])
        known[kind] = found
    return found


def prepare_kind(finished: Configuration, kind: tuple[str, str]) -> None:
    """Let a kind make its files before workers exist."""
    provider = finished.provider(GROUP, kind[0]) if kind[0] else None
    if provider is not None and provider.prepare is not None:
        provider.prepare(finished, kind[1])


def read_kind(cmd: Command, word: str) -> tuple[str, str]:
    """Return name and argument of ``NAME[:ARGUMENT]``.

    Raises:
        ConfigError: no loaded module has that kind, or the argument is bad.
    """
    name, _, argument = word.partition(":")
    kind = cmd.provider(GROUP, SOCACHE.get(name, name))
    if kind is None:
        raise ConfigError(
            f"Unknown socache provider '{name}'. Maybe you need to load the appropriate socache module "
            f"(mod_socache_{name}?)"
        )
    wrong = kind.check(argument)
    if wrong:
        raise ConfigError(wrong)
    state_of(cmd).configuration.declare(GROUP, SOCACHE.get(name, name))
    return SOCACHE.get(name, name), argument
