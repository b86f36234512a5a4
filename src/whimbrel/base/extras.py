"""Optional packages: the table of the extras of this distribution, and the sentence about a missing one."""

from __future__ import annotations

import os
import sys

from whimbrel.base.static_typing import Final

EXTRAS: Final[dict[str, tuple[str, ...]]] = {
    "acme": ("acme", "cryptography"),
    "asgi": ("uvicorn", "websockets"),
    "brotli": ("brotli",),
    "cache": ("lmdb",),
    "cluster": ("distributed",),
    "html": ("lxml",),
    "ldap": ("python-ldap",),
    "lsp": ("pygls",),
    "lua": ("lupa",),
    "metrics": ("prometheus-client",),
    "mysql": ("PyMySQL",),
    "otel": ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"),
    "pgsql": ("psycopg",),
    "proxy-http2": ("h2",),
    "session-crypto": ("cryptography",),
    "tls": ("cryptography", "pyOpenSSL"),
    "watch": ("watchfiles",),
}
"""Extra -> the packages that it installs, the one that is missed first in front."""
IMPORTS: Final = {
    "PyMySQL": "pymysql",
    "opentelemetry-sdk": "opentelemetry",
    "prometheus-client": "prometheus_client",
    "pyOpenSSL": "OpenSSL",
    "python-ldap": "ldap",
}
"""Package -> the name of its import, where they differ."""


def not_installed(needed_for: str, *extras: str, package: str = "") -> str:
    """Return the sentence about missing packages of *extras*: what needs them, and how to install them.

    *needed_for*: a module, directive or option. *package*: the missing one, unless it is the extra's first.
    """
    names = list(dict.fromkeys([package] if package else [EXTRAS[extra][0] for extra in extras]))
    packages = f"package {names[0]} is" if len(names) == 1 else f"packages {', '.join(names)} are"
    wanted = ",".join(sorted(set(extras)))
    return f"{needed_for}: the {packages} not installed: {pip()} install 'whimbrel[{wanted}]'"


def pip() -> str:
    """Return the command pip of this interpreter: with its path, unless the shell finds this one."""
    own = os.path.join(os.path.dirname(sys.executable), "pip")
    if not os.path.exists(own):
        return f"{sys.executable} -m pip"
    found = (os.path.join(path, "pip") for path in os.environ.get("PATH", "").split(os.pathsep))
    return "pip" if next(filter(os.path.exists, found), "") == own else own
