"""mod_authz_core: Require and its containers (2.4).

Public: MODULE.  Settings and merging are in `settings`, directives in `setters`, providers in `providers`,
hooks in `decide`.
Must not import: server, cli.
"""

from __future__ import annotations

from whimbrel.directives.spec import Versions
from whimbrel.modules.aaa.mod_authz_core.providers import PROVIDERS
from whimbrel.modules.aaa.mod_authz_core.setters import (
    DIR_SETTERS,
    SETTERS,
    AuthzCoreServerConfig,
    check_trees,
    join_trees,
)
from whimbrel.modules.aaa.mod_authz_core.settings import AuthzCoreDirConfig
from whimbrel.registry.module import Hook, Module, Order, Provider, lazy_maker
from whimbrel.registry.phases import ACCESS_CHECKER_EX, AUTH_CHECKER

_DECIDE = "whimbrel.modules.aaa.mod_authz_core.decide"

MODULE = Module(
    name="authz_core_module",
    source="mod_authz_core.c",
    versions=Versions.V24,
    dir_config=AuthzCoreDirConfig,
    server_config=AuthzCoreServerConfig,
    dir_setters=DIR_SETTERS,
    setters=SETTERS,
    providers=(
        *PROVIDERS,
        Provider("aliases", "authz", lambda main: main.config(AuthzCoreServerConfig).aliases),
    ),
    check_config=(check_trees,),
    post_config=(join_trees,),
    hooks=(
        Hook(ACCESS_CHECKER_EX, lazy_maker(_DECIDE, "make_before"), Order.LAST),
        Hook(AUTH_CHECKER, lazy_maker(_DECIDE, "make_after"), Order.LAST),
    ),
)
