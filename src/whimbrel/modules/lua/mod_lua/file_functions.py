"""Functions of `r` on files and directories (lua_request.c)."""

from __future__ import annotations

import os
import stat
import time
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.config.execute import root_relative
from whimbrel.config.mpm_config import MpmConfig
from whimbrel.engine.body import PIECE
from whimbrel.modules.lua.mod_lua.arguments import CallArguments
from whimbrel.modules.lua.mod_lua.text_functions import NOTHING

if TYPE_CHECKING:
    from whimbrel.modules.lua.mod_lua.request_api import RequestApi

_TYPES: Final = (
    (stat.S_ISREG, 1),
    (stat.S_ISDIR, 2),
    (stat.S_ISCHR, 3),
    (stat.S_ISBLK, 4),
    (stat.S_ISFIFO, 5),
    (stat.S_ISLNK, 6),
    (stat.S_ISSOCK, 7),
)
# bits of APR's finfo: modification, access and change times, size, and all that a plain call asks for
_MTIME = 0x10
_ATIME = 0x40
_CTIME = 0x20
_SIZE = 0x100
_TYPE = 0x8000
_PROTECTION = 0x700000
_MINIMUM: Final = _MTIME | _ATIME | _CTIME | _SIZE | _TYPE
_KNOWN: Final = 0x0077F371  # what apr_stat fills in; it fails for other bits


def file_stat(api: RequestApi, words: CallArguments) -> Any:
    """Return a table with times in microseconds, size and type; nothing for a missing file."""
    wanted = words.integer(2, _MINIMUM)
    if wanted & ~_KNOWN:
        return NOTHING
    try:
        found = os.stat(to_bytes(words.text(1)))
    except (OSError, ValueError):
        return NOTHING
    table: dict[str, Any] = {}
    if wanted & _MTIME:
        table["mtime"] = float(found.st_mtime_ns // 1000)
    if wanted & _ATIME:
        table["atime"] = float(found.st_atime_ns // 1000)
    if wanted & _CTIME:
        table["ctime"] = float(found.st_ctime_ns // 1000)
    if wanted & _SIZE:
        table["size"] = float(found.st_size)
    if wanted & _TYPE:
        table["filetype"] = next((number for test, number in _TYPES if test(found.st_mode)), 127)
    if wanted & _PROTECTION:
        mode = stat.S_IMODE(found.st_mode)
        table["protection"] = (mode >> 6 & 7) << 8 | (mode >> 3 & 7) << 4 | mode & 7
    return api.machine.table(table)


def directory_entries(api: RequestApi, words: CallArguments) -> Any:
    """Return the names in a directory, with . and ..; nothing for a missing one."""
    try:
        names = [".", "..", *map(to_text, os.listdir(to_bytes(words.text(1))))]
    except (OSError, ValueError):
        return NOTHING
    return api.machine.table(names)


def _done(work: Any) -> bool:
    try:
        work()
    except (OSError, ValueError):
        return False
    return True


def _mode(words: CallArguments) -> int:
    """Return the mode of new directories: APR's bits of the second argument; all by default."""
    given = words.integer(2, 0x0FFF)
    if given == 0x0FFF:
        return 0o777
    return (given >> 8 & 7) << 6 | (given >> 4 & 7) << 3 | given & 7


def make_directory(_api: RequestApi, words: CallArguments) -> bool:
    path = to_bytes(words.text(1))
    return _done(lambda: os.mkdir(path, _mode(words)))


def make_directories(_api: RequestApi, words: CallArguments) -> bool:
    path = to_bytes(words.text(1))
    return _done(lambda: os.makedirs(path, _mode(words), exist_ok=True))


def remove_directory(_api: RequestApi, words: CallArguments) -> bool:
    path = to_bytes(words.text(1))
    return _done(lambda: os.rmdir(path))


def touch(_api: RequestApi, words: CallArguments) -> bool:
    """Set the modification time of a file that exists, in microseconds."""
    path = to_bytes(words.text(1))
    microseconds = words.integer(2, int(time.time() * 1_000_000))

    def set_time() -> None:
        os.utime(path, ns=(os.stat(path).st_atime_ns, microseconds * 1000))

    return _done(set_time)


def send_file(api: RequestApi, words: CallArguments) -> Any:
    """Write a file to the client; its size, or false."""
    path = to_bytes(words.text(1))
    if api.output is None or not os.path.isfile(path):
        return False
    sent = 0
    api.output.is_passed_on = True
    try:
        with open(path, "rb") as file:
            while data := file.read(PIECE):
                api.output.write(data)
                sent += len(data)
    except OSError:
        return False
    return sent


def runtime_path(api: RequestApi, words: CallArguments) -> str:
    """Return a path relative to DefaultRuntimeDir."""
    configuration = api.r.engine.configuration
    conf = configuration.main.config(MpmConfig)
    directory = conf.run_directory or configuration.build.run_directory or "logs"
    directory = root_relative(configuration.root, directory)
    return root_relative(directory, words.text(1))
