"""Copies, moves and removals of files and trees.

Each function is a generator: a step blocks for about the time of one file operation, then the caller may
close it, which removes what is incomplete.  A copy is made beside its target and renamed over it, so a target
is old or new at every moment, whether it is a file or a tree.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import suppress
from errno import EDQUOT, ENOSPC, EXDEV
from stat import S_IMODE, S_ISDIR, S_ISREG, S_IXUSR
from typing import TYPE_CHECKING, Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.modules.dav.mod_dav.errors import DavError
from whimbrel.modules.dav.mod_dav.multistatus import ResourceStatus
from whimbrel.modules.dav.mod_dav_fs.new_files import exchange, new_file, temporary_name, write_all
from whimbrel.modules.dav.mod_dav_fs.property_store import STATE_DIRECTORY
from whimbrel.modules.dav.mod_dav_fs.uploads import status_of

if TYPE_CHECKING:
    from whimbrel.modules.dav.mod_dav_fs.file_resource import FileResource

PIECE: Final = 1024 * 1024  # bytes of a file that one step copies
MAX_REPORTED: Final = 1000  # members that could not be removed, in one response
_SUFFIXES: Final = ("", ".pag", ".dir")  # of the files of properties


def copy(source: FileResource, target: FileResource, depth: int) -> Iterator[None]:
    """Replace *target* by a copy of *source*, of the directory alone if *depth* is 0; raises DavError."""
    if not source.is_collection:
        yield from _copy_file(source, target)
        return
    name = temporary_name(target.path)
    try:
        yield from _copy_tree(source.path, name, depth, source.style.is_old)
        yield from _replace(name, target)
    except BaseException:
        for _ in _discard(name):
            pass
        raise


def _copy_file(source: FileResource, target: FileResource) -> Iterator[None]:
    name = yield from _copied(source.path, target.path, source.style.is_old)
    try:
        yield from _replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(to_bytes(name))
        raise
    for suffix in _SUFFIXES:
        before = _state(source, suffix)
        after = _state(target, suffix)
        if os.path.isfile(to_bytes(before)):
            _make_state_directory(after)
            state = yield from _copied(before, after, source.style.is_old)
            os.rename(to_bytes(state), to_bytes(after))


def _copied(path: str, target: str, is_old: bool) -> Generator[None, None, str]:
    """Copy the file *path* to a temporary one beside *target*; return its name."""
    try:
        handle = os.open(to_bytes(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as problem:
        text = "Could not open file for reading"
        raise DavError(status_of(0, is_old=is_old), text, errno=problem.errno or 0) from None
    try:
        mode = S_IMODE(os.fstat(handle).st_mode)
        try:
            output, name = new_file(target, mode if mode & S_IXUSR else 0o666)
        except OSError as problem:
            errno = problem.errno or 0
            text = "Could not open file for writing"
            raise DavError(status_of(errno, is_old=is_old), text, errno=errno) from None
        try:
            yield from _copy_content(handle, output)
            if mode & S_IXUSR:
                os.fchmod(output, mode)
        except BaseException as problem:
            os.unlink(to_bytes(name))
            if isinstance(problem, OSError):
                errno = problem.errno or 0
                text = "Could not write output file"
                raise DavError(status_of(errno, is_old=is_old), text, errno=errno) from None
            raise
        finally:
            os.close(output)
    finally:
        os.close(handle)
    return name


def _copy_content(source: int, target: int) -> Iterator[None]:
    while data := os.read(source, PIECE):
        write_all(target, data)
        yield


def _copy_tree(path: str, target: str, depth: int, is_old: bool) -> Iterator[None]:
    """Copy a directory to *target*, which does not exist; links and special files are left out."""
    try:
        os.mkdir(to_bytes(target))
    except OSError as problem:
        raise DavError(_full_or(403, problem), errno=problem.errno or 0) from None
    yield
    if depth == 0:
        return
    for name, mode in _entries(path):
        yield
        if S_ISDIR(mode):
            yield from _copy_tree(f"{path}/{name}", f"{target}/{name}", depth, is_old)
        elif S_ISREG(mode):
            copied = yield from _copied(f"{path}/{name}", f"{target}/{name}", is_old)
            os.rename(to_bytes(copied), to_bytes(f"{target}/{name}"))


def _entries(path: str) -> list[tuple[str, int]]:
    """Return names and modes in a directory; raises DavError."""
    found = []
    try:
        with os.scandir(to_bytes(path)) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    mode = entry.stat(follow_symlinks=False).st_mode
                    found.append((entry.name.decode("latin-1"), mode))
    except OSError as problem:
        raise DavError(404, errno=problem.errno or 0) from None
    return found


def _replace(name: str, target: FileResource) -> Iterator[None]:
    """Rename *name* to *target*, whose former file, tree and properties are removed; raises DavError."""
    old = to_bytes(target.path)
    new = to_bytes(name)
    is_directory = os.path.isdir(new)
    if target.exists and (target.is_collection or is_directory):
        if exchange(name, target.path):
            aside = name
        else:
            aside = temporary_name(target.path)
            _rename(target.path, aside)
            _rename(name, target.path)
        _remove_states(target)
        yield
        yield from _discard(aside)
        return
    try:
        os.rename(new, old)
    except OSError as problem:
        errno = problem.errno or 0
        text = "Could not open file for writing"
        raise DavError(status_of(errno, is_old=target.style.is_old), text, errno=errno) from None
    _remove_states(target)
    yield


def _rename(source: str, target: str) -> None:
    try:
        os.rename(to_bytes(source), to_bytes(target))
    except OSError as problem:
        raise _cannot_rename(problem) from None


def _cannot_rename(problem: OSError) -> DavError:
    return DavError(_full_or(500, problem), "Could not rename resource.", errno=problem.errno or 0)


def _full_or(status: int, problem: OSError) -> int:
    return 507 if problem.errno in {ENOSPC, EDQUOT} else status


def _discard(path: str) -> Iterator[None]:
    """Remove a tree of this server, whatever is in it; what cannot be removed stays."""
    try:
        is_directory = S_ISDIR(os.lstat(to_bytes(path)).st_mode)
    except OSError:
        return
    if is_directory:
        with suppress(DavError):
            for name, _mode in _entries(path):
                yield from _discard(f"{path}/{name}")
                yield
    with suppress(OSError):
        (os.rmdir if is_directory else os.unlink)(to_bytes(path))


def move(source: FileResource, target: FileResource) -> Iterator[None]:
    """Replace *target* by *source*; raises DavError."""
    aside = ""
    if target.exists and (target.is_collection or source.is_collection):
        aside = temporary_name(target.path)
        _rename(target.path, aside)
    try:
        os.rename(to_bytes(source.path), to_bytes(target.path))
    except OSError as problem:
        if aside:
            _rename(aside, target.path)
        if problem.errno == EXDEV:
            yield from copy(source, target, -1)
            yield from remove(source)
            return
        raise _cannot_rename(problem) from None
    _move_states(source, target)
    yield
    if aside:
        yield from _discard(aside)


def remove(resource: FileResource) -> Iterator[None]:
    """Remove a file or a tree; members that cannot be removed are reported in the DavError."""
    if not resource.is_collection:
        try:
            os.unlink(to_bytes(resource.path))
        except OSError as problem:
            text = "" if resource.style.is_old else "Cannot remove resource"
            raise DavError(403, text, errno=problem.errno or 0) from None
        _remove_states(resource)
        yield
        return
    failed: list[ResourceStatus] = []
    yield from _remove_tree(resource.path, resource.uri.rstrip("/"), failed)
    if failed:
        text = "Error(s) occurred on some resources during the deletion process."
        raise DavError(207, text, responses=failed[:-MAX_REPORTED:-1])


def _remove_tree(path: str, uri: str, failed: list[ResourceStatus]) -> Iterator[None]:
    for name, mode in _entries(path):
        yield
        below = f"{path}/{name}"
        if S_ISDIR(mode):
            yield from _remove_tree(below, f"{uri}/{name}", failed)
        elif S_ISREG(mode):
            try:
                os.unlink(to_bytes(below))
            except FileNotFoundError:
                continue
            except OSError:
                failed.append(ResourceStatus(f"{uri}/{name}", 403))
    try:
        os.rmdir(to_bytes(path))
    except FileNotFoundError:
        return
    except OSError:
        failed.append(ResourceStatus(uri, 403))


# files of properties ------------------------------------------------------------------------------------
def _state(resource: FileResource, suffix: str) -> str:
    directory, _, name = resource.path.rpartition("/")
    return f"{directory}/{STATE_DIRECTORY}/{name}{suffix}"


def _make_state_directory(path: str) -> None:
    with suppress(OSError):
        os.mkdir(to_bytes(path.rpartition("/")[0]))


def _remove_states(resource: FileResource) -> None:
    """Remove the properties of a file; those of a directory are in it."""
    for suffix in _SUFFIXES:
        with suppress(OSError):
            os.unlink(to_bytes(_state(resource, suffix)))


def _move_states(source: FileResource, target: FileResource) -> None:
    _remove_states(target)
    if source.is_collection:
        return
    for suffix in _SUFFIXES:
        before = _state(source, suffix)
        after = _state(target, suffix)
        if os.path.isfile(to_bytes(before)):
            _make_state_directory(after)
            with suppress(OSError):
                os.rename(to_bytes(before), to_bytes(after))
