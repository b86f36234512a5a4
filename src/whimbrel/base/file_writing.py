"""The one way in which commands write files: a new file is complete on disk before it gets its name.

Between a look at a path and a write to it, the owner of a directory can put a link there. So a path is
walked by directory descriptors: each component is opened without following links, and a link is resolved by
hand within the tree. What is found that way is the descriptor of a directory and a name in it; the new file
is created under a random name with O_EXCL and O_NOFOLLOW, synced, and renamed within the descriptor. A rename
replaces the name itself, a link that comes to stand there too.

No path is resolved twice: the top of a tree is a descriptor from the moment it is named. A link that another
user can change, on the way to the top or below it, leads to directories of that user alone (ForeignLink).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from whimbrel.base.accounts import effective_group, effective_user
from whimbrel.base.confinement import WRITING
from whimbrel.base.file_reading import open_regular, read_handle
from whimbrel.base.portability import BINARY, DIRECTORY, NO_FOLLOW, NO_TERMINAL, NOT_INHERITED, PATH_ONLY

MAX_LINKS: Final = 40
"""Symbolic links in one path, as in Linux."""
_DIRECTORY: Final = PATH_ONLY | DIRECTORY | NO_FOLLOW | NOT_INHERITED
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW | NOT_INHERITED | BINARY
_LISTED: Final = os.O_RDONLY | DIRECTORY | NO_FOLLOW | NOT_INHERITED
_OVERWRITTEN: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | NO_FOLLOW | NO_TERMINAL | NOT_INHERITED | BINARY
_ANYWHERE: Final = b"/"


class _History:
    """What this process has done.

    Attributes:
        has_written: it gave a name to a new file, or wrote into one.
    """

    has_written = False


def has_written() -> bool:
    """Return True if this process has replaced, created or overwritten a file."""
    return _History.has_written


class NotInTree(OSError):
    """A path that is not in the tree, or leaves it through a link."""

    def __init__(self, path: bytes, top: bytes) -> None:
        super().__init__(errno.EXDEV, f"it is outside of {os.fsdecode(top)}", path)


class ForeignLink(OSError):
    """A link that another user can change at any time, to a directory that is not that user's."""

    def __init__(self, path: bytes) -> None:
        super().__init__(
            errno.EPERM, "a link in a directory of another user leads to what that user does not own", path
        )


class NotPrivate(OSError):
    """A directory that is to be the user's alone, and in which another user can write.

    Attributes:
        directory: its path.
    """

    def __init__(self, path: bytes) -> None:
        super().__init__(errno.EPERM, "another user can write there", path)
        self.directory = path


class Owner(NamedTuple):
    """Owner, group, permissions and times of a file that a new one takes over."""

    user: int
    group: int
    mode: int
    times: tuple[int, int]

    @classmethod
    def of(cls, status: os.stat_result) -> Owner:
        """Return those of *status*; the bits for changes of the user are dropped.

        Content that somebody else wrote must not get them from a hard link to a program.
        """
        times = (status.st_atime_ns, status.st_mtime_ns)
        return cls(status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode) & 0o777, times)


