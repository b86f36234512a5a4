"""The machine's PHP: php-fpm, or php-cgi where there is none, as processes that sets of settings share.

Requests bring their settings with them (see `ini_sets`).  php-cgi takes none, so that each set of settings
has processes of its own there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import decimal, is_digits
from whimbrel.modules.php.mod_php.ini_sets import IniSet, SetFile, quoted, shared_identity, write_file
from whimbrel.modules.support.processes.program import ProgramClass

DIRECTORIES: Final = ("/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin", "/opt/local/sbin")
IDLE_TIMEOUT: Final = 3600  # seconds after which processes of a set of settings without requests end
CHILD_IDLE: Final = "60s"
MAX_CHILDREN: Final = 512
MAX_CGI_CHILDREN: Final = 16  # all of them run from the start, unlike those of php-fpm
_FILE: Final = re.compile(r"(php-fpm|php-cgi)-?([0-9.]*)\Z").match
_SHELL: Final = "/bin/sh"
NO_SETTINGS: Final = IniSet({}, {}, is_exposed=True, base={})
# Locked in every process.  PHP writes its own status line first, and X-Powered-By as the first field, so that
# a field Status of a script is told from PHP's (see `PhpHead`).  The file of a set is read for each request.
_LOCKED: Final = {
    "cgi.fix_pathinfo": "1",
    "cgi.nph": "1",
    "cgi.rfc2616_headers": "1",
    "expose_php": "1",
    "fastcgi.logging": "1",
    "user_ini.cache_ttl": "-1",
}


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A program of the machine; *version*: as in its name, () without one."""

    path: str
    is_fpm: bool
    version: tuple[int, ...]


def find_interpreter(major: int, directories: Iterable[str] = DIRECTORIES) -> Interpreter | None:
    """Return the PHP to use: of version *major* if there is one, php-fpm rather than php-cgi, the newest."""
    found = []
    for directory in directories:
        try:
            names = os.listdir(directory)
        except OSError:
            continue
        for name in names:
            match = _FILE(name)
            path = os.path.join(directory, name)
            if match is not None and os.access(path, os.X_OK):
                version = tuple(decimal(part) for part in match[2].split(".") if is_digits(part))
                found.append(Interpreter(path, match[1] == "php-fpm", version))
    return max(found, key=lambda one: (one.version[:1] == (major,), one.is_fpm, one.version), default=None)


class PhpPool:
    """Processes of PHP for any set of settings.

    Attributes:
        children: number of requests that one instance of PHP serves at once.
        max_requests: requests after which a process is replaced, 0 for no limit.
        ini_dir: the directory of php.ini, "" for PHP's own.
        environment: that of the processes.
    """

    def __init__(
        self,
        interpreter: Interpreter,
        *,
        children: int,
        max_requests: int,
        ini_dir: str,
        environment: dict[str, str],
    ) -> None:
        self.interpreter = interpreter
        self.ini_dir = ini_dir
        self.children = max(1, min(children, MAX_CHILDREN))
        self.max_requests = max_requests
        self.environment = environment

    def program(self, ini_set: IniSet, directory: str) -> ProgramClass:
        """Return the processes for *ini_set*; files of theirs are in *directory*."""
        is_fpm = self.interpreter.is_fpm
        shared = shared_identity(ini_set) if is_fpm else ini_set[:2]
        identity = repr((self.interpreter.path, self.ini_dir, shared))
        name = blake2b(identity.encode("latin-1", "replace"), digest_size=8).hexdigest()
        path = os.path.join(directory, name)
        command, environment = self._fpm(path) if is_fpm else self._cgi(ini_set, directory)
        return ProgramClass(
            identity=identity,
            name=self.interpreter.path,
            command=command,
            environment=tuple(environment.items()),
            directory="/",
            most=1,
            least=0,
            idle_timeout=IDLE_TIMEOUT,
            lifetime=0,
            busy_timeout=0,
        )

    def _ini_option(self) -> tuple[str, ...]:
        return ("-c", self.ini_dir) if self.ini_dir else ()

    def _fpm(self, path: str) -> tuple[tuple[str, ...], dict[str, str]]:
        """Write the configuration of php-fpm and return command and environment.

        It takes the listening socket, descriptor 0, by FPM_SOCKETS, and uses descriptor 0 itself afterwards.
        """
        lines = [
            "[global]",
            f"error_log = {path}.log",
            "log_level = alert",  # below it, each request with an unknown setting has a line
            "daemonize = no",
            "[www]",
            f"listen = {path}.fpm",
            "pm = ondemand",
            f"pm.max_children = {self.children}",
            f"pm.process_idle_timeout = {CHILD_IDLE}",
            f"pm.max_requests = {self.max_requests}",
            "security.limit_extensions =",
            "clear_env = yes",
            "catch_workers_output = no",
            "php_admin_value[user_ini.filename] =",
            *(f"php_admin_value[{name}] = {value}" for name, value in _LOCKED.items()),
        ]
        lines += [f"env[{name}] = {quoted(value)}" for name, value in self.environment.items()]
        text = "\n".join(lines) + "\n"
        if not os.path.exists(path + ".conf"):
            write_file(path + ".conf", to_bytes(text))
        script = 'exec 3<&0 && exec "$0" "$@"'
        command = (_SHELL, "-c", script, self.interpreter.path, "-F", "-y", path + ".conf")
        return (*command, *self._ini_option()), {**self.environment, "FPM_SOCKETS": f"{path}.fpm=3"}

    def _cgi(self, ini_set: IniSet, directory: str) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return command and environment of php-cgi; values cannot be locked there."""
        file = SetFile(ini_set.values, directory).name if ini_set.values else ""
        values = {**ini_set.admin, **_LOCKED, "cgi.force_redirect": "0", "user_ini.filename": file}
        options = [word for name, value in values.items() for word in ("-d", f"{name}={quoted(value)}")]
        environment = {
            **self.environment,
            "PHP_FCGI_CHILDREN": str(min(self.children, MAX_CGI_CHILDREN)),
            "PHP_FCGI_MAX_REQUESTS": str(self.max_requests),
        }
        return (self.interpreter.path, *self._ini_option(), *options), environment
