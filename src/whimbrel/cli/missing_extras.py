"""Optional packages that modules of a configuration need and that are not installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

EXTRAS = {
    "brotli_module": ("brotli", "brotli"),
    "ldap_module": ("ldap", "ldap"),
    "lua_module": ("lua", "lupa"),
    "md_module": ("acme", "acme"),
    "proxy_html_module": ("html", "lxml"),
    "proxy_http2_module": ("proxy-http2", "h2"),
    "socache_dbm_module": ("cache", "lmdb"),
    "ssl_module": ("tls", "cryptography"),
}
"""Identifier of a module -> the extra of this distribution, and the package that it installs."""


def is_installed(package: str) -> bool:
    """Return True if *package* can be imported; imports nothing."""
    finders = (getattr(finder, "find_spec", None) for finder in sys.meta_path)
    return any(find is not None and find(package, None) is not None for find in finders)


def missing_extras(names: Iterable[str], is_present: Callable[[str], bool] = is_installed) -> str:
    """Return one sentence about the packages that the modules *names* need; "" if none is missing."""
    rows = [(name, *EXTRAS[name]) for name in names if name in EXTRAS]
    lacking = [(name, extra) for name, extra, package in rows if not is_present(package)]
    if not lacking:
        return ""
    modules = ", ".join(f"mod_{name.removesuffix('_module')}" for name, _ in lacking)
    extras = ",".join(sorted({extra for _, extra in lacking}))
    return f"not installed here: packages of {modules}: pip install 'whimbrel[{extras}]'"
