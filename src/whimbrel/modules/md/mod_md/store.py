"""The store of mod_md on disk, in the layout of httpd's md_store_fs: readable by it, and the reverse.

A group is a directory, a name in it another one. Private keys outside of `domains` and `tmp` are encrypted
with the key in md_store.json. Files are replaced atomically; keys are never readable by others.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from whimbrel.base.file_locks import try_lock_open_file
from whimbrel.base.file_reading import read_start
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.programs import may_start_programs

ACCOUNTS = "accounts"
CHALLENGES = "challenges"
DOMAINS = "domains"
STAGING = "staging"
ARCHIVE = "archive"
TMP = "tmp"
OCSP = "ocsp"
STORE_FILE: Final = "md_store.json"
HTTPD_FILE: Final = "httpd.json"
LOCK_FILE: Final = "store.lock"
VERSION: Final = 3.0
KEY_SIZE: Final = 48
MAX_FILE: Final = 1024 * 1024  # bytes of a file that is read
MAX_ARCHIVED: Final = 10_000
# modes of directories and files; others are for the owner alone
# mod_md's modes of the directories of groups, which the names in them do not have; the
# group of accounts is that of the workers, which read them
_GROUP_MODES: Final = {ACCOUNTS: 0o750, CHALLENGES: 0o750, OCSP: 0o750}
_WORKERS: Final = {ACCOUNTS: (0o755, 0o644), STAGING: (0o755, 0o644), CHALLENGES: (0o755, 0o644)}
_PLAIN_KEYS: Final = (DOMAINS, TMP)
OWNED_BY_WORKERS: Final = (CHALLENGES, STAGING, OCSP)


class MdStoreError(Exception):
    """The store is unusable: *cause* is the error of the system, None for malformed contents."""

    def __init__(self, text: str, cause: OSError | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.cause = cause


def is_safe(name: str) -> bool:
    """Return True if *name* may be a name in a group: it is one component of a path, and not hidden."""
    return bool(name) and "/" not in name and "\0" not in name and not name.startswith(".")


class FileStore:
    """One store; methods raise OSError, and ValueError for names that are no file names.

    Attributes:
        base: the absolute path.
        key: the pass phrase of encrypted keys.
        owner: IDs of the user and the group of workers, None unless root starts them.
    """

    def __init__(self, base: str, key: bytes = b"", owner: tuple[int, int] | None = None) -> None:
        self.base = base
        self.key = key
        self.owner = owner
        self.is_read_only = not may_start_programs()  # a tool changes no store

    def open(self) -> None:
        """Create the store, or read its key; raises MdStoreError."""
        path = self._path("", "", STORE_FILE)
        if self.is_read_only:
            self.key = os.urandom(KEY_SIZE)
            with suppress(OSError):
                self._read_key(self._read(path))
            return
        try:
            if not os.path.isdir(to_bytes(self.base)):
                os.makedirs(to_bytes(self.base), 0o755)
                os.chmod(to_bytes(self.base), 0o755)  # workers enter it whatever the umask is
            try:
                self._read_key(self._read(path))
            except FileNotFoundError:
                self._create_key()
            for group in (CHALLENGES, STAGING, ACCOUNTS, OCSP):
                self.make_directory(group)
        except OSError as problem:
            raise MdStoreError(f"setup store for {self.base}", problem) from None

    def _create_key(self) -> None:
        self.key = os.urandom(KEY_SIZE)
        text = base64.urlsafe_b64encode(self.key).decode().rstrip("=")
        record = {"store": {"version": VERSION}, "key": text}
        self._write(self._path("", "", STORE_FILE), json_bytes(record), 0o600)

    def _read_key(self, data: bytes) -> None:
        try:
            record = json.loads(data)
            version = record["store"]["version"]
            text = record["key"]
            self.key = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise MdStoreError(f"{self.base}/{STORE_FILE}: malformed") from None
        if not isinstance(version, int | float) or version > VERSION or len(self.key) != KEY_SIZE:
            raise MdStoreError(f"{self.base}/{STORE_FILE}: version or key is unknown")

    # paths -------------------------------------------------------------------------------------------
    def _path(self, group: str, name: str, file: str = "") -> bytes:
        for part in filter(None, (name, file)):
            if not is_safe(part):
                raise ValueError(part)
        return to_bytes("/".join(filter(None, (self.base, group, name, file))))

    def path(self, group: str, name: str, file: str = "") -> str:
        """Return the path of a file, or of the directory of *name*."""
        return self._path(group, name, file).decode("latin-1")

    def make_directory(self, group: str, name: str = "") -> None:
        """Create the directory of a group, or of a name in it."""
        path = self._path(group, name)
        if self.is_read_only or os.path.isdir(path):
            return
        if name:
            self.make_directory(group)
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
        os.chmod(path, self._directory_mode(group, name))
        if self.owner is None or os.geteuid() != 0:
            return
        if group in OWNED_BY_WORKERS:
            os.chown(path, *self.owner)
        elif group == ACCOUNTS:
            os.chown(path, -1, self.owner[1])

    @staticmethod
    def _directory_mode(group: str, name: str) -> int:
        if not name and group in _GROUP_MODES:
            return _GROUP_MODES[group]
        return _WORKERS[group][0] if group in _WORKERS else 0o700

    # files -------------------------------------------------------------------------------------------
    def _read(self, path: bytes) -> bytes:
        return read_start(path, MAX_FILE)

    def _write(self, path: bytes, data: bytes, mode: int, *, is_durable: bool = True) -> None:
        if self.is_read_only:
            return
        handle, temporary = tempfile.mkstemp(prefix=b".", suffix=b".tmp", dir=os.path.dirname(path))
        try:
            with open(handle, "wb") as file:
                os.fchmod(handle, mode)
                file.write(data)
                file.flush()
                if is_durable:
                    os.fsync(handle)
            os.rename(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise

    def load(self, group: str, name: str, file: str) -> bytes:
        """Return the contents of a file."""
        return self._read(self._path(group, name, file))

    def save(self, group: str, name: str, file: str, data: bytes, *, secret: bool = False) -> None:
        """Replace a file; a *secret* is readable by its owner alone."""
        self.make_directory(group, name)
        mode = 0o600 if secret or group not in _WORKERS else _WORKERS[group][1]
        # what is lost of the other groups is obtained again
        self._write(self._path(group, name, file), data, mode, is_durable=group not in OWNED_BY_WORKERS)

    def load_json(self, group: str, name: str, file: str) -> dict[str, Any]:
        """Return a JSON object; raises MdStoreError if it is malformed."""
        try:
            record = json.loads(self.load(group, name, file))
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise MdStoreError(f"{self.path(group, name, file)}: malformed")
        return record

    def save_json(
        self, group: str, name: str, file: str, record: dict[str, Any], *, secret: bool = False
    ) -> None:
        """Replace a JSON file."""
        self.save(group, name, file, json_bytes(record), secret=secret)

    def publish_to_workers(self, group: str, name: str, file: str) -> None:
        """Let workers read a secret that root has written."""
        if self.owner is not None and os.geteuid() == 0 and not self.is_read_only:
            os.chown(self._path(group, name, file), *self.owner)

    def purge_file(self, group: str, name: str, file: str) -> None:
        """Remove a file."""
        if self.is_read_only:
            return
        with suppress(FileNotFoundError):
            os.unlink(self._path(group, name, file))

    def save_properties(self, record: dict[str, Any]) -> None:
        """Replace httpd.json: what is common to all domains."""
        self._write(self._path("", "", HTTPD_FILE), json_bytes(record), 0o600)

    def exists(self, group: str, name: str, file: str = "") -> bool:
        """Return True if a file, or the directory of *name*, exists."""
        return os.path.exists(self._path(group, name, file))

    def files(self, group: str, name: str) -> list[str]:
        """Return the names of the files in a directory."""
        try:
            found = os.listdir(self._path(group, name))
        except FileNotFoundError:
            return []
        return sorted(file.decode("latin-1") for file in found if is_safe(file.decode("latin-1")))

    def names(self, group: str) -> list[str]:
        """Return the names in a group in order."""
        try:
            found = os.listdir(to_bytes(f"{self.base}/{group}"))
        except FileNotFoundError:
            return []
        return sorted(name.decode("latin-1") for name in found if not name.startswith(b"."))

    def phrase(self, group: str) -> bytes | None:
        """Return the pass phrase of keys in *group*, None for plain ones."""
        return None if group in _PLAIN_KEYS else self.key

    # directories -------------------------------------------------------------------------------------
    def purge(self, group: str, name: str) -> None:
        """Remove a name with its files."""
        if self.is_read_only:
            return
        with suppress(FileNotFoundError):
            shutil.rmtree(self._path(group, name))

    def rename(self, group: str, old: str, new: str) -> None:
        """Rename a name."""
        if not self.is_read_only:
            os.rename(self._path(group, old), self._path(group, new))

    def install(self, name: str) -> None:
        """Move `tmp`/NAME to `domains`; what was there goes to the archive."""
        if self.is_read_only:
            return
        self.make_directory(DOMAINS)
        if self.exists(DOMAINS, name):
            self.make_directory(ARCHIVE)
            os.rename(self._path(DOMAINS, name), self._archived(name))
        os.rename(self._path(TMP, name), self._path(DOMAINS, name))

    def _archived(self, name: str) -> bytes:
        for number in range(1, MAX_ARCHIVED):
            path = self._path(ARCHIVE, f"{name}.{number}")
            if not os.path.exists(path):
                return path
        raise FileExistsError(f"{self.base}/{ARCHIVE}/{name}")

    # locks -------------------------------------------------------------------------------------------
    @contextmanager
    def locked(self, wait: float) -> Iterator[bool]:
        """Hold the lock of the store for at most *wait* seconds of waiting; yield False without it."""
        if self.is_read_only:
            yield True
            return
        handle = os.open(self._path("", "", LOCK_FILE), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield _take(handle, wait)
        finally:
            os.close(handle)

    @contextmanager
    def renewal(self) -> Iterator[bool]:
        """Hold the right to write `staging`, as one process may at a time; yield False without it."""
        handle = os.open(self._path(STAGING, ""), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield _take(handle, 0)
        finally:
            os.close(handle)


def _take(handle: int, wait: float) -> bool:
    end = time.monotonic() + wait
    while True:
        if try_lock_open_file(handle):
            return True
        if time.monotonic() >= end:
            return False
        time.sleep(0.05)


def json_bytes(record: object) -> bytes:
    """Return JSON as httpd writes it: two blanks a level, no line end after it."""
    return json.dumps(record, indent=2, ensure_ascii=False).encode("utf-8", "surrogateescape")
