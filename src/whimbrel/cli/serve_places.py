"""Places of a server that `whimbrel serve` runs where it is not at home: a copy, or another user's server.

All paths of the text of a copy lie below one directory, its image: <Directory> sections, patterns and files
keep their relations, and no file of this machine stands in for one of the copy.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from typing import Final

from whimbrel.base.file_writing import Tree, make_directories
from whimbrel.base.latin1 import from_system, to_bytes, to_system
from whimbrel.base.real_paths import without_links
from whimbrel.config.copied_paths import SYSTEM
from whimbrel.config.detected_build import main_text, server_root_of
from whimbrel.config.execute import root_relative
from whimbrel.config.includes import has_wildcards
from whimbrel.config.servers import FoundServer

_DRIVE: Final = re.compile(r"[A-Za-z]:(?=/)").match
# A class that is not closed reaches to the end: otherwise each of its brackets would be tried again.
_ANCHOR: Final = re.compile(r"\\A|\\.|\[\^?\]?(?:\\.?|\[:\^?\w+:\]|[^\\\]])*(?:\]|\Z)|\^", re.DOTALL)
_FLAGS: Final = re.compile(r"\(\?[a-zA-Z]+\)")


class ServePlaces:
    """Where the files of one server are while it is served. All paths have one character per byte.

    Attributes:
        directory: a temporary directory for everything that the server writes; `close` removes it.
        image: the directory that stands for ``/``; "" for a server in place.
        root: the server root.
        original: the ServerRoot in the text of a copy; "" in place.
        has_drives: the text is of Windows: a drive's letter in front of a path is left out.
    """

    def __init__(self, server: FoundServer, *, is_in_place: bool = False) -> None:
        self.directory = from_system(tempfile.mkdtemp(prefix="whimbrel-serve-"))
        if os.getuid() == 0:
            os.chmod(to_bytes(self.directory), 0o711)  # workers of another user pass through it
        self._owner = os.getpid()
        declared = server_root_of(main_text(from_system(server.path))).rstrip("/")
        self.has_drives = not is_in_place and _DRIVE(declared) is not None
        self.original = ""
        self.image = ""
        self.root = from_system(server.root)
        original = server.copied[0][0] if server.copied else without_drive(declared)
        if not is_in_place and (server.copied or _is_elsewhere(original, server.root)):
            self.original = from_system(original)
            self._make_image(server, self.original)

    def _make_image(self, server: FoundServer, original: str) -> None:
        """Set the image: the directory of a copy that has all, else one of links to what was copied."""
        root = from_system(server.root)
        image = from_system(server.image) or root.removesuffix(original)
        is_complete = image not in ("", root)
        self.image = f"{self.directory}/image"
        if is_complete and not has_wildcards(image) and "\\" not in image:
            self.image = image.rstrip("/")
        elif is_complete:  # as part of a pattern the name would have another meaning
            self._link("", image)
        else:
            self._link(original, root)
            if server.layout is not None:
                self._link(server.layout.directory, from_system(os.path.dirname(server.path)))
        if os.path.isdir(to_bytes(self.image + original)):
            self.root = self.image + original

    def _link(self, original: str, place: str) -> None:
        """Let the path *original* of the text lead to *place*, unless a directory above it does."""
        link = to_bytes(self.image + original)
        if not os.path.lexists(link):
            with Tree(to_bytes(self.directory)).place(link, create=True, follow=False) as name:
                name.make_link(to_bytes(place))

    @property
    def is_complete(self) -> bool:
        """Return True if `image` is the directory of a copy that has all, not one of links."""
        return self.image not in ("", f"{self.directory}/image")

    @property
    def copied(self) -> tuple[tuple[str, str], ...]:
        """Return `LoadOptions.copied`; () in place."""
        own = (self.directory, self.directory)
        return ((self.original, self.root), ("/", self.image), own) if self.image else ()

    def place(self, path: str) -> str:
        """Return where the absolute *path* of the text is; ``..`` does not leave the image."""
        path = root_relative("/", path)
        inside = f"{path.rstrip('/')}/"
        own = (f"{above}/" for above in (self.image, self.directory, self.root))
        if not self.image or inside.startswith((*SYSTEM, *own)):
            return path
        return self.image + path

    def pattern(self, pattern: str) -> str:
        """Return a regular expression that matches the place of each path that *pattern* matches, and no
        other.
        """
        if not self.image:
            return pattern
        image = re.escape(self.image)
        flags = _FLAGS.match(pattern)
        rest = pattern[flags.end() :] if flags is not None else pattern
        inner = _ANCHOR.sub(lambda found: f"(?<=^{image})" if found[0] in ("^", r"\A") else found[0], rest)
        return f"{flags[0] if flags is not None else ''}^{image}[^\\0]*?(?:{inner})"

    def written(self, path: str, *, is_directory: bool = False, is_temporary: bool = False) -> str:
        """Return the place of a file or directory that the server writes: *path* itself in place, if it can
        be written, else a temporary one. *is_temporary*: a temporary one in any case.
        """
        text = path.removeprefix(self.image)
        is_own = f"{text}/".startswith(f"{self.directory}/")
        if is_own or not (self.image or is_temporary or not _is_writable(path)):
            new = path
        else:
            new = f"{self.directory}/written{text}"
        if new == path and not is_own:
            return path
        target = new if is_directory else os.path.dirname(new)
        make_directories(to_bytes(target))
        if is_directory:
            os.chmod(to_bytes(target), 0o1777)  # workers have another user than the master
        return new

    def make_empty(self, place: str) -> bool:
        """Make the missing directory *place* in an image of links; return False where it would be the copy's
        or this machine's.
        """
        real = without_links(to_system(place))
        if not real.startswith(f"{without_links(to_system(self.directory))}/"):
            return False
        make_directories(to_bytes(place))
        return True

    def named(self, path: str) -> str:
        """Return the name of a file for messages: its place in the copy, else the path that the text has."""
        linked = f"{self.directory}/image"
        if self.image != linked or not f"{path}/".startswith(f"{linked}/"):
            return path
        real = from_system(without_links(to_system(path)))
        is_copied = not f"{real}/".startswith(f"{from_system(without_links(to_system(linked)))}/")
        return real if is_copied else path.removeprefix(linked) or "/"

    def named_text(self, text: str) -> str:
        """Return a message with the names of files that the user sees."""
        if self.image != f"{self.directory}/image":
            return text
        link = self.image + self.original
        return text.replace(link, self.named(link)).replace(f"{self.image}/", "/")

    def close(self) -> None:
        """Remove the temporary directory; in the process that made it."""
        if os.getpid() == self._owner:
            shutil.rmtree(to_bytes(self.directory), ignore_errors=True)


def without_drive(path: str) -> str:
    """Return a path of Windows without its drive's letter; any other text as it is."""
    return path[2:] if _DRIVE(path) else path


def _is_elsewhere(original: str, root: str) -> bool:
    return original.startswith("/") and without_links(original) != without_links(root)


def _is_writable(path: str) -> bool:
    name = to_bytes(path)
    if os.path.lexists(name):
        return os.access(name, os.W_OK)
    return os.access(os.path.dirname(name), os.W_OK)
