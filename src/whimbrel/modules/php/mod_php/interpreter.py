"""The machine's PHP: php-fpm, or php-cgi where there is none, as processes for one set of settings.

A process of php-fpm keeps the settings of one request for the next, and php-cgi has none for requests.  So
each set of settings has processes of its own, which start with the first request that needs them.
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
from whimbrel.modules.php.mod_php.settings import Settings
from whimbrel.modules.support.processes.program import ProgramClass

DIRECTORIES: Final = ("/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin", "/opt/local/sbin")
IDLE_TIMEOUT: Final = 3600  # seconds after which processes of a set of settings without requests end
CHILD_IDLE: Final = "60s"
MAX_CHILDREN: Final = 512
MAX_CGI_CHILDREN: Final = 16  # all of them run from the start, unlike those of php-fpm
_FILE: Final = re.compile(r"(php-fpm|php-cgi)-?([0-9.]*)\Z").match
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*\Z").match
_SHELL: Final = "/bin/sh"


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


def quoted(value: str) -> str:
    """Return *value* as php.ini and php-fpm's configuration have it."""
    if "'" not in value:
        return f"'{value}'"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("${", "$\\{")
    return f'"{escaped}"'


def usable(settings: Settings) -> Settings:
    """Return the settings that can be names and values of php.ini, in one order."""
    return {
        name: value
        for name, value in sorted(settings.items())
        if _NAME(name) and not any(char in value.value for char in "\0\r\n")
    }


def write_file(path: str, data: bytes) -> None:
    """Make a file at once, so that no process reads a part of it."""
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "wb") as file:
        file.write(data)
    os.replace(temporary, path)


class PhpPool:
    """Processes of PHP for any set of settings.

    Attributes:
        children: number of requests that one set of settings serves at once.
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
        self.interpreter, self.ini_dir = interpreter, ini_dir
        self.children, self.max_requests = max(1, min(children, MAX_CHILDREN)), max_requests
        self.environment = environment

    def program(self, settings: Settings, directory: str) -> ProgramClass:
        """Return the processes for *settings*; files of theirs are in *directory*."""
        settings = usable(settings)
        identity = repr((self.interpreter.path, self.ini_dir, settings))
        name = blake2b(identity.encode("latin-1", "replace"), digest_size=8).hexdigest()
        start = self._fpm if self.interpreter.is_fpm else self._cgi
        command, environment = start(settings, os.path.join(directory, name))
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

    def _fpm(self, settings: Settings, path: str) -> tuple[tuple[str, ...], dict[str, str]]:
        """Write the configuration of php-fpm and return command and environment.

        It takes the listening socket, descriptor 0, by FPM_SOCKETS, and uses descriptor 0 itself afterwards.
        """
        lines = [
            "[global]",
            f"error_log = {path}.log",
            "log_level = error",
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
            "php_admin_value[cgi.fix_pathinfo] = 1",
            "php_admin_value[fastcgi.logging] = 1",
        ]
        lines += [f"env[{name}] = {quoted(value)}" for name, value in self.environment.items()]
        for name, (value, is_admin) in settings.items():
            lines.append(f"php_{'admin_' if is_admin else ''}value[{name}] = {quoted(value)}")
        text = "\n".join(lines) + "\n"
        if not os.path.exists(path + ".conf"):
            write_file(path + ".conf", to_bytes(text))
        script = 'exec 3<&0 && exec "$0" "$@"'
        command = (_SHELL, "-c", script, self.interpreter.path, "-F", "-y", path + ".conf")
        return (*command, *self._ini_option()), {**self.environment, "FPM_SOCKETS": f"{path}.fpm=3"}

    def _cgi(self, settings: Settings, _path: str) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return command and environment of php-cgi; values cannot be locked there."""
        values = {name: value.value for name, value in settings.items()}
        values |= {"cgi.force_redirect": "0", "cgi.fix_pathinfo": "1", "fastcgi.logging": "1"}
        options = [word for name, value in values.items() for word in ("-d", f"{name}={quoted(value)}")]
        environment = {
            **self.environment,
            "PHP_FCGI_CHILDREN": str(min(self.children, MAX_CGI_CHILDREN)),
            "PHP_FCGI_MAX_REQUESTS": str(self.max_requests),
        }
        return (self.interpreter.path, *self._ini_option(), *options), environment
