"""Optional packages that modules of a configuration need and that are not installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from whimbrel.base.errors import MissingPackage
from whimbrel.base.static_typing import Final
from whimbrel.config.configuration import Configuration

EXTRA_BY_MODULE: Final = {
    "brotli_module": "brotli",
    "ldap_module": "ldap",
    "lua_module": "lua",
    "md_module": "acme",
    "otel_module": "otel",
    "proxy_html_module": "html",
    "proxy_http2_module": "proxy-http2",
    "session_crypto_module": "session-crypto",
    "socache_dbm_module": "cache",
    "socache_shmcb_module": "cache",
    "ssl_module": "tls",
}
"""Identifier of a module -> the extra of this distribution that it needs."""


def used_modules(configuration: Configuration) -> list[str]:
    """Return the loaded modules, without caches that no directive names: distributions load all of them."""
    caches = configuration.declared_names.get("socache", ())
    names = [module.name for module in configuration.modules.modules]
    return [
        name
        for name in names
        if not name.startswith("socache_") or name.removeprefix("socache_").removesuffix("_module") in caches
    ]


def is_installed(package: str) -> bool:
    """Return True if *package* can be imported; imports nothing."""
    finders = (getattr(finder, "find_spec", None) for finder in sys.meta_path)
    return any(find is not None and find(package, None) is not None for find in finders)


def missing_extras(
    names: Iterable[str],
    is_present: Callable[[str], bool] = is_installed,
    refused: MissingPackage | None = None,
) -> str:
    """Return one sentence about the packages that the modules *names*, and the one of *refused*, need; "" if
    none is missing.
    """
    optional = [name for name in names if name in EXTRA_BY_MODULE]
    if not optional and refused is None:
        return ""
    from whimbrel.base.extras import EXTRAS, IMPORTS, not_installed  # few configurations need a package

    lacking: dict[str, str] = {}
    for name in optional:
        extra = EXTRA_BY_MODULE[name]
        package = EXTRAS[extra][0]
        if not is_present(IMPORTS.get(package, package)):
            lacking[f"mod_{name.removesuffix('_module')}"] = extra
    if refused is not None:
        lacking.setdefault(refused.module, refused.extra)
    if not lacking:
        return ""
    return not_installed(", ".join(lacking), *lacking.values())