class Place:
    """A name in an open directory; `close` releases the directory.

    Attributes:
        directory: its descriptor.
        name: without a slash. It is no link, unless one was put there later; nothing follows it.
        path: for messages, with all links resolved.
    """

    __slots__ = ("directory", "name", "path")

    def __init__(self, directory: int, name: bytes, path: bytes) -> None:
        self.directory = directory
        self.name = name
        self.path = path

    def close(self) -> None:
        """Close the directory."""
        os.close(self.directory)

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def status(self) -> os.stat_result | None:
        """Return the status of the name itself, None if there is none."""
        try:
            return os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def read(self) -> tuple[bytes, Owner]:
        """Return the content and owner of the regular file; raises OSError."""
        with _naming(self.path):
            handle = open_regular(self.name, dir_fd=self.directory, follow=False)
            try:
                return read_handle(handle, self.path), Owner.of(os.fstat(handle))
            finally:
                os.close(handle)

    def create(
        self,
        data: bytes,
        owner: Owner | None,
        mode: int = 0o666,
        *,
        with_times: bool = False,
        is_synced: bool = True,
    ) -> None:
        """Create the file with *data*; raises OSError if the name exists.

        Without *owner* the mode is *mode* less the umask. The file is complete on disk, unless *is_synced* is
        False: for the files of a new directory, which replace nothing.
        """
        with _naming(self.path):
            handle = os.open(self.name, _NEW_FILE, mode if owner is None else 0o600, dir_fd=self.directory)
            try:
                self._fill(handle, data, owner, with_times=with_times)
                if is_synced:
                    os.fsync(handle)
            except BaseException:
                self.remove()
                raise
            finally:
                os.close(handle)

    @staticmethod
    def _fill(handle: int, data: bytes, owner: Owner | None, *, with_times: bool) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        if owner is not None:
            if owner[:2] != (effective_user(), effective_group()):
                os.fchown(handle, owner.user, owner.group)
            os.fchmod(handle, owner.mode)
            if with_times:
                os.utime(handle, ns=owner.times)

    def overwrite(self, data: bytes, mode: int = 0o666) -> None:
        """Write *data* into the file or device that has the name, not in one step; raises OSError."""
        with _naming(self.path):
            with open(os.open(self.name, _OVERWRITTEN, mode, dir_fd=self.directory), "wb") as file:
                _History.has_written = True
                file.write(data)

    def beside(self, name: bytes) -> Place:
        """Return another name of the directory; it needs no `close` of its own."""
        return Place(self.directory, name, os.path.join(os.path.dirname(self.path), name))

    def temporary(self) -> Place:
        """Return a random name of the directory that begins with a dot."""
        return self.beside(b".whimbrel-" + os.urandom(12).hex().encode())

    def rename_to(self, target: Place) -> None:
        """Give this file the name *target*, in any directory of the file system; it is on disk on return."""
        with _naming(target.path):
            os.rename(self.name, target.name, src_dir_fd=self.directory, dst_dir_fd=target.directory)
            _History.has_written = True
            target.sync()

    def remove(self) -> None:
        """Remove the name, if it exists."""
        with suppress(FileNotFoundError), _naming(self.path):
            os.unlink(self.name, dir_fd=self.directory)

    def remove_directory(self) -> None:
        """Remove the empty directory of this name; raises OSError."""
        with _naming(self.path):
            os.rmdir(self.name, dir_fd=self.directory)

    def make_link(self, text: bytes) -> None:
        """Create a symbolic link of this name; raises OSError."""
        with _naming(self.path):
            os.symlink(text, self.name, dir_fd=self.directory)

    def sync(self) -> None:
        """Write the directory to disk."""
        handle = os.open(b".", os.O_RDONLY | DIRECTORY | NOT_INHERITED, dir_fd=self.directory)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def replace(
        self, data: bytes, owner: Owner | None = None, mode: int = 0o666, *, temporary: Place | None = None
    ) -> None:
        """Write *data* under this name in one step, with *owner* or the present file's, and its times."""
        status = self.status()
        with_times = owner is not None
        if owner is None and status is not None and stat.S_ISREG(status.st_mode):
            owner = Owner.of(status)
        temporary = temporary or self.temporary()
        temporary.create(data, owner, mode, with_times=with_times)
        try:
            temporary.rename_to(self)
        except BaseException:
            temporary.remove()
            raise


@contextmanager
def _naming(path: bytes) -> Iterator[None]:
    """Put the whole path into an OSError; within, this process may write although it is confined."""
    token = WRITING.set(True)
    try:
        yield
    except OSError as problem:
        problem.filename = path
        problem.filename2 = None
        raise
    finally:
        WRITING.reset(token)


