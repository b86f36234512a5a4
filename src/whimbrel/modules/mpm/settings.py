"""Settings of the server process: its files, limits of its children, mutexes. core/spec.py evaluates them.

Most are in core.c's table but concern the MPM. Manual: mod/mpm_common.html, mod/core.html#mutex,
mod/mod_unixd.html.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from whimbrel.base.errors import ConfigError, MissingResource, StartError
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import strtol, upper
from whimbrel.base.static_typing import Final
from whimbrel.config.execute import state_of
from whimbrel.config.mpm_config import MpmConfig, group_id, user_id
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.directives.tokens import words as split_words
from whimbrel.modules.support.setters import of_main, refused, set_choice, set_flag, set_number, set_text


def on_process(setter: Setter) -> Setter:
    """Return *setter*, applied to the main server's `MpmConfig`."""
    return of_main(MpmConfig, setter)


def program(cmd: Command) -> str:
    """Return the program name that messages show."""
    configuration = getattr(cmd, "configuration", None)
    return configuration.program if configuration is not None else "apache2"


def unknown(cmd: Command, code: str, text: str) -> StartError | MissingResource:
    """Return the error for an unknown user or group, which httpd prints without source location."""
    if state_of(cmd).configuration.options.is_elsewhere:
        return MissingResource(text)
    return StartError((f"{code}: " if cmd.dialect.messages_24 else "") + f"{program(cmd)}: {text}")


def set_core_directory(cmd: Command, conf: MpmConfig, words: list[str]) -> None:
    """Set CoreDumpDirectory: it must exist."""
    path = cmd.server_path(words[0])
    if not os.path.exists(to_bytes(path)):
        raise MissingResource(f"CoreDumpDirectory {path} does not exist")
    if not os.path.isdir(to_bytes(path)):
        raise ConfigError(f"CoreDumpDirectory {path} is not a directory")
    conf.core_directory = path


def set_chroot(cmd: Command, conf: MpmConfig, words: list[str]) -> None:
    """Set ChrootDir: it must be a directory; 2.4 resolves a relative one in the working directory."""
    if not os.path.isdir(to_bytes(words[0])):
        raise MissingResource("ChrootDir must be a valid directory")
    conf.chroot = words[0]


def set_run_directory(cmd: Command, _none: None, words: list[str]) -> None:
    """Execute DefaultRuntimeDir when it is read; it must be a directory."""
    try:
        path = cmd.server_path(words[0])
    except ConfigError:
        path = ""
    if not path or not os.path.isdir(to_bytes(path)):
        text = "DefaultRuntimeDir must be a valid directory, absolute or relative to ServerRoot"
        raise MissingResource(text)
    cmd.main_server(MpmConfig).run_directory = path


def memory(cmd: Command, _conf: MpmConfig, words: list[str]) -> None:
    """Check MaxMemFree or ThreadStackSize, which have no effect: nothing here has such sizes."""
    if not 0 <= strtol(words[0])[0] < 1 << 63:
        raise ConfigError(f"Invalid {cmd.name} value: {words[0]}")


# Mutex settings have no effect in Whimbrel, but a line that httpd refuses is refused.
_MECHANISMS = (
    "none",
    "default",
    "flock",
    "fcntl",
    "file",
    "pthread",
    "sysvsem",
    "posixsem",
    "sem",
    "yes",
    "no",
)
_MECHANISM_HELP = (
    "(Mutex mechanisms are: 'none', 'default', 'flock:/path/to/file', 'fcntl:/path/to/file', "
    "'file:/path/to/file', 'pthread', "
    "'sysvsem', 'posixsem', 'sem')"
)
MUTEX_TYPES = {
    "default": ("core_module",),
    "mpm-accept": ("mpm_worker_module", "mpm_prefork_module"),
    "authdigest-client": ("auth_digest_module",),
    "cache-socache": ("cache_socache_module",),
    "ldap-cache": ("ldap_module",),
    "rewrite-map": ("rewrite_module",),
    "ssl-cache": ("ssl_module",),
    "ssl-stapling": ("ssl_module",),
    "ssl-stapling-refresh": ("ssl_module",),
    "authn-socache": ("authn_socache_module",),
    "watchdog-callback": ("watchdog_module",),
    "proxy": ("proxy_module",),
    "proxy-balancer-shm": ("proxy_balancer_module",),
    "lua-ivm-shm": ("lua_module",),
}


def set_mutex(cmd: Command, _conf: MpmConfig, words: list[str]) -> None:
    """Check Mutex mechanism[:directory] [type] [OmitPID]: of several types the last counts."""
    tokens = split_words(words[0])
    if not tokens or not tokens[0]:
        raise ConfigError(f"Mutex requires at least a mechanism argument {_MECHANISM_HELP}")
    mechanism, colon, directory = tokens[0].partition(":")
    if mechanism.lower() not in _MECHANISMS:
        raise ConfigError(f"Invalid Mutex argument {tokens[0]} {_MECHANISM_HELP}")
    if directory and not os.path.isdir(to_bytes(cmd.server_path(directory))):
        raise MissingResource(f"Invalid Mutex directory in argument {tokens[0]}")
    types = [word for word in tokens[1:] if word.lower() != "omitpid"]
    kind = types[-1] if types else "default"
    if not any(cmd.loaded(module) for module in MUTEX_TYPES.get(kind, ())):
        raise ConfigError(f"Mutex type {kind} is not valid")
    if mechanism.lower() in ("none", "no"):
        raise ConfigError(f"None is not allowed for mutex type {kind}")


