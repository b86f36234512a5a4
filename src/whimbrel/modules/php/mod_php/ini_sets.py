"""Sets of PHP's settings that requests bring with them, so that all of them share processes.

A set of php_value lines is a file in the form of PHP's .user.ini, which PHP reads for one request: it applies
the access levels that libphp applies to a .htaccess (INI_PERDIR), and restores every value at the end of the
request.  php_admin_value lines, and the name of that file, are FastCGI's parameter PHP_ADMIN_VALUE.
"""

from __future__ import annotations

import json
import os
import time
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.real_paths import without_links
from whimbrel.modules.php.mod_php.settings import Settings, is_on

MAX_SETS: Final = 4096  # files of sets of settings
MAX_SET_BYTES: Final = 60_000  # of one file, and of one parameter, which a FastCGI record must hold
USED_INTERVAL: Final = 600.0  # seconds after which the time of a file that is in use is renewed
UNUSED_AFTER: Final = 3600.0  # seconds after which a file without requests may be removed
# PHP looks for the file in the directory of the script: so many levels lead from there to the root.
MAX_DEPTH: Final = 128
_TO_ROOT: Final = "../" * MAX_DEPTH
_MAX_PATH: Final = 4096  # MAXPATHLEN of PHP, which cuts a longer path off
_PERDIR: Final = 2
_SYSTEM: Final = 4
# Names that libphp has too, and that it ignores in a configuration of httpd: PHP reads them at its start.
_START_ONLY: Final = frozenset(("disable_functions", "disable_classes", "expose_php"))
# PHP refuses it in a .htaccess, and in a file of settings (OnChangeMailForceExtra); scripts cannot change it.
_OF_SERVER_ONLY: Final = frozenset(("mail.force_extra_parameters",))
# Settings of the FastCGI programs alone, which libphp does not have.
_FOREIGN: Final = ("cgi.", "fastcgi.", "fpm.", "user_ini.")
# It can be switched off for a request, and PHP refuses to switch it on again in the same process.
_IRREVERSIBLE: Final = frozenset(("opcache.enable",))
FACTS_SCRIPT: Final = b"""<?php
$access = $values = [];
foreach (ini_get_all(null, true) as $name => $entry) {
    $access[$name] = $entry['access'];
    $values[$name] = bin2hex((string) $entry['global_value']);
}
$exposed = get_cfg_var('expose_php');
$exposed = $exposed === false || $exposed;
echo json_encode(['version' => PHP_VERSION, 'exposed' => $exposed, 'access' => $access, 'values' => $values]);
"""


class BadSettings(Exception):
    """A set of settings that cannot be given to PHP; the text is the reason."""


@dataclass(frozen=True, slots=True)
class PhpFacts:
    """Properties of the machine's PHP, as PHP itself lists them.

    Attributes:
        version: PHP_VERSION.
        is_exposed: expose_php of php.ini.
        access: the access level of each setting (INI_USER 1, INI_PERDIR 2, INI_SYSTEM 4).
        values: the value of each setting in php.ini.
    """

    version: str
    is_exposed: bool
    access: dict[str, int]
    values: dict[str, str]


def read_facts(output: bytes) -> PhpFacts | None:
    """Return what `FACTS_SCRIPT` printed; None if it is anything else."""
    try:
        printed: Any = json.loads(output)
        access = {str(name): level for name, level in printed["access"].items() if type(level) is int}
        values = {str(name): to_text(bytes.fromhex(value)) for name, value in printed["values"].items()}
        return PhpFacts(str(printed["version"]), bool(printed["exposed"]), access, values)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


class IniSet(NamedTuple):
    """The settings of one merged configuration that PHP takes.

    Attributes:
        values: of php_value. `admin`: of php_admin_value.
        is_exposed: responses have X-Powered-By.
        base: the values of php.ini for the names of `admin`.
    """

    values: dict[str, str]
    admin: dict[str, str]
    is_exposed: bool
    base: dict[str, str]

    def parameter(self, more: dict[str, str]) -> str:
        """Return PHP_ADMIN_VALUE with the names of *more* too.

        Where PHP refuses a value, php-fpm keeps the one before: that of php.ini, not of another directory.
        """
        return ini_lines(self.base) + ini_lines({**self.admin, **more})