class Tree:
    """Directories below which files may be written; the first one is the place for messages.

    *tops* are named by the user; links in the way to them are followed, once. With *is_open* every other path
    may be written as well. New directories get *mode* less the umask. With *is_private* the directories below
    the tops must be the user's alone.
    """

    def __init__(
        self, *tops: bytes, is_open: bool = False, mode: int = 0o777, is_private: bool = False
    ) -> None:
        named = list(dict.fromkeys(map(os.path.abspath, tops)))
        self.is_open = is_open
        self.mode = mode
        self.is_private = is_private
        self.top = named[0] if named else _ANYWHERE
        self._tops = [_Top.machine()] if is_open else list(map(_Top.named, named))

    @classmethod
    def create(cls, path: bytes, mode: int = 0o777, *, is_private: bool = False) -> Tree:
        """Return the tree of a directory that the user named, made if it is missing; raises OSError."""
        tree = cls(mode=mode, is_private=is_private)
        with _naming(path):
            tree.top = os.path.abspath(path)
            tree._tops = [_Top.open(tree.top, mode)]
        return tree

    def place(
        self, path: bytes, *, create: bool = False, follow: bool = True, replaces_link: bool = False
    ) -> Place:
        """Return the place of *path*, with all links resolved; raises NotInTree and OSError.

        With *create*, missing directories are made. With *follow* False every link is an error, as in a path
        that has no reason to have one. With *replaces_link* a link at its end is the place itself.
        """
        with _naming(path):
            top, inside = self.enter(os.path.abspath(path))
            return _Walk(self, top, create=create, follow=follow, replaces_link=replaces_link).to(inside)

    def make_directory(self, path: bytes) -> None:
        """Make the directory *path*, and those above it below the top; raises NotInTree and OSError."""
        with _naming(path):
            top, inside = self.enter(os.path.abspath(path))
            os.close(_Walk(self, top, create=True).directory(inside)[0])

    def is_empty(self) -> bool:
        """Return True if the first top has no entry; raises OSError."""
        with _naming(self.top):
            handle = os.open(b".", _LISTED, dir_fd=self._tops[0].handle())
            try:
                return not os.listdir(handle)
            finally:
                os.close(handle)

    def enter(self, path: bytes) -> tuple[_Top, list[bytes]]:
        """Return the outermost top that *path* is below, and the components below it; raises NotInTree.

        A link may lead out of one top and stay inside of another one around it.
        """
        prefixes = [
            (prefix.rstrip(b"/") + b"/", top) for top in self._tops for prefix in (top.name, top.real)
        ]
        around = [(prefix, top) for prefix, top in prefixes if path.startswith(prefix)]
        if not around:
            raise NotInTree(path, self.top)
        prefix, top = min(around, key=lambda one: len(one[0]))
        return top, path[len(prefix) :].split(b"/")


class _Top:
    """The top of a tree: a directory that stays open; one that is missing raises its error when it is used.

    Attributes:
        name: its path, as the user named it.
        real: the same without links.
    """

    __slots__ = ("_handle", "_problem", "name", "real")

    def __init__(self, name: bytes, real: bytes, handle: int, problem: OSError | None = None) -> None:
        self.name = name
        self.real = real
        self._handle = handle
        self._problem = problem

    def __del__(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)

    def handle(self) -> int:
        """Return the descriptor; raises the OSError that there was when the directory was named."""
        if self._problem is not None:
            raise self._problem
        return self._handle

    @classmethod
    def machine(cls) -> _Top:
        """Return the top of all paths; raises OSError."""
        if os.open not in os.supports_dir_fd:
            raise OSError(errno.ENOTSUP, "this system has no descriptors of directories to write below")
        return cls(_ANYWHERE, _ANYWHERE, os.open(_ANYWHERE, _DIRECTORY))

    @classmethod
    def named(cls, name: bytes) -> _Top:
        """Return the directory of an absolute path."""
        try:
            return cls.open(name, None)
        except OSError as problem:
            return cls(name, name, -1, problem.with_traceback(None))

    @classmethod
    def open(cls, name: bytes, mode: int | None) -> _Top:
        """Return the directory of an absolute path; without *mode* it must exist. Raises OSError."""
        machine = Tree(is_open=True, mode=mode or 0)
        top, inside = machine.enter(name)
        handle, real = _Walk(machine, top, create=mode is not None).directory(inside)
        return cls(name, real, handle)


