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
from whimbrel.modules.aaa import mod_access_compat, mod_authz_host
from whimbrel.modules.ssl import mod_ssl
from whimbrel.modules.ssl.mod_ssl.settings import OPTIONAL, STRICT_REQUIRE, SslDirConfig, SslServerConfig
from whimbrel.registry.phases import ACCESS_CHECKER

_MODULE: Final = "ssl_module"
_SSL_ACCESS: Final = next(
    hook.make
    for hook in mod_ssl.MODULE.hooks
    if hook.phase is ACCESS_CHECKER and hook.make.__module__.endswith(".hooks")
)
"""The hook of mod_ssl that checks SSLRequireSSL and SSLRequire."""


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


def is_noted_by_ssl(query: AccessQuery) -> Function:
    """Return the condition under which mod_ssl notes that it refused the request, for +StrictRequire.

    Of the access checkers the first that refuses is the last that runs: where Order, Allow and Deny refuse a
    client before, mod_ssl notes nothing. Source: ap_run_access_checker, RUN_ALL; both hooks are MIDDLE.
    """
    refused = is_refused_by_ssl(query)
    for hook in query.settings.plans.hooks[ACCESS_CHECKER.index]:
        if hook.make is _SSL_ACCESS:
            break
        if hook.make is mod_authz_host.make_access22 and query.is_22:
            refused = refused & ~is_refused(query)
        if hook.make is mod_access_compat.make_access and not query.is_22:
            refused = refused & ~is_refused_by_compat(query)
    return refused


def is_strict(query: AccessQuery) -> Function:
    """Return the condition that SSLOptions +StrictRequire applies."""
    if query.plan.loaded(_MODULE) and STRICT_REQUIRE in query.dir_config(SslDirConfig).options.options:
        return query.space.true
    if query.environment.may_be_strict:
        return query.variable(Opaque("SSLOptions +StrictRequire of the server"))
    return query.space.false
