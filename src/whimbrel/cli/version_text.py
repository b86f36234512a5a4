"""Texts of -v, -V, -l and -h. No imports: these options must start in milliseconds.

A test compares `BUILT_IN` with the table of modules, which takes time to read.
"""

from __future__ import annotations

VERSION = "0.1"
COMPATIBLE = {"2.2": "2.2.34", "2.4": "2.4.71", "guide": "2.4.71"}

# In the order of -l: what httpd has compiled in, then the rest by name.
CORE_MODULES = ("core.c", "mod_so.c", "http_core.c", "event.c")
BUILT_IN = (
    "mod_access_compat.c",
    "mod_actions.c",
    "mod_alias.c",
    "mod_allowmethods.c",
    "mod_asis.c",
    "mod_auth_basic.c",
    "mod_auth_digest.c",
    "mod_auth_form.c",
    "mod_authn_anon.c",
    "mod_authn_core.c",
    "mod_authn_dbd.c",
    "mod_authn_dbm.c",
    "mod_authn_file.c",
    "mod_authn_socache.c",
    "mod_authz_core.c",
    "mod_authz_dbd.c",
    "mod_authz_dbm.c",
    "mod_authz_groupfile.c",
    "mod_authz_host.c",
    "mod_authz_owner.c",
    "mod_authz_user.c",
    "mod_autoindex.c",
    "mod_brotli.c",
    "mod_bucketeer.c",
    "mod_buffer.c",
    "mod_case_filter.c",
    "mod_case_filter_in.c",
    "mod_cern_meta.c",
    "mod_cgi.c",
    "mod_cgid.c",
    "mod_charset_lite.c",
    "mod_data.c",
    "mod_dbd.c",
    "mod_deflate.c",
    "mod_dialup.c",
    "mod_dir.c",
    "mod_dumpio.c",
    "mod_echo.c",
    "mod_env.c",
    "mod_expires.c",
    "mod_ext_filter.c",
    "mod_filter.c",
    "mod_headers.c",
    "mod_http2.c",
    "mod_ident.c",
    "mod_imagemap.c",
    "mod_include.c",
    "mod_info.c",
    "mod_log_config.c",
    "mod_log_debug.c",
    "mod_log_forensic.c",
    "mod_logio.c",
    "mod_macro.c",
    "mod_mime.c",
    "mod_mime_magic.c",
    "mod_negotiation.c",
    "mod_proxy_html.c",
    "mod_ratelimit.c",
    "mod_reflector.c",
    "mod_remoteip.c",
    "mod_reqtimeout.c",
    "mod_request.c",
    "mod_rewrite.c",
    "mod_sed.c",
    "mod_session.c",
    "mod_session_cookie.c",
    "mod_session_crypto.c",
    "mod_session_dbd.c",
    "mod_setenvif.c",
    "mod_slotmem_plain.c",
    "mod_speling.c",
    "mod_status.c",
    "mod_substitute.c",
    "mod_suexec.c",
    "mod_systemd.c",
    "mod_unique_id.c",
    "mod_unixd.c",
    "mod_userdir.c",
    "mod_usertrack.c",
    "mod_version.c",
    "mod_vhost_alias.c",
    "mod_watchdog.c",
    "mod_xml2enc.c",
)

_OPTIONS_HEAD = """\
                         [-C "directive"] [-c "directive"]
                         [-k start|restart|graceful|graceful-stop|stop]
                         [-v] [-V] [-h] [-l] [-L] [-t] [-T] [-S]%s
Options:
  -D name            : define a name for use in <IfDefine name> directives
  -d directory       : specify an alternate initial ServerRoot
  -f file            : specify an alternate ServerConfigFile
  -C "directive"     : process directive before reading config files
  -c "directive"     : process directive after reading config files
  -e level           : show startup errors of level (see LogLevel)
  -E file            : log startup errors to file
  -v                 : show version number
  -V                 : show compile settings
  -h                 : list available command line options (this page)
  -l                 : list compiled in modules
  -L                 : list available configuration directives
"""
_OPTIONS_24 = """\
  -t -D DUMP_VHOSTS  : show parsed vhost settings
  -t -D DUMP_RUN_CFG : show parsed run settings
  -S                 : a synonym for -t -D DUMP_VHOSTS -D DUMP_RUN_CFG
  -t -D DUMP_MODULES : show all loaded modules 
  -M                 : a synonym for -t -D DUMP_MODULES
  -t -D DUMP_INCLUDES: show all included configuration files
  -t                 : run syntax check for config files
  -T                 : start without DocumentRoot(s) check
  -X                 : debug mode (only one worker, do not detach)
"""  # noqa: W291
_OPTIONS_22 = """\
  -t -D DUMP_VHOSTS  : show parsed settings (currently only vhost settings)
  -S                 : a synonym for -t -D DUMP_VHOSTS
  -t -D DUMP_MODULES : show all loaded modules 
  -M                 : a synonym for -t -D DUMP_MODULES
  -t                 : run syntax check for config files
  -T                 : start without DocumentRoot(s) check
"""  # noqa: W291


def usage(program: str, dialect: str) -> str:
    """Return the text of -h, indented as the recorded servers print it, whatever the program's name."""
    begin = _OPTIONS_HEAD % ("" if dialect == "2.2" else " [-X]")
    if dialect == "2.2":
        begin = begin.replace("\n" + " " * 25, "\n" + " " * 31).replace(" " * 25 + "[-C", " " * 31 + "[-C", 1)
    return (
        f"Usage: {program} [-D name] [-d directory] [-f file]\n"
        + begin
        + (_OPTIONS_22 if dialect == "2.2" else _OPTIONS_24)
    )


def version(dialect: str) -> str:
    """Return the text of -v."""
    name = f"Whimbrel/{VERSION} (Apache/{COMPATIBLE[dialect]} compatible)"
    return f"Server version: {name}\nServer built:   {built()}\n"


def built() -> str:
    """Return the time of this installation, in the form of httpd's build time."""
    import os
    import time

    seconds = os.stat(__file__).st_mtime
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def settings(dialect: str, root: str, file: str) -> str:
    """Return the text of -V."""
    return (
        version(dialect)
        + f"""\
Server's Module Magic Number: {"20051115:43" if dialect == "2.2" else "20120211:142"}
Architecture:   64-bit
Server MPM:     {"prefork" if dialect == "2.2" else "event"}
  threaded:     {"no" if dialect == "2.2" else "yes (fixed thread count)"}
    forked:     yes (variable process count)
Server compiled with....
 -D APR_HAS_SENDFILE
 -D APR_HAVE_IPV6 (IPv4-mapped addresses enabled)
 -D APR_HAS_OTHER_CHILD
 -D AP_HAVE_RELIABLE_PIPED_LOGS
 -D HTTPD_ROOT="{root}"
 -D SUEXEC_BIN="{"/usr/local/apache2/bin" if dialect == "2.2" else "/usr/lib/apache2"}/suexec"
 -D DEFAULT_PIDLOG="logs/httpd.pid"
 -D DEFAULT_ERRORLOG="logs/error_log"
 -D AP_TYPES_CONFIG_FILE="conf/mime.types"
 -D SERVER_CONFIG_FILE="{file}"
"""
    )


def modules() -> str:
    """Return the text of -l."""
    return "Compiled in modules:\n" + "".join(f"  {name}\n" for name in (*CORE_MODULES, *BUILT_IN))
