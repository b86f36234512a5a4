"""mod_authnz_fcgi: authentication and authorization by FastCGI applications (2.4).

Files: settings, setters, checks (providers and the check_user_id hook), authorizer (one request).
Must not import: server, cli.
"""

from __future__ import annotations

from whimbrel.base.static_typing import Final
from whimbrel.modules.aaa.mod_authnz_fcgi.setters import define_provider, set_check
from whimbrel.modules.aaa.mod_authnz_fcgi.settings import AuthnzFcgiDirConfig
from whimbrel.registry.module import Hook, Module, Order, lazy_maker
from whimbrel.registry.phases import CHECK_USER_ID

_BASIC: Final = ("mod_auth_basic.c",)
MODULE: Final = Module(
    name="authnz_fcgi_module",
    source="mod_authnz_fcgi.c",
    dir_config=AuthnzFcgiDirConfig,
    dir_setters={
        "AuthnzFcgiDefineProvider": define_provider,
        "AuthnzFcgiCheckAuthnProvider": set_check,
    },
    hooks=(
        Hook(
            CHECK_USER_ID,
            lazy_maker("whimbrel.modules.aaa.mod_authnz_fcgi.checks", "make_check"),
            Order.MIDDLE,
            before=_BASIC,
        ),
    ),
)
