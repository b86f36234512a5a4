"""Optional packages that modules of a configuration need and that are not installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable

from whimbrel.base.errors import MissingPackage
from whimbrel.config.configuration import Configuration

EXTRAS = {
    "brotli_module": ("brotli", "brotli"),
    "ldap_module": ("ldap", "ldap"),
    "lua_module": ("lua", "lupa"),
    "md_module": ("acme", "acme"),
    "proxy_html_module": ("html", "lxml"),
    "proxy_http2_module": ("proxy-http2", "h2"),
    "session_crypto_module": ("session-crypto", "cryptography"),
    "socache_dbm_module": ("cache", "lmdb"),
    "socache_shmcb_module": ("cache", "lmdb"),
    "ssl_module": ("tls", "cryptography"),
}
"""Identifier of a module -> the extra of this distribution, and the package that it installs."""


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
    lacking: dict[str, str] = {}
    for name in names:
        extra, package = EXTRAS.get(name, ("", ""))
        if package and not is_present(package):
            lacking[f"mod_{name.removesuffix('_module')}"] = extra
    if refused is not None:
        lacking.setdefault(refused.module, refused.extra)
    if not lacking:
        return ""
    extras = ",".join(sorted(set(lacking.values())))
    return f"not installed here: packages of {', '.join(lacking)}: {pip()} install 'whimbrel[{extras}]'"


def pip() -> str:
    """Return the command pip of this interpreter: with its path, unless the shell finds this one."""
    own = os.path.join(os.path.dirname(sys.executable), "pip")
    if not os.path.exists(own):
        return f"{sys.executable} -m pip"
    found = (os.path.join(path, "pip") for path in os.environ.get("PATH", "").split(os.pathsep))
    return "pip" if next(filter(os.path.exists, found), "") == own else own
