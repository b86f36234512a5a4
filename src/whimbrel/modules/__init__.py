"""Implemented modules, in one explicit table; a new module is one line here.

Public: ALL, from the base name of LoadModule's file to the `Module`; the configuration reader receives it.
Packages: one per directory of httpd's modules/. The file of a module is imported when LoadModule names it.
Manual of mod_NAME: mod/mod_NAME.html.
Must not import: server, upgrade, access, cli.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from whimbrel.base.static_typing import Final
from whimbrel.registry.module import Module

# Directory and base name of the module's file, which has MODULE; or the base name, "=", and the file and name
# of the Module.
TABLE: Final[tuple[str, ...]] = (
    "core=core:CORE",
    "mod_http=core:HTTP",
    "core.mod_so",
    "core.mod_macro",
    "mod_mpm_event=mpm.mpm:EVENT",
    "mod_mpm_worker=mpm.mpm:WORKER",
    "mod_mpm_prefork=mpm.mpm:PREFORK",
    "arch.mod_unixd",
    "loggers.mod_log_config",
    "loggers.mod_logio",
    "core.mod_watchdog",
    "metadata.mod_version",
    "aaa.mod_authn_core",
    "aaa.mod_authn_file",
    "aaa.mod_auth_basic",
    "aaa.mod_authz_core",
    "aaa.mod_authz_host",
    "aaa.mod_authz_user",
    "aaa.mod_authz_groupfile",
    "aaa.mod_authz_owner",
    "aaa.mod_access_compat",
    "aaa.mod_authz_default",
    "aaa.mod_authn_default",
    "aaa.mod_authn_socache",
    "database.mod_dbd",
    "aaa.mod_authn_dbd",
    "aaa.mod_authz_dbd",
    "ldap.mod_ldap",
    "lua.mod_lua",
    "aaa.mod_authnz_ldap",
    "aaa.mod_auth_digest",
    "aaa.mod_authn_anon",
    "aaa.mod_authn_alias",
    "aaa.mod_authn_dbm",
    "aaa.mod_authz_dbm",
    "http.mod_mime",
    "mappers.mod_dir",
    "mappers.mod_alias",
    "metadata.mod_env",
    "metadata.mod_setenvif",
    "metadata.mod_headers",
    "generators.mod_status",
    "generators.mod_autoindex",
    "mappers.mod_rewrite",
    "generators.mod_cgi",
    "generators.mod_cgid",
    "mappers.mod_actions",
    "generators.mod_suexec",
    "generators.mod_asis",
    "aaa.mod_allowmethods",
    "metadata.mod_expires",
    "mappers.mod_userdir",
    "mappers.mod_vhost_alias",
    "mappers.mod_speling",
    "metadata.mod_ident",
    "metadata.mod_unique_id",
    "metadata.mod_usertrack",
    "mappers.mod_negotiation",
    "mappers.mod_imagemap",
    "filters.mod_include",
    "metadata.mod_remoteip",
    "filters.mod_reqtimeout",
    "debugging.mod_bucketeer",
    "debugging.mod_dumpio",
    "loggers.mod_log_debug",
    "loggers.mod_log_forensic",
    "filters.mod_filter",
    "filters.mod_ratelimit",
    "filters.mod_substitute",
    "filters.mod_sed",
    "filters.mod_ext_filter",
    "filters.mod_charset_lite",
    "filters.mod_buffer",
    "filters.mod_data",
    "filters.mod_reflector",
    "filters.mod_deflate",
    "filters.mod_brotli",
    "examples.mod_case_filter",
    "examples.mod_case_filter_in",
    "generators.mod_info",
    "metadata.mod_cern_meta",
    "metadata.mod_mime_magic",
    "http2.mod_http2",
    "arch.mod_systemd",
    "session.mod_session",
    "session.mod_session_cookie",
    "session.mod_session_crypto",
    "session.mod_session_dbd",
    "filters.mod_request",
    "filters.mod_xml2enc",
    "filters.mod_proxy_html",
    "aaa.mod_auth_form",
    "echo.mod_echo",
    "slotmem.mod_slotmem_plain",
    "ssl.mod_ssl",
    "md.mod_md",
    "test.mod_dialup",
    "slotmem.mod_slotmem_shm",
    "proxy.mod_proxy",
    "proxy.mod_proxy_http",
    "third_party.mod_xsendfile",
    "third_party.mod_rpaf",
    "third_party.mod_otel",
    "mod_evasive20=third_party.mod_evasive:MODULE",
    "fcgid.mod_fcgid",
    "fcgid.mod_fastcgi",
    "wsgi.mod_wsgi",
    "libphp5=php.mod_php:PHP5",
    "libphp7=php.mod_php:PHP7",
    "libphp=php.mod_php:PHP",
    "proxy.mod_proxy_fcgi",
    "proxy.mod_proxy_scgi",
    "proxy.mod_proxy_uwsgi",
    "proxy.mod_proxy_ajp",
    "aaa.mod_authnz_fcgi",
    "proxy.mod_proxy_connect",
    "proxy.mod_proxy_wstunnel",
    "proxy.mod_proxy_express",
    "proxy.mod_proxy_fdpass",
    "proxy.mod_proxy_ftp",
    "proxy.mod_proxy_http2",
    "proxy.mod_proxy_balancer",
    "proxy.balancers.mod_lbmethod_byrequests",
    "proxy.balancers.mod_lbmethod_bytraffic",
    "proxy.balancers.mod_lbmethod_bybusyness",
    "proxy.balancers.mod_lbmethod_heartbeat",
    "proxy.mod_proxy_hcheck",
    "cluster.mod_heartbeat",
    "cluster.mod_heartmonitor",
    "dav.mod_dav",
    "dav.mod_dav_fs",
    "dav.mod_dav_lock",
    "cache.mod_cache",
    "cache.mod_cache_disk",
    "cache.mod_cache_socache",
    "cache.mod_socache_shmcb",
    "cache.mod_socache_dbm",
    "cache.mod_socache_memcache",
    "cache.mod_socache_redis",
    "cache.mod_file_cache",
    "cache.mod_mem_cache",
    "mod_disk_cache=cache.mod_cache_disk:DISK_CACHE",
)


class Modules(Mapping[str, Module]):
    """Modules by file name; a file is imported when its module is first looked up."""

    def __init__(self, table: tuple[str, ...]) -> None:
        rows = (row.partition("=") for row in table)
        self._where = {name.rpartition(".")[2]: where or f"{name}:MODULE" for name, _, where in rows}

    def __getitem__(self, name: str) -> Module:
        place, _, attribute = self._where[name].partition(":")
        file = f"whimbrel.modules.{place}"
        __import__(file)  # importlib takes a hundredth of -t's time
        found: Module = getattr(sys.modules[file], attribute)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def __len__(self) -> int:
        return len(self._where)


ALL: Final = Modules(TABLE)
