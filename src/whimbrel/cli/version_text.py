"""Texts of -v, -V, -l and -h. No imports but the builds: these options must start in milliseconds."""

from __future__ import annotations

from whimbrel.base.builds import Build
from whimbrel.base.product import server_description

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

OWN_OPTIONS = """\
Options of Whimbrel:
  --dialect 2.2|2.4|guide: answer as this httpd, or as the upgrade guide
  --builtin build    : take the compiled-in modules and paths of this build
  --envvars file     : read shell variables from this file first
  --strict           : -t fails with directives that have no behaviour
  --json             : print -t, -S, -M, -l, -L, -V and -v as JSON
"""


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
    return f"Server version: {server_description(dialect)}\nServer built:   {built()}\n"


def built() -> str:
    """Return the time of this installation, in the form of httpd's build time."""
    import os
    import time

    seconds = os.stat(__file__).st_mtime
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def settings(dialect: str, build: Build, root: str, file: str) -> str:
    """Return the text of -V."""
    return (
        version(dialect)
        + f"""\
Server's Module Magic Number: {"20051115:43" if dialect == "2.2" else "20120211:142"}
Architecture:   64-bit
Server Build:   {build.name} ({build.reason})
Server MPM:     {"prefork" if dialect == "2.2" else "event"}
  threaded:     {"no" if dialect == "2.2" else "yes (fixed thread count)"}
    forked:     yes (variable process count)
Server compiled with....
 -D APR_HAS_SENDFILE
 -D APR_HAVE_IPV6 (IPv4-mapped addresses enabled)
 -D APR_HAS_OTHER_CHILD
 -D AP_HAVE_RELIABLE_PIPED_LOGS
 -D HTTPD_ROOT="{root}"
 -D SUEXEC_BIN="{build.suexec}"
 -D DEFAULT_PIDLOG="{build.pid_file}"
 -D DEFAULT_ERRORLOG="{build.error_log}"
 -D AP_TYPES_CONFIG_FILE="{build.types_file}"
 -D SERVER_CONFIG_FILE="{file}"
"""
    )


def modules(build: Build) -> str:
    """Return the text of -l."""
    return "Compiled in modules:\n" + "".join(f"  {source}\n" for source in sources(build))


def sources(build: Build) -> tuple[str, ...]:
    """Return the source files of the compiled-in modules in the order of -l."""
    if build.sources:
        return build.sources
    from whimbrel.catalogue.load import catalogue
    from whimbrel.config.load import built_in_modules
    from whimbrel.modules import ALL

    return tuple(row.source for row in built_in_modules(build, catalogue(build.version), ALL))
