"""mod_ssl's access checker as a symbolic condition: SSLRequireSSL, SSLRequire and StrictRequire.

In both versions it runs beside Order, Allow and Deny, so that Satisfy Any joins it with the Require lines.
Source: ssl_hook_Access in ssl_engine_kernel.c.
"""

from __future__ import annotations

from typing import Final

from whimbrel.access.atoms import Opaque, OverTls
from whimbrel.access.decision import Undecided
from whimbrel.access.order_allow_deny import is_refused, is_refused_by_compat
from whimbrel.access.query import AccessQuery
from whimbrel.access.space import Function
from whimbrel.modules.ssl.mod_ssl.settings import OPTIONAL, STRICT_REQUIRE, SslDirConfig, SslServerConfig

_MODULE: Final = "ssl_module"
_HOSTS_22: Final = "authz_host_module"
_HOSTS_24: Final = "access_compat_module"


def is_refused_by_ssl(query: AccessQuery) -> Function:
    """Return the condition under which mod_ssl refuses the request: over plain HTTP if TLS is required, over
    TLS if an SSLRequire does not hold.

    Raises Undecided for SSLEngine optional, which asks the client to upgrade.
    """
    space = query.space
    if not query.plan.loaded(_MODULE):
        return space.false
    settings = query.dir_config(SslDirConfig)
    if not (settings.requires_tls or settings.requirements):
        return space.false
    over_tls = query.variable(OverTls())
    refused = space.false
    if settings.requires_tls:
        if query.plan.server_config(SslServerConfig).engine == OPTIONAL:
            raise Undecided("SSLRequireSSL beside SSLEngine optional")
        refused = ~over_tls
    texts = dict.fromkeys(" ".join(one.text.split()) for one in settings.requirements)
    fails = space.any_of(~query.variable(Opaque(f"sslrequire {text}")) for text in texts)
    return refused | (over_tls & fails)


def is_refused_strictly(query: AccessQuery) -> Function:
    """Return the condition under which mod_ssl refuses the request again beside Satisfy Any: StrictRequire
    applies, and mod_ssl's access checker has refused.

    The phase ends with the first access checker that refuses: where the module of Order, Allow and Deny is
    loaded before mod_ssl and refuses, mod_ssl does not look.
    """
    refused = is_refused_by_ssl(query) & _is_strict(query)
    if refused == query.space.false:
        return refused
    hosts = _HOSTS_22 if query.is_22 else _HOSTS_24
    names = [module.name for module in query.settings.configuration.modules.modules]
    if hosts in names and names.index(hosts) < names.index(_MODULE):
        return refused & ~(is_refused(query) if query.is_22 else is_refused_by_compat(query))
    return refused


def _is_strict(query: AccessQuery) -> Function:
    """Return the condition that SSLOptions +StrictRequire applies."""
    if query.plan.loaded(_MODULE) and STRICT_REQUIRE in query.dir_config(SslDirConfig).options.options:
        return query.space.true
    if query.environment.may_be_strict:
        return query.variable(Opaque("SSLOptions +StrictRequire of the server"))
    return query.space.false
