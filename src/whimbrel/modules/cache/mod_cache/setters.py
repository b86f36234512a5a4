"""Setters of mod_cache's directives, with httpd's messages."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import lower, strip, strtol
from whimbrel.base.static_typing import Any, Final
from whimbrel.catalogue.checks.numbers import is_float
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.http.syntax.target import UriParts, split_url
from whimbrel.modules.cache.mod_cache.settings import CacheDirConfig, CachedUrl, CacheServerConfig
from whimbrel.modules.support.setters import own
from whimbrel.registry.settings import UNSET

_BELOW: Final = "When in a Location, CacheEnable must specify a path or an URL below that location."


def _list(record: object, name: str) -> tuple[Any, ...]:
    value: tuple[Any, ...] = own(record, name, tuple)
    return value


def _add_url(record: CacheServerConfig, name: str, kind: str, url: str) -> None:
    """Add a URL; one that cannot be parsed matches nothing."""
    parts = split_url(url)
    if parts is not None:
        setattr(record, name, (*_list(record, name), CachedUrl(kind, parts)))


def enable(cmd: Command, _record: object, words: list[str]) -> None:
    """CacheEnable STORE [URL]; in a section the URL is the section's path or below it."""
    server = cmd.server_config(CacheServerConfig)
    kind = words[0]
    url = words[1] if len(words) > 1 else ""
    if not cmd.dialect.cache_22:
        if kind.startswith("/"):
            raise ConfigError(f"provider ({kind}) starts with a '/'.  Are url and provider switched?")
        if not url and not cmd.path:
            raise ConfigError(f"CacheEnable provider ({kind}) is missing an URL.")
        if cmd.path:
            if url and not url.startswith(cmd.path):
                raise ConfigError(_BELOW)
            section = cmd.dir_config(CacheDirConfig)
            section.enabled = (*_list(section, "enabled"), kind)
            return
    _add_url(server, "enabled", kind, url)


def disable(cmd: Command, _record: object, words: list[str]) -> None:
    """CacheDisable URL; in a section ``on``."""
    url = words[0]
    if not cmd.dialect.cache_22:
        if cmd.path:
            if lower(url) != "on":
                raise ConfigError("CacheDisable must be followed by the word 'on' when in a Location.")
            cmd.dir_config(CacheDirConfig).is_disabled = True
            return
        if not url.startswith("/") and ":" not in url:
            raise ConfigError("CacheDisable must specify a path or an URL.")
    _add_url(cmd.server_config(CacheServerConfig), "disabled", "", url)


def set_seconds(name: str) -> Setter:
    """Return the setter of seconds, read as C's atol does."""

    def apply(_cmd: Command, record: object, words: list[str]) -> None:
        setattr(record, name, strtol(words[0])[0])

    return apply


def set_factor(_cmd: Command, record: CacheDirConfig, words: list[str]) -> None:
    """CacheLastModifiedFactor."""
    if not is_float(words[0]):
        raise ConfigError("CacheLastModifiedFactor value must be a float")
    text = strip(words[0])
    while text:
        try:
            record.factor = float(text)
            return
        except ValueError:
            text = text[:-1]  # C reads the number at the beginning


def add_name(name: str) -> Setter:
    """Return the setter that adds a name to a list; None makes the list empty for good."""

    def apply(_cmd: Command, record: object, words: list[str]) -> None:
        known = getattr(record, name)
        if lower(words[0]) == "none":
            setattr(record, name, ())
        elif known is UNSET or known:
            setattr(record, name, (*_list(record, name), words[0]))

    return apply


def set_lock_max_age(_cmd: Command, record: CacheServerConfig, words: list[str]) -> None:
    """CacheLockMaxAge."""
    seconds = strtol(words[0])[0]
    if seconds <= 0:
        raise ConfigError("CacheLockMaxAge value must be a non-zero positive integer")
    record.lock_max_age = seconds


def set_by_place(name: str) -> Setter:
    """Return the setter of a flag that sections have as well as servers."""

    def apply(cmd: Command, _record: object, words: list[str]) -> None:
        record: object = cmd.dir_config(CacheDirConfig) if cmd.path else cmd.server_config(CacheServerConfig)
        setattr(record, name, words[0] == "on")

    return apply


def set_base_url(_cmd: Command, record: CacheServerConfig, words: list[str]) -> None:
    """CacheKeyBaseURL."""
    parts: UriParts | None = split_url(words[0])
    if parts is None:
        raise ConfigError(f"Could not parse '{words[0]}' as an URL.")
    if not (parts.scheme or parts.hostname or parts.port_text):
        raise ConfigError(f"URL '{words[0]}' must contain at least one of a scheme, a hostname or a port.")
    record.base_url = parts