class _Walk:
    """One way from a top to a place: a stack of open directories, so that ``..`` goes back by descriptor."""

    def __init__(
        self, tree: Tree, top: _Top, *, create: bool, follow: bool = True, replaces_link: bool = False
    ) -> None:
        self._tree = tree
        self._top = top.real
        self._create = create
        self._follow = follow
        self._replaces_link = replaces_link
        self._links = MAX_LINKS
        self._strangers = set[int]()
        self._names = list[bytes]()
        self._handles = [os.dup(top.handle())]

    def to(self, components: list[bytes]) -> Place:
        """Return the place of *components* below the top."""
        try:
            name = self._walk([part for part in components if part not in (b"", b".")])
            return Place(self._handles.pop(), name, self._path(name))
        finally:
            self._drop()

    def directory(self, components: list[bytes]) -> tuple[int, bytes]:
        """Return the directory of *components* below the top: a descriptor, and the path without links."""
        try:
            self._walk([*(part for part in components if part not in (b"", b".")), b"."])
            return self._handles.pop(), self._path()
        finally:
            self._drop()

    def _path(self, *names: bytes) -> bytes:
        return os.path.join(self._top, *self._names, *names)

    def _drop(self) -> None:
        while self._handles:
            os.close(self._handles.pop())

    def _walk(self, rest: list[bytes]) -> bytes:
        """Open the directories of *rest*; return its last name."""
        while rest:
            first, *rest = rest
            if first == b"..":
                self._up()
            elif not (self._replaces_link and not rest) and (link := self._link(first)) is not None:
                rest = [*self._resolved(first, link), *rest]
            elif rest:
                self._enter(first)
            else:
                self._check_owner()
                return first
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))

    def _link(self, name: bytes) -> bytes | None:
        """Return the text of the link *name*, None for anything else."""
        try:
            return os.readlink(name, dir_fd=self._handles[-1])
        except OSError as problem:
            if problem.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise

    def _resolved(self, name: bytes, link: bytes) -> list[bytes]:
        """Return the components of the link *name*, from the present directory; raises OSError."""
        self._links -= 1
        if not self._follow or self._links < 0:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        self._strangers |= self._holders(name)
        if link.startswith(b"/"):
            top, inside = self._tree.enter(os.path.normpath(link))
            self._top = top.real
            self._drop()
            self._names.clear()
            self._handles.append(os.dup(top.handle()))
            return inside
        return [part for part in link.split(b"/") if part not in (b"", b".")]

    def _up(self) -> None:
        if self._names:
            self._names.pop()
            os.close(self._handles.pop())
        elif not self._tree.is_open:
            raise NotInTree(os.path.join(self._top, b".."), self._tree.top)

    def _holders(self, name: bytes) -> set[int]:
        """Return the users who can change the link *name*, without those who may write everywhere."""
        directory = os.fstat(self._handles[-1])
        users = {directory.st_uid}
        if directory.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            users.add(os.stat(name, dir_fd=self._handles[-1], follow_symlinks=False).st_uid)
        return users - {0, effective_user()}

    def _check_owner(self) -> None:
        """Raise ForeignLink if a link of another user led here, and the present directory is not that user's.

        Its owner can put anything under each of its names without a link, too.
        """
        if self._strangers - {os.fstat(self._handles[-1]).st_uid}:
            raise ForeignLink(self._path())
        self._strangers.clear()

    def _enter(self, name: bytes) -> None:
        try:
            handle = os.open(name, _DIRECTORY, dir_fd=self._handles[-1])
        except FileNotFoundError:
            if not self._create:
                raise
            self._check_owner()
            with suppress(FileExistsError):
                os.mkdir(name, self._tree.mode, dir_fd=self._handles[-1])
            handle = os.open(name, _DIRECTORY, dir_fd=self._handles[-1])
        self._handles.append(handle)
        self._names.append(name)
        if self._tree.is_private:
            status = os.fstat(handle)
            if status.st_uid != effective_user() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise NotPrivate(self._path())


def make_directories(path: bytes, mode: int = 0o777) -> None:
    """Make a directory that the user named, and those above it; raises OSError."""
    Tree.create(path, mode)


def write_named(path: bytes, data: bytes, mode: int = 0o666) -> None:
    """Replace the content of a file that the user named on the command line; raises OSError.

    Links are followed. The content is written in place if the directory is not writable or the target is not
    a regular file, such as /dev/stdout.
    """
    with Tree(is_open=True).place(path) as place:
        status = place.status()
        if status is None or stat.S_ISREG(status.st_mode):
            try:
                place.replace(data, mode=mode)
            except PermissionError:
                pass
            else:
                return
        place.overwrite(data, mode)


def write_over(path: bytes, data: bytes, mode: int = 0o666) -> None:
    """Write a file in the place of whatever has the name *path*, a link too; raises OSError."""
    with Tree(is_open=True).place(path, replaces_link=True) as place:
        place.replace(data, mode=mode)
