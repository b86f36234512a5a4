"""Imports in the master everything that workers may import later.

A worker may be in a chroot, out of descriptors, or without the right to read the files. Functions import what
start-up can do without. `LAZY_IMPORTS` lists these imports by module, so that a server need not parse its own
source; a test compares the list with the code. Imports that depend on settings, such as a database driver,
come from providers of the group `LIBRARIES`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Final

from whimbrel.config.configuration import AUTHENTICATION, Configuration

# group of providers: functions of the configuration that return the names of modules that workers import
LIBRARIES: Final = "libraries"
_PACKAGE: Final = "whimbrel"
# imported with the `cryptography` package, for configurations that use TLS
_OF_CERTIFICATES: Final = (
    ".modules.ssl.mod_ssl.backend_contexts",
    ".modules.ssl.mod_ssl.certificate_names",
    ".modules.ssl.mod_ssl.certificate_variables",
    ".modules.ssl.mod_ssl.certificates",
    ".modules.ssl.mod_ssl.extensions",
    ".modules.ssl.mod_ssl.hosts",
)
# Modules that the standard library and uvloop import on first use.
STDLIB_LAZY: Final = ("concurrent.futures.thread", "encodings.latin_1", "encodings.utf_8")
# By module: what its functions import beyond what the server has imported, and what libraries import on first
# use. Names of this package begin with a dot.
LAZY_IMPORTS: Final[dict[str, str]] = {
    "catalogue.handlers": "fnmatch",
    "catalogue.ignorable": "fnmatch",
    "config.addresses": "ipaddress",
    "config.execute": ".config.unimplemented_lines",
    "config.unimplemented": ".expr.parser",
    "engine.expressions": ".base.sync_waits .engine.lookahead",
    "expr.api": ".expr.compiler .expr.parser",
    "http.semantics.dates": "calendar",
    "modules.support.auth.auth_api": ".engine.explain.decisions",
    "modules.support.auth.auth_files": "hashlib .modules.support.auth.passwords",
    "modules.http.etag": "hashlib",
    "modules.core.filters": ".modules.support.reverse_dns",
    "modules.core.handler": "hashlib",
    "modules.aaa.mod_auth_basic": "hashlib",
    "modules.cache.mod_cache_disk": ".modules.cache.mod_cache_disk.store",
    "modules.cache.lmdb_cache": "lmdb",
    "modules.cache.mod_cache_socache": ".modules.cache.mod_cache_socache.store",
    "modules.cache.mod_mem_cache": ".modules.cache.memory_store",
    "modules.cache.mod_socache_dbm": ".modules.cache.lmdb_cache",
    "modules.cache.mod_socache_memcache": ".modules.cache.remote_cache",
    "modules.cache.mod_socache_redis": ".modules.cache.remote_cache",
    "modules.cache.mod_socache_shmcb": ".modules.cache.lmdb_cache",
    "modules.generators.mod_cgi": ".modules.support.cgi.script",
    "modules.generators.mod_cgid": ".modules.support.cgi.script",
    "modules.filters.mod_charset_lite": ".modules.support.iconv",
    "modules.filters.mod_xml2enc": ".modules.filters.charset_conversion .modules.support.iconv",
    "modules.filters.mod_ext_filter.filters": ".modules.filters.mod_ext_filter.program_source "
    ".engine.live_source",
    "modules.filters.mod_reflector": ".modules.core.handler .modules.http.methods",
    "modules.filters.mod_include": ".modules.filters.mod_include.document .modules.filters.mod_include.page "
    ".modules.filters.mod_include.reading .modules.filters.mod_include.renderer .modules.core.handler "
    ".engine.live_source",
    "modules.filters.mod_include.include_exec": ".modules.support.cgi.program .modules.generators.mod_cgid",
    "modules.filters.mod_deflate.compress": "isal isal.isal_zlib zlib zlib_ng zlib_ng.zlib_ng",
    "modules.filters.mod_deflate.gzip_stream": "zlib_ng zlib_ng.zlib_ng",
    "modules.filters.mod_brotli": "brotli",
    "modules.support.coded_bodies": "hashlib",
    "modules.support.body_sender": "tempfile",
    "modules.third_party.mod_evasive": "asyncio hashlib subprocess syslog",
    "modules.third_party.mod_xsendfile": ".modules.core.handler .modules.http.etag",
    "modules.fcgid.mod_fcgid": ".modules.fcgid.mod_fcgid.handler .modules.fcgid.mod_fcgid.deciders "
    ".modules.support.processes.manager .modules.support.processes.program",
    "modules.fcgid.mod_fastcgi": ".modules.fcgid.mod_fastcgi.handler .modules.fcgid.mod_fastcgi.programs",
    "modules.php.mod_php": ".modules.php.mod_php.handler .modules.php.mod_php.interpreter "
    ".modules.php.mod_php.messages .modules.support.processes.manager .modules.support.processes.program",
    "modules.filters.mod_proxy_html": ".modules.filters.mod_proxy_html.elements "
    ".modules.filters.mod_proxy_html.html_filter .modules.filters.mod_proxy_html.meta",
    "modules.http.mod_mime": ".modules.core.filters",
    "modules.loggers.mod_logio": ".modules.loggers.first_byte",
    "modules.mappers.mod_rewrite.maps": ".modules.database.dbd_drivers",
    "modules.cluster.mod_heartbeat": ".modules.cluster.multicast",
    "modules.cluster.mod_heartmonitor": ".modules.cluster.monitor .modules.support.heartbeats",
    "modules.md.mod_md.hooks": ".modules.md.mod_md.status_page",
    "modules.md.mod_md.worker": ".modules.md.mod_md.acme_client",
    "modules.proxy.balancers.mod_lbmethod_bybusyness": ".modules.proxy.balancers.methods",
    "modules.proxy.balancers.mod_lbmethod_byrequests": ".modules.proxy.balancers.methods",
    "modules.proxy.balancers.mod_lbmethod_bytraffic": ".modules.proxy.balancers.methods",
    "modules.proxy.balancers.mod_lbmethod_heartbeat": ".modules.proxy.balancers.heartbeat",
    "modules.proxy.mod_proxy": ".modules.proxy.mod_proxy.worker_state",
    "modules.proxy.mod_proxy_balancer": ".modules.proxy.balancers.methods "
    ".modules.proxy.mod_proxy_balancer.balancer .modules.proxy.mod_proxy_balancer.hooks "
    ".modules.proxy.mod_proxy_balancer.manager_22 .modules.proxy.mod_proxy_balancer.status",
    "modules.proxy.mod_proxy_ajp": ".modules.proxy.mod_proxy_ajp.canonical "
    ".modules.proxy.mod_proxy_ajp.handler",
    "modules.proxy.mod_proxy_fcgi": ".modules.proxy.mod_proxy_fcgi.canonical "
    ".modules.proxy.mod_proxy_fcgi.handler",
    "modules.proxy.mod_proxy_scgi": ".modules.proxy.mod_proxy_scgi.handler",
    "modules.proxy.mod_proxy_uwsgi": ".modules.proxy.mod_proxy_uwsgi.canonical "
    ".modules.proxy.mod_proxy_uwsgi.handler",
    "modules.aaa.mod_authnz_ldap.settings": "dataclasses .catalogue.checks.rules "
    ".modules.support.programs_not_run",
    "modules.aaa.mod_authnz_ldap.users": "ldap",
    "modules.ldap.mod_ldap": "importlib.util .modules.ldap.mod_ldap.cache .modules.ldap.mod_ldap.status "
    ".modules.ldap.mod_ldap.worker",
    "modules.ldap.mod_ldap.cache": "hashlib",
    "modules.lua.mod_lua": "importlib.util .modules.lua.mod_lua.hooks",
    "modules.lua.mod_lua.arguments": "lupa.lua53",
    "modules.lua.mod_lua.machine": "lupa.lua53 .modules.lua.mod_lua.request_api",
    "modules.lua.mod_lua.setters": ".modules.lua.mod_lua.authz .modules.lua.mod_lua.filters "
    ".modules.lua.mod_lua.machine",
    "modules.support.auth.hashing": "bcrypt passlib.hash passlib.handlers.des_crypt "
    "passlib.handlers.md5_crypt",
    "modules.support.catalogue_checks": ".config.unimplemented .modules.support.auth.auth_api",
    "modules.aaa.mod_authnz_fcgi.setters": ".modules.aaa.mod_authnz_fcgi.checks",
    "modules.proxy.mod_proxy_connect": ".modules.proxy.mod_proxy_connect.handler",
    "modules.proxy.mod_proxy_express": ".modules.support.dbm.open",
    "modules.proxy.mod_proxy_fdpass": ".modules.proxy.mod_proxy.passed_socket",
    "modules.proxy.mod_proxy_http": ".modules.proxy.mod_proxy_http.canonical "
    ".modules.proxy.mod_proxy_http.handler",
    "modules.proxy.mod_proxy_http.request_body": "tempfile",
    "modules.proxy.mod_proxy_http2": "importlib.util .modules.proxy.mod_proxy_http.canonical "
    ".modules.proxy.mod_proxy_http2.handler",
    "modules.proxy.mod_proxy_wstunnel": ".modules.proxy.mod_proxy_wstunnel.handler",
    "modules.proxy.mod_proxy_hcheck": ".modules.proxy.mod_proxy_hcheck.checks",
    "modules.proxy.mod_proxy_hcheck.checks": ".modules.proxy.mod_proxy_ajp.exchange",
    "modules.dav.mod_dav.locks": "sqlite3",
    "modules.dav.mod_dav.xml_document": "pyexpat",
    "modules.dav.mod_dav_fs": ".modules.dav.mod_dav.locks .modules.dav.mod_dav.settings "
    ".modules.dav.mod_dav_fs.repository",
    "modules.dav.mod_dav_lock": ".modules.dav.mod_dav.locks",
    "modules.dav.mod_dav_fs.new_files": "ctypes",
    "modules.generators.mod_info": ".modules.generators.mod_info.page",
    "modules.generators.mod_status": ".modules.generators.mod_status.json_output "
    ".modules.generators.mod_status.page .modules.generators.mod_status.state",
    "modules.test.mod_dialup": ".modules.core.handler",
    "modules.generators.mod_info.page": "pcre2",
    "modules.ssl.mod_ssl.start": ".modules.ssl.mod_ssl.compatibility",
    "modules.ssl.mod_ssl.backends": "encodings.idna .modules.ssl.mod_ssl.backend_contexts "
    ".modules.ssl.mod_ssl.certificate_names .modules.ssl.mod_ssl.certificates",
    "modules.ssl.mod_ssl.expressions": ".modules.ssl.mod_ssl.extensions .modules.ssl.mod_ssl.variables",
    "modules.ssl.mod_ssl.hooks": ".modules.ssl.mod_ssl.certificate_names .modules.ssl.mod_ssl.certificates",
    "modules.ssl.mod_ssl.renegotiation": ".modules.ssl.mod_ssl.library_errors",
    "modules.ssl.mod_ssl.sessions": ".modules.ssl.mod_ssl.certificates",
    "modules.ssl.mod_ssl.requirements": ".engine.expressions .modules.ssl.mod_ssl.variables",
    "modules.ssl.mod_ssl.section_setters": ".modules.ssl.mod_ssl.requirements",
    "modules.ssl.mod_ssl.variables": ".modules.ssl.mod_ssl.certificate_variables",
    "modules.support.auth.passwords": "bcrypt .modules.support.auth.system_crypt",
    "modules.session.session_cipher": "cryptography.exceptions cryptography.hazmat.primitives.ciphers "
    "cryptography.hazmat.primitives.ciphers.algorithms cryptography.hazmat.primitives.ciphers.modes "
    "cryptography.hazmat.decrepit.ciphers.algorithms",
    "base.pcre": ".base.sync_waits",
    "base.regex": "pcre2 .base.pcre .base.regex_cost",
    "engine.engine": ".base.sync_waits",
    "engine.time_slices": ".base.sync_waits",
    "server.logs.logs": "syslog",
    "server.http2.sender": ".server.http2.tunnels",
    "server.worker.runtime": ".server.worker.daemon_threads",
    "server.http1.connection": ".server.http2.connection",
    "server.connection.stack": ".server.connection.dumpio .server.connection.echo "
    ".server.connection.proxy_protocol .server.connection.tls",
}


def import_everything(configuration: Configuration, done: set[str] | None = None) -> None:
    """Import the modules that workers may need under *configuration*.

    *done* holds the modules that were processed before; it grows.
    """
    for name in STDLIB_LAZY:
        import_module(name)
    for module in configuration.modules.modules:
        for hook in module.hooks:
            import_module(hook.make.__module__)
    for provider in configuration.modules.providers(LIBRARIES).values():
        for name in provider(configuration):
            _import(name)
    _follow(set() if done is None else done, _not_needed(configuration))


def _not_needed(configuration: Configuration) -> frozenset[str]:
    """Return the modules that no engine of this configuration can need."""
    uses_tls = configuration.provider("ssl", "key_pairs") is not None
    needed = {
        **dict.fromkeys(_OF_CERTIFICATES, uses_tls),
        ".modules.ldap.mod_ldap.worker": find_spec("ldap") is not None,
        ".server.connection.dumpio": configuration.loaded("dumpio_module"),
        ".server.connection.echo": configuration.loaded("echo_module"),
        ".server.connection.proxy_protocol": configuration.loaded("remoteip_module"),
        ".server.connection.tls": configuration.provider("ssl", "hosts") is not None,
        ".server.http2.connection": configuration.loaded("http2_module"),
        ".server.worker.daemon_threads": configuration.loaded("lua_module"),
        ".modules.support.auth.passwords": AUTHENTICATION in configuration.declared_names
        or configuration.dialect.access_in_core,
    }
    return frozenset(name for name, is_needed in needed.items() if not is_needed)


def _follow(done: set[str], spared: frozenset[str]) -> None:
    """Import what the functions of all loaded modules of this package import, transitively."""
    while fresh := {name for name in sys.modules if name.startswith(_PACKAGE)} - done:
        done |= fresh
        for module in fresh:
            for name in LAZY_IMPORTS.get(module.removeprefix(f"{_PACKAGE}."), "").split():
                if name not in spared:
                    _import(name)


def _import(name: str) -> None:
    try:
        import_module(name, _PACKAGE)
    except ModuleNotFoundError as problem:
        if f"{problem.name}.".startswith(f"{_PACKAGE}."):
            raise
        # an optional library: without it a start with directives that need it is refused