_MUTEXES_22 = ("default", "flock", "fcntl", "sysvsem", "posixsem", "pthread")


def set_regex_options(_cmd: Command, conf: MpmConfig, words: list[str]) -> None:
    """Set RegexDefaultOptions: unsigned and ``+`` words add, ``-`` words remove, ``none`` clears."""
    options = (
        set(conf.regex_options) if isinstance(conf.regex_options, frozenset) else {"DOTALL", "DOLLAR_ENDONLY"}
    )
    for word in split_words(words[0]):
        name = word[1:] if word[:1] in ("+", "-") else word
        if word.lower() == "none":
            options.clear()
        elif upper(name) not in ("ICASE", "DOTALL", "DOLLAR_ENDONLY"):
            raise ConfigError(f"RegexDefaultOptions: option '{name}' unknown")
        elif word[0] == "-":
            options.discard(upper(name))
        else:
            options.add(upper(name))
    conf.regex_options = frozenset(options)


def user_of(name: str, error: str, code: str, exists: Callable[[str], bool]) -> Setter:
    """Return a setter of User or Group: an existing name, or ``#number``, which is not checked."""

    def apply(cmd: Command, conf: MpmConfig, words: list[str]) -> None:
        word = words[0]
        if not word.startswith("#") and not exists(word):
            raise unknown(cmd, code, f"{error} {word}")
        setattr(conf, name, word)

    return on_process(apply)


def set_suexec(cmd: Command, conf: MpmConfig, words: list[str]) -> None:
    """Set Suexec: On needs the suexec program, and no earlier line with Off."""
    from whimbrel.modules.support.cgi.suexec import disabled_now, wrapper_of  # few configurations have it

    is_on = words[0].lower() == "on"
    reason = disabled_now(conf, cmd.dialect) if is_on else ""
    if reason and cmd.dialect.messages_24:
        raise MissingResource(f"suEXEC isn't supported: {reason}")
    if reason:
        text = f"check existence, owner, and file mode of {wrapper_of(cmd.dialect)}"
        raise MissingResource(f"suEXEC isn't supported; {text}")
    conf.suexec = is_on


def group_exists(name: str) -> bool:
    """Return True if the system has the group."""
    return group_id(name) is not None


ROOT_REFUSED = "\n\t".join(
    (
        "Error:\tApache has not been designed to serve pages while",
        "running as root.  There are known race conditions that",
        "will allow any local user to read any file on the system.",
        "If you still desire to serve pages as root then",
        "add -DBIG_SECURITY_HOLE to the CFLAGS env variable",
        "and then rebuild the server.",
        "It is strongly suggested that you instead modify the User",
        "directive in your httpd.conf file to list a non-root",
        "user.\n",
    )
)


def set_user(cmd: Command, conf: MpmConfig, words: list[str]) -> None:
    """Set User: not root."""
    number = user_id(words[0])
    if number is None:
        raise unknown(cmd, "AH00543", f"bad user name {words[0]}")
    if number == 0:
        raise ConfigError(ROOT_REFUSED)
    conf.user = words[0]


USER = on_process(set_user)
GROUP = user_of("group", "bad group name", "AH00544", group_exists)
SUEXEC = on_process(set_suexec)

SETTERS: Final[dict[str, Setter]] = {
    "PidFile": on_process(set_text("pid_file")),
    "ScoreBoardFile": on_process(set_text("scoreboard_file")),
    "CoreDumpDirectory": on_process(set_core_directory),
    "DefaultRuntimeDir": set_run_directory,
    "MaxRequestsPerChild": on_process(set_number("requests_per_child")),
    "MaxConnectionsPerChild": on_process(set_number("requests_per_child")),
    "MaxMemFree": on_process(memory),
    "ThreadStackSize": on_process(memory),
    "ExtendedStatus": on_process(set_flag("extended_status")),
    "SeeRequestTail": on_process(set_flag("see_request_tail")),
    "Mutex": on_process(set_mutex),
    "RegexDefaultOptions": on_process(set_regex_options),
    "Port": refused("Port was replaced with Listen in Apache 2.0"),
    "LockFile": on_process(set_text("lock_file")),
    "AcceptMutex": on_process(
        set_choice(
            "accept_mutex",
            _MUTEXES_22,
            "{word} is an invalid mutex mechanism; Valid accept mutexes for this platform and MPM are: "
            f"{', '.join(_MUTEXES_22)}.",
        )
    ),
    "Suexec": SUEXEC,
}
