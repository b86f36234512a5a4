"""Builds of httpd: the modules that are compiled in, and the paths that are used without a directive.

Imports nothing: -v, -V and -l run in milliseconds.
"""

from __future__ import annotations

ANY, DEBIAN, UPSTREAM, ALL = "any", "debian", "upstream", "all"
NAMES = (DEBIAN, UPSTREAM, ALL, ANY)  # the values of --builtin, the default first

_PREFIX = "/usr/local/apache2"
_DEBIAN_24 = (
    "core.c mod_so.c mod_watchdog.c http_core.c mod_log_config.c mod_logio.c mod_version.c mod_unixd.c"
)
_NONE_22 = "core.c prefork.c http_core.c mod_so.c"
_DEFAULT_22 = (
    "core.c mod_authn_file.c mod_authn_default.c mod_authz_host.c mod_authz_groupfile.c mod_authz_user.c "
    "mod_authz_default.c mod_auth_basic.c mod_include.c mod_filter.c mod_log_config.c mod_env.c "
    "mod_setenvif.c mod_version.c prefork.c http_core.c mod_mime.c mod_status.c mod_autoindex.c mod_asis.c "
    "mod_cgi.c mod_negotiation.c mod_dir.c mod_actions.c mod_userdir.c mod_alias.c mod_so.c"
)


class Build:
    """One build of one version.

    Attributes:
        sources: the compiled-in modules in the order of -l; () for every module that has behaviour
        root: the ServerRoot; `file`, `pid_file`, `error_log`, `types_file` are relative to it
        document_root: the DocumentRoot; "" for `htdocs` below the ServerRoot
        run_directory: the DefaultRuntimeDir; "" for `logs` below the ServerRoot
        loads_built_in: LoadModule of a compiled-in module is accepted, as configurations of other builds
            need it; otherwise it is an error
    """

    error_log = "logs/error_log"

    def __init__(self, name: str, version: str) -> None:
        is_debian, is_any = name == DEBIAN and version == "2.4", name == ANY
        self.name, self.version, self.loads_built_in = name, version, is_any
        self.sources = tuple(_sources(name, version).split())
        self.root = "/etc/apache2" if is_debian else _PREFIX
        self.file = "apache2.conf" if is_debian else "conf/httpd.conf"
        self.types_file = "mime.types" if is_debian else "conf/mime.types"
        self.pid_file = "/run/apache2.pid" if is_debian else "logs/httpd.pid"
        self.run_directory = "/var/run/apache2" if is_debian else ""
        self.document_root = "/var/www/html" if is_debian else "" if is_any else f"{_PREFIX}/htdocs"


def _sources(name: str, version: str) -> str:
    """Return the compiled-in modules: Debian's package, ./configure without options, or "" for all.

    Of 2.2 the default has all but the necessary modules as shared objects.
    """
    if name == ALL:
        return ""
    if version == "2.2":
        return _DEFAULT_22 if name == UPSTREAM else _NONE_22
    return "core.c mod_so.c http_core.c event.c" if name == UPSTREAM else _DEBIAN_24
