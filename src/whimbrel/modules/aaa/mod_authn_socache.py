"""mod_authn_socache (2.4): cache of credentials that a slow provider found.

Manual: mod/mod_authn_socache.html.  Each worker has its own cache; the types of shared caches are settings
without effect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from whimbrel.base.errors import ConfigError, PostConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import atoi
from whimbrel.catalogue.checks.providers import has_socache, segment_error
from whimbrel.catalogue.checks.rules import CheckContext
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Args, ConfigScope, Context, Directive, Versions
from whimbrel.engine.request import Request
from whimbrel.modules.support.auth.auth_api import (
    AUTH_DENIED,
    AUTH_GRANTED,
    AUTH_USER_FOUND,
    AUTH_USER_NOT_FOUND,
    AuthnProvider,
    BoundAuthn,
)
from whimbrel.modules.support.auth.auth_files import Verifier
from whimbrel.modules.support.setters import global_only, set_text
from whimbrel.registry.module import Module, Provider, Reads, Scope
from whimbrel.registry.settings import UNSET, setting

_MAX_ENTRIES: Final = 10_000  # users cached by a worker


@dataclass(slots=True)
class AuthnCacheDirConfig:
    """Per-directory settings; *timeout* in seconds."""

    providers: tuple[str, ...] = setting(())
    timeout: int = setting(300)
    context: str = setting("directory")


@dataclass(slots=True)
class AuthnCacheServerConfig:
    """The main server's settings: is a cache enabled and chosen; the entries: key to stored password and
    expiry.
    """

    wanted: bool = setting(False)
    chosen: bool = setting(False)
    entries: dict[str, tuple[str, float]] = setting(make=dict)


def choose(cmd: Command, record: AuthnCacheServerConfig, words: list[str]) -> None:
    """AuthnCacheSOCache KIND[:ARGUMENTS]."""
    names = ("shmcb", "dbm", "memcache", "redis", "dc")
    loaded = frozenset(f"socache_{name}_module" for name in names if cmd.loaded(f"mod_socache_{name}.c"))
    around = CheckContext(loaded=loaded)
    name, _, rest = words[0].partition(":")
    if not has_socache(name, around):
        raise ConfigError(
            f"AuthnCacheSOCache: Unknown socache provider '{words[0]}'. Maybe you need to load the "
            "appropriate socache module "
            f"(mod_socache_{words[0]}?)"
        )
    wrong = segment_error(rest, around) if name in ("shmcb", "default") else None
    if wrong:
        raise ConfigError(f"AuthnCacheSOCache: {wrong}")
    record.chosen = True


def enable(cmd: Command, _record: Any, _words: list[str]) -> None:
    """AuthnCacheEnable: allow the cache in .htaccess files."""
    cmd.main_server(AuthnCacheServerConfig).wanted = True


def add_provider(cmd: Command, record: AuthnCacheDirConfig, words: list[str]) -> None:
    """AuthnCacheProvideFor."""
    record.providers = (*(() if record.providers is UNSET else record.providers), words[0])
    if not cmd.in_htaccess:
        cmd.main_server(AuthnCacheServerConfig).wanted = True


def set_timeout(_cmd: Command, record: AuthnCacheDirConfig, words: list[str]) -> None:
    record.timeout = atoi(words[0])


def check_chosen(finished: Any) -> None:
    """Choose the default, shmcb, for a cache that is enabled without a type."""
    main = next(iter(finished.servers())).config(AuthnCacheServerConfig)
    if main.wanted and not main.chosen and not finished.loaded("mod_socache_shmcb.c"):
        raise PostConfigError(
            "authn_socache",
            (
                "crit",
                (
                    "AH01674: Please select a socache provider with AuthnCacheSOCache (no default found on "
                    "this platform). Maybe you need to "
                    "load mod_socache_shmcb or another socache module first"
                ),
            ),
        )


def _key(r: Request, context: str, user: str, realm: str) -> str:
    if context == "directory":
        context = r.server.name + r.uri.rpartition("/")[0]
    elif context == "server":
        context = r.server.name
    return f"{context}:{user}" + (f":{realm}" if realm else "")


def _log(r: Request, text: str, code: str) -> None:
    r.log("debug", text, code=code, module="authn_socache")


Store = Callable[[Request, str, str, str], None]


def storing(scope: Scope, name: str) -> Store | None:
    """Return the function that a provider *name* calls with user, realm ("" for Basic) and stored password;
    None if nothing is cached.
    """
    settings = scope.dir_config(AuthnCacheDirConfig)
    if name not in settings.providers:
        return None
    entries = scope.server_config(AuthnCacheServerConfig).entries

    def store(r: Request, user: str, realm: str, stored: str) -> None:
        if len(entries) >= _MAX_ENTRIES:
            entries.clear()
        entries[_key(r, settings.context, user, realm)] = (stored, r.engine.runtime.now() + settings.timeout)
        _log(r, f"Cached authn credentials for {user} in {settings.context}", "AH01681")

    return store


def make_cached(scope: Scope) -> BoundAuthn:
    """Return the provider of the cached users."""
    settings, entries, verifier = (
        scope.dir_config(AuthnCacheDirConfig),
        scope.server_config(AuthnCacheServerConfig).entries,
        Verifier(),
    )

    def find(r: Request, user: str, realm: str, codes: tuple[str, str]) -> str | None:
        """Return the stored password; *codes* are those of the messages that it is missing, or there."""
        r.set_uncacheable()
        if not settings.providers:
            return None
        entry = entries.get(_key(r, settings.context, user, realm))
        if entry is None or entry[1] <= r.engine.runtime.now():
            _log(r, f"Authn cache: no credentials found for {user}", codes[0])
            return None
        _log(r, f"Authn cache: found credentials for {user}", codes[1])
        return entry[0]

    async def password(r: Request, user: str, given: str) -> int:
        stored = find(r, user, "", ("AH01684", "AH01685"))
        if stored is None:
            return AUTH_USER_NOT_FOUND
        return AUTH_GRANTED if await verifier.verify(r, user, given, stored) else AUTH_DENIED

    async def realm_hash(r: Request, user: str, realm: str) -> tuple[int, str]:
        stored = find(r, user, realm, ("AH01687", "AH01688"))
        return (AUTH_USER_NOT_FOUND, "") if stored is None else (AUTH_USER_FOUND, stored)

    return BoundAuthn(password, realm_hash, Reads.HEAD | Reads.UNCACHEABLE)


MODULE = Module(
    name="authn_socache_module",
    source="mod_authn_socache.c",
    versions=Versions.V24,
    dir_config=AuthnCacheDirConfig,
    server_config=AuthnCacheServerConfig,
    directives=(
        Directive(
            name="AuthnCacheSOCache",
            args=Args.TAKE1,
            where=Context.RSRC_CONF,
            record=ConfigScope.SERVER,
            apply=global_only(choose),
            help="socache provider for authn cache",
        ),
        Directive(
            name="AuthnCacheEnable",
            args=Args.RAW_ARGS,
            where=Context.RSRC_CONF,
            record=ConfigScope.NONE,
            apply=global_only(enable),
            help="enable socache configuration in htaccess even if not enabled anywhere else",
        ),
        Directive(
            name="AuthnCacheProvideFor",
            args=Args.ITERATE,
            where=Context.OR_AUTHCFG,
            apply=add_provider,
            help="Determine what authn providers to cache for",
        ),
        Directive(
            name="AuthnCacheTimeout",
            args=Args.TAKE1,
            where=Context.OR_AUTHCFG,
            apply=set_timeout,
            help="Timeout (secs) for cached credentials",
        ),
        Directive(
            name="AuthnCacheContext",
            args=Args.TAKE1,
            where=Context.ACCESS_CONF,
            apply=set_text("context"),
            help="Context for authn cache",
        ),
    ),
    providers=(
        Provider("authn", "socache", AuthnProvider(make_cached)),
        Provider("authn_cache", "storing", storing),
    ),
    post_config=(check_chosen,),
)
