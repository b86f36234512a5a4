"""The modules that have behaviour, one explicit table.  Adding one is one line here.

A module's file is imported when a configuration loads the module, so that reading a small configuration imports little; `ALL` is the
mapping that the configuration reader is given, by the base name of the file that LoadModule names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from whimbrel.registry.module import Module

# Base name of the module's file -> where the Module stands; without a colon it is MODULE of the file of that name here.
TABLE: Final[tuple[str, ...]] = (
    "core=core:CORE", "mod_http=core:HTTP", "mod_so", "mod_macro",
    "mod_mpm_event=mpm:EVENT", "mod_mpm_worker=mpm:WORKER", "mod_mpm_prefork=mpm:PREFORK",
    "mod_unixd", "mod_log_config", "mod_logio", "mod_watchdog", "mod_version",
    "mod_authn_core", "mod_authn_file", "mod_auth_basic",
    "mod_authz_core", "mod_authz_host", "mod_authz_user", "mod_authz_groupfile", "mod_authz_owner", "mod_access_compat", "mod_authz_default",
    "mod_authn_default", "mod_authn_socache", "mod_dbd", "mod_authn_dbd", "mod_authz_dbd", "mod_auth_digest",
    "mod_authn_anon", "mod_authn_alias", "mod_authn_dbm", "mod_authz_dbm",
    "mod_mime", "mod_dir", "mod_alias", "mod_env", "mod_setenvif", "mod_headers", "mod_status", "mod_autoindex", "mod_rewrite",
    "mod_cgi", "mod_cgid", "mod_actions", "mod_asis", "mod_allowmethods", "mod_expires", "mod_userdir", "mod_vhost_alias", "mod_speling",
    "mod_unique_id", "mod_usertrack", "mod_negotiation", "mod_imagemap", "mod_include", "mod_remoteip", "mod_reqtimeout", "mod_dumpio",
    "mod_log_debug", "mod_log_forensic", "mod_ratelimit", "mod_info", "mod_cern_meta", "mod_mime_magic",
    "mod_http2", "mod_systemd",
    "mod_session", "mod_session_cookie", "mod_session_crypto", "mod_session_dbd", "mod_request", "mod_auth_form",
)


class Modules(Mapping[str, Module]):
    """The modules by file name; a file is imported at the first look at its module."""

    def __init__(self, table: tuple[str, ...]) -> None:
        self._where = {name: where or f"{name}:MODULE" for name, _, where in (row.partition("=") for row in table)}

    def __getitem__(self, name: str) -> Module:
        place, _, attribute = self._where[name].partition(":")
        found: Module = getattr(import_module(f"whimbrel.modules.{place}"), attribute)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def __len__(self) -> int:
        return len(self._where)


ALL: Final = Modules(TABLE)
