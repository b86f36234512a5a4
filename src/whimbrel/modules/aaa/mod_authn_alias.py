"""mod_authn_alias (2.2): authentication providers with their own settings; part of mod_authn_core in 2.4."""

from __future__ import annotations

from whimbrel.directives.spec import Versions
from whimbrel.modules.aaa.mod_authn_core import AuthnCoreServerConfig, alias
from whimbrel.registry.module import Module

MODULE = Module(
    name="authn_alias_module",
    source="mod_authn_alias.c",
    versions=Versions.V22,
    server_config=AuthnCoreServerConfig,
    setters={
        "<AuthnProviderAlias": alias,
    },
)
