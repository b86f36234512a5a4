"""mod_authn_socache (2.4): cache of credentials that a slow provider found."""

from __future__ import annotations

from typing import Final

from whimbrel.base.errors import ConfigError, PostConfigError
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.catalogue.checks.providers import SOCACHE
from whimbrel.config.configuration import Configuration
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Versions
from whimbrel.engine.request import Request
from whimbrel.modules.cache.object_cache import GROUP, prepare_kind, read_kind, worker_cache
from whimbrel.modules.support.auth.auth_api import Authn, AuthnProvider, BoundAuthn, CacheSink
from whimbrel.modules.support.auth.auth_files import Verifier
from whimbrel.modules.support.setters import set_number, set_text
from whimbrel.registry.module import Module, Provider, Reads, Scope
from whimbrel.registry.settings import UNSET, setting

_MAX_VALUE: Final = 256  # bytes of a stored password; httpd's buffer
_NAMESPACE: Final = b"authn-socache:"  # a default file may hold responses of mod_cache_socache too


@dataclass(slots=True)
class AuthnCacheDirConfig:
    """Per-directory settings; *timeout* in seconds."""

    providers: tuple[str, ...] = setting(())
    timeout: int = setting(300)
    context: str = setting("directory")


@dataclass(slots=True)
class AuthnCacheServerConfig:
    """The main server's settings: is a cache enabled; name and argument of the object cache."""

    wanted: bool = setting(False)
    kind: tuple[str, str] = setting(("", ""))


def choose(cmd: Command, record: AuthnCacheServerConfig, words: list[str]) -> None:
    """AuthnCacheSOCache KIND[:ARGUMENTS]."""
    name = words[0].partition(":")[0]
    if cmd.provider(GROUP, SOCACHE.get(name, name)) is None:
        raise ConfigError(
            f"AuthnCacheSOCache: Unknown socache provider '{words[0]}'. Maybe you need to load the "
            "appropriate socache module "
            f"(mod_socache_{words[0]}?)"
        )
    try:
        record.kind = read_kind(cmd, words[0])
    except ConfigError as problem:
        raise ConfigError(f"AuthnCacheSOCache: {problem.reason}") from None


def enable(cmd: Command, _record: object, _words: list[str]) -> None:
    """AuthnCacheEnable: allow the cache in .htaccess files."""
    cmd.main_server(AuthnCacheServerConfig).wanted = True


def add_provider(cmd: Command, record: AuthnCacheDirConfig, words: list[str]) -> None:
    """AuthnCacheProvideFor."""
    record.providers = (*(() if record.providers is UNSET else record.providers), words[0])
    if not cmd.in_htaccess:
        cmd.main_server(AuthnCacheServerConfig).wanted = True


def prepare(finished: Configuration) -> None:
    """Choose the default, shmcb, for a cache that is enabled without a type; let it make its files."""
    main = next(iter(finished.servers())).config(AuthnCacheServerConfig)
    if not main.wanted:
        return
    if not main.kind[0] and not finished.loaded("mod_socache_shmcb.c"):
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
    prepare_kind(finished, _kind(main))


def _kind(main: AuthnCacheServerConfig) -> tuple[str, str]:
    return main.kind if main.kind[0] else ("shmcb", "")


def _key(r: Request, context: str, user: str, realm: str) -> bytes:
    if context == "directory":
        context = r.server.name + r.uri.rpartition("/")[0]
    elif context == "server":
        context = r.server.name
    return _NAMESPACE + to_bytes(f"{context}:{user}" + (f":{realm}" if realm else ""))


def _log(r: Request, text: str, code: str) -> None:
    r.log("debug", text, code=code, module="authn_socache")


def storing(scope: Scope, name: str) -> CacheSink | None:
    """Return the function that a provider *name* calls with user, realm ("" for Basic) and stored password;
    None if nothing is cached.
    """
    settings = scope.dir_config(AuthnCacheDirConfig)
    if name not in settings.providers:
        return None
    kind = _kind(scope.server_config(AuthnCacheServerConfig))

    async def store(r: Request, user: str, realm: str, stored: str) -> None:
        cache = worker_cache(r, kind)
        if cache is None:
            return
        key = _key(r, settings.context, user, realm)
        is_stored = await cache.store(r, key, to_bytes(stored), settings.timeout)
        begin, code = ("Cached", "AH01681") if is_stored else ("Failed to cache", "AH01682")
        _log(r, f"{begin} authn credentials for {user} in {settings.context}", code)

    return store


def make_cached(scope: Scope) -> BoundAuthn:
    """Return the provider of the cached users."""
    settings = scope.dir_config(AuthnCacheDirConfig)
    verifier = Verifier()
    kind = _kind(scope.server_config(AuthnCacheServerConfig))

    async def find(r: Request, user: str, realm: str, codes: tuple[str, str]) -> str | None:
        """Return the stored password; *codes* are those of the messages that it is missing, or there."""
        r.set_uncacheable()
        if not settings.providers:
            return None
        cache = worker_cache(r, kind)
        key = _key(r, settings.context, user, realm)
        found = await cache.retrieve(r, key, _MAX_VALUE) if cache is not None else None
        if found is None:
            _log(r, f"Authn cache: no credentials found for {user}", codes[0])
            return None
        _log(r, f"Authn cache: found credentials for {user}", codes[1])
        return to_text(found)

    async def password(r: Request, user: str, given: str) -> int:
        stored = await find(r, user, "", ("AH01684", "AH01685"))
        if stored is None:
            return Authn.USER_NOT_FOUND
        return Authn.GRANTED if await verifier.verify(r, user, given, stored) else Authn.DENIED

    async def realm_hash(r: Request, user: str, realm: str) -> tuple[int, str]:
        stored = await find(r, user, realm, ("AH01687", "AH01688"))
        return (Authn.USER_NOT_FOUND, "") if stored is None else (Authn.USER_FOUND, stored)

    return BoundAuthn(password, realm_hash, Reads.HEAD | Reads.UNCACHEABLE)


MODULE = Module(
    name="authn_socache_module",
    source="mod_authn_socache.c",
    versions=Versions.V24,
    dir_config=AuthnCacheDirConfig,
    server_config=AuthnCacheServerConfig,
    dir_setters={
        "AuthnCacheProvideFor": add_provider,
        "AuthnCacheTimeout": set_number("timeout"),
        "AuthnCacheContext": set_text("context"),
    },
    server_setters={
        "AuthnCacheSOCache": choose,
    },
    setters={
        "AuthnCacheEnable": enable,
    },
    providers=(
        Provider("authn", "socache", AuthnProvider(make_cached)),
        Provider("authn_cache", "storing", storing),
    ),
    post_config=(prepare,),
)