def select(settings: Settings, facts: PhpFacts) -> IniSet:
    """Return what libphp passes on of *settings*: names that PHP knows, at their level; BadSettings."""
    values: dict[str, str] = {}
    admin: dict[str, str] = {}
    for name, (value, is_admin, in_htaccess) in sorted(settings.items()):
        is_of_server = name in _OF_SERVER_ONLY
        if name in _START_ONLY or name.startswith(_FOREIGN) or "\0" in value or is_of_server and in_htaccess:
            continue
        if facts.access.get(name, 0) & (_SYSTEM if is_admin else _PERDIR):
            (admin if is_admin or is_of_server else values)[name] = value
    exposing = {"expose_php": settings["expose_php"]} if "expose_php" in settings else {}
    is_locked = bool(exposing) and exposing["expose_php"].is_admin
    is_exposed = is_on(exposing, "expose_php", True) if is_locked else facts.is_exposed
    base = {name: facts.values.get(name, "") for name in admin if name not in _IRREVERSIBLE}
    ini_set = IniSet(values, admin, is_exposed, base)
    if max(len(ini_lines(values)), len(ini_set.parameter({}))) > MAX_SET_BYTES:
        raise BadSettings(f"the settings of PHP are longer than {MAX_SET_BYTES} bytes")
    return ini_set


def quoted(value: str) -> str:
    """Return *value* as a word of php.ini that PHP reads to the letter.

    Nothing has a meaning between single quotes, neither ``${name}``, a backslash nor the end of a line.
    """
    if not value:
        return '""'
    pieces = value.split("'")
    return '"\'"'.join(f"'{piece}'" if piece else "" for piece in pieces)


def ini_lines(values: dict[str, str]) -> str:
    """Return *values* as lines of php.ini."""
    return "".join(f"{name}={quoted(value)}\n" for name, value in values.items())


def shared_identity(ini_set: IniSet) -> tuple[object, ...]:
    """Return what the requests of one instance of php-fpm have in common.

    PHP keeps the values of PHP_ADMIN_VALUE for the next request, so each request must bring the same names.
    """
    irreversible = tuple((name, ini_set.admin[name]) for name in _IRREVERSIBLE if name in ini_set.admin)
    return (bool(ini_set.values), tuple(ini_set.admin), irreversible)


def write_file(path: str, data: bytes) -> None:
    """Make a file at once, so that no process reads a part of it."""
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "wb") as file:
        file.write(data)
    os.replace(temporary, path)


class SetFile:
    """The file with the php_value lines of one set, in *directory*; equal sets have the same file."""

    def __init__(self, values: dict[str, str], directory: str) -> None:
        self._data = to_bytes(ini_lines(values))
        self.path = os.path.join(directory, f"set-{blake2b(self._data, digest_size=16).hexdigest()}.ini")
        self.name = _TO_ROOT + self.path.lstrip("/")

    def prepare(self) -> None:
        """Make sure that the file exists. Raises BadSettings or OSError.

        It may have been removed meanwhile, by a program that cleans the directory of temporary files or by
        `_make_room`; its time tells `_make_room` that it is in use.
        """
        try:
            age = time.time() - os.stat(self.path).st_mtime
        except FileNotFoundError:
            _make_room(os.path.dirname(self.path))
            write_file(self.path, self._data)
            return
        if age > USED_INTERVAL:
            os.utime(self.path)

    def check_script(self, script: str) -> None:
        """Refuse a *script* from whose directory PHP would not find the file. Raises BadSettings."""
        directory = os.path.dirname(script)
        is_deep = without_links(directory).count("/") > MAX_DEPTH
        if is_deep or directory == "/" or len(to_bytes(directory)) + len(self.name) + 2 > _MAX_PATH:
            raise BadSettings(f"the directory of {script} is too deep for settings of PHP")


def document_root_for(script: str, root: str) -> str:
    """Return *root* as PHP must get it, so that it reads the file of a set for *script*.

    PHP reads none for a script in a directory above the document root, which it detects by the text alone.
    """
    directory = os.path.dirname(script)
    above = (directory + "/", without_links(directory) + "/")
    return "/" + root if root.startswith(above) else root


def _make_room(directory: str) -> None:
    """Remove files of sets without requests if there are `MAX_SETS`. Raises BadSettings if none can go."""
    with os.scandir(directory) as entries:
        found = [entry for entry in entries if entry.name.startswith("set-")]
    if len(found) < MAX_SETS:
        return
    oldest = time.time() - UNUSED_AFTER
    has_room = False
    for entry in found:
        try:
            if entry.stat().st_mtime < oldest:
                os.unlink(entry.path)
                has_room = True
        except FileNotFoundError:
            has_room = True
    if not has_room:
        raise BadSettings(f"more than {MAX_SETS} sets of settings of PHP are in use")
