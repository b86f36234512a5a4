"""mod_authn_alias (2.2): authentication providers with their own settings; part of mod_authn_core in 2.4.

Manual of 2.2: mod/mod_authn_alias.html.
"""

from __future__ import annotations

from whimbrel.directives.spec import Args, ConfigScope, Context, Directive, Versions
from whimbrel.modules.aaa.mod_authn_core import AuthnCoreServerConfig, alias
from whimbrel.modules.support.setters import global_only
from whimbrel.registry.module import Module

MODULE = Module(
    name="authn_alias_module",
    source="mod_authn_alias.c",
    versions=Versions.V22,
    server_config=AuthnCoreServerConfig,
    directives=(
        Directive(
            name="<AuthnProviderAlias",
            args=Args.RAW_ARGS,
            where=Context.RSRC_CONF,
            apply=global_only(alias),
            record=ConfigScope.NONE,
            help="container for grouping an authentication provider's directives under a provider alias",
        ),
    ),
)
