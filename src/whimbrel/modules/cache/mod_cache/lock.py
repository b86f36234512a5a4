"""CacheLock: of the requests for one URL, one at a time goes to the back end ("thundering herd" lock).

A lock is a file with the hash of the key, made with O_EXCL, so that all workers and httpd itself share it. A
file older than CacheLockMaxAge is of a process that ended and is replaced.
"""

from __future__ import annotations

import os

from whimbrel.base.errors import apr_error
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.programs import may_start_programs
from whimbrel.base.static_typing import Final
from whimbrel.config.mpm_config import MpmConfig
from whimbrel.engine.request import Request
from whimbrel.modules.cache.disk_format import hash_name
from whimbrel.modules.cache.mod_cache.settings import LOCK_DIRECTORY, CacheServerConfig

_MODE: Final = 0o700
_FILE_MODE: Final = 0o600


class CacheLock:
    """A lock that a request has; it is released once."""

    __slots__ = ("_path",)

    def __init__(self, path: bytes) -> None:
        self._path = path

    def release(self) -> None:
        """Remove the file."""
        path, self._path = self._path, b""
        if path:
            try:
                os.unlink(path)
            except OSError:
                pass

    def __del__(self) -> None:
        """Release the lock of a request that was cancelled."""
        self.release()


def default_directory(r: Request) -> str:
    """Return the directory of locks without CacheLockPath."""
    if r.plan.dialect.cache_22:
        return f"/tmp/{LOCK_DIRECTORY}"
    configuration = r.engine.configuration
    directory = configuration.main.config(MpmConfig).run_directory
    return os.path.join(directory or f"{configuration.root}/logs", LOCK_DIRECTORY)


def try_lock(conf: CacheServerConfig, r: Request, key: str) -> CacheLock | None:
    """Return the lock for *key*; None for a tool, which makes no files.

    Raises:
        FileExistsError: another request has it.
        OSError: the file cannot be made; the caller proceeds without a lock.
    """
    if not may_start_programs():
        return None
    name = hash_name(key, 0, 0)
    directory = f"{conf.lock_path or default_directory(r)}/{name[0]}/{name[1]}"
    path = to_bytes(f"{directory}/{name}")
    try:
        os.makedirs(to_bytes(directory), _MODE, exist_ok=True)
    except OSError as problem:
        _log(r, "error", "AH00778", f"Could not create a cache lock directory: {directory}", problem)
        raise
    try:
        changed = os.stat(path).st_mtime
        if not 0 <= r.engine.runtime.now() - changed <= conf.lock_max_age:
            text = f"Cache lock file for '{r.uri}' too old, removing: {directory}/{name}"
            r.log("info", text, code="AH00780", module="cache")
            os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as problem:
        _log(r, "error", "AH00779", f"Could not stat a cache lock file: {directory}/{name}", problem)
        raise
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE_MODE))
    return CacheLock(path)


def _log(r: Request, level: str, code: str, text: str, problem: OSError) -> None:
    r.log(level, text, code=code, module="cache", cause=apr_error(problem))
