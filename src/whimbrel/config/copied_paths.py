"""Paths of a configuration that lies elsewhere than its text states: a copy of a server's files.

A file of this machine is no part of a copy, even if the text names it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from whimbrel.base.accounts import all_users, user_named
from whimbrel.base.errors import SourceLocation
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import from_system, to_bytes, to_system, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from whimbrel.config.equal_file_times import EqualFileTimes

SYSTEM: Final = ("/dev/", "/proc/", "/sys/")
"""Directories that belong to the kernel: their paths are this machine's."""
MAX_LINKS: Final = 40
"""Symbolic links of one path, as Linux follows them."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """A file at *place* that is read for a missing one, which the line *name* at *line* names."""

    place: str
    line: SourceLocation
    name: str


class CopiedPaths:
    """Places of a server's directories in a copy.

    Attributes:
        root: the server root of the copy.
        declared_root: the ServerRoot of the text, or that of its layout; "" if none is known.
        image: the directory that stands for ``/``; "" where only a part was copied.
        equal_file_times: the times of documents in the copy that this one is compared with; None without one.
    """

    __slots__ = ("_places", "declared_root", "image", "root", "equal_file_times")

    def __init__(self, root: str, places: Sequence[tuple[str, str]]) -> None:
        self.root = root.rstrip("/")
        self.declared_root = places[0][0] if places else ""
        self._places = [(original.rstrip("/"), place.rstrip("/")) for original, place in places]
        self.image = next((place for original, place in self._places if not original), "")
        self.equal_file_times: EqualFileTimes | None = None

    @classmethod
    def links_of(cls, image: str) -> CopiedPaths:
        """Return places of paths that are in *image* already: only links are resolved."""
        places = cls("", ())
        places.image = image
        places.add("", image)
        return places

    def declare_root(self, path: str) -> None:
        """ServerRoot: *path* is where the text has the files of `root`, if nothing states another place."""
        self.declared_root = path
        if not self._found(path):
            self._places.append((path.rstrip("/"), self.root))

    def add(self, path: str, place: str) -> None:
        """Let the directory *path* of the text, which the copy lacks, be at *place*."""
        self._places.append((path.rstrip("/"), place.rstrip("/")))

    @property
    def is_text(self) -> bool:
        """Return True if paths are those of the text, which has another place for the files of `root`."""
        return bool(self.declared_root)

    @property
    def text_root(self) -> str:
        """Return the directory that relative paths of the text are below; "" without an image."""
        return self.declared_root.rstrip("/") if self.image else ""

    def place(self, path: str) -> str:
        """Return the location of *path*, "" if it lies outside of the copy."""
        declared = self.declared_root.rstrip("/")
        is_at_declared_root = (
            declared in ("", self.root) and len(self._places) < 2
        )  # no directory around it is elsewhere
        if not declared or is_at_declared_root or path == os.devnull:
            return path
        if f"{path}/".startswith(f"{self.root}/"):
            return self._found(declared + path[len(self.root) :]) or path
        if any(place and f"{path}/".startswith(f"{place}/") for _original, place in self._places):
            return path  # a line that was changed for the copy
        if self.image and f"{path}/".startswith(SYSTEM):
            return path
        return self._found(path)

    def on_disk(self, path: str, *, follow: bool = True) -> str:
        """Return the file to open for *path*: in an image its links are those of the machine, whose ``/`` is
        the image. *follow*: the last name may be a link, too. A path outside of a copy is returned as it is.
        """
        place = self.place(path) or path
        text = self._text_at(place) if self.image else ""
        return self._at(self._without_links(text, follow=follow)[0]) if text else place

    def openable(self, path: str) -> str:
        """Return the name under which this machine opens the file at *path*: as the copy has it, without
        links where one of them would lead out of the image.
        """
        place = self.place(path) or path
        text = self._text_at(place) if self.image else ""
        found, is_left = self._without_links(text, follow=True) if text else ("", False)
        return self._at(found) if is_left else place

    def text_of(self, path: str) -> str:
        """Return the path that the text of an image has for a file at *path*; one of the text is its own."""
        return self._text_at(self.place(path)) or path

    def is_directory(self, path: str) -> bool:
        """Return True if *path* of the text is a directory."""
        return os.path.isdir(to_bytes(self.on_disk(path)))

    def is_file(self, path: str) -> bool:
        """Return True if *path* of the text is a regular file."""
        return os.path.isfile(to_bytes(self.on_disk(path)))

    def exists(self, path: str) -> bool:
        """Return True if something has the name *path* of the text."""
        return os.path.lexists(to_bytes(self.on_disk(path, follow=False)))

    def names_in(self, directory: str) -> list[str]:
        """Return the sorted names in *directory* of the text; [] for one that cannot be read."""
        try:
            return sorted(map(to_text, os.listdir(to_bytes(self.on_disk(directory or "/")))))
        except OSError:
            return []

    def walk(self, top: str) -> Iterator[tuple[str, list[bytes], list[bytes]]]:
        """Yield the directories at and below *top* as os.walk does, under the names that the text has."""
        start = self.on_disk(top)
        for raw, below, names in os.walk(to_bytes(start)):
            yield top + to_text(raw).removeprefix(start), below, names

    def homes(self) -> list[tuple[str, str]]:
        """Return the users of the machine with their directories, by name: those of etc/passwd of an image,
        and without this file the names in its directory home.
        """
        if not self.image:
            return sorted((from_system(user.pw_name), from_system(user.pw_dir)) for user in all_users())
        try:
            lines = to_text(read_regular(to_bytes(self.on_disk("/etc/passwd")))).split("\n")
        except OSError:
            return [(name, f"/home/{name}") for name in self.names_in("/home")]
        entries = [line.split(":") for line in lines]
        return sorted({words[0]: words[5] for words in entries if len(words) > 5 and words[5]}.items())

    def home(self, user: str) -> str | None:
        """Return the directory of *user*; None for nobody of this name."""
        if self.image:
            return dict(self.homes()).get(user)
        try:
            return from_system(user_named(to_system(user)).pw_dir)
        except (KeyError, ValueError):
            return None

    def _found(self, path: str) -> str:
        best = -1
        result = ""
        for original, place in self._places:
            if len(original) > best and f"{path}/".startswith(f"{original}/"):
                best = len(original)
                result = place + path[len(original) :]
        return result

    def _at(self, text: str) -> str:
        """Return the place of an absolute path of the text in an image."""
        return text if f"{text}/".startswith(SYSTEM) else self._found(text)

    def _text_at(self, place: str) -> str:
        """Return the path that the text has for *place*; "" for one that no directory of the text has."""
        found = [(path, original) for original, path in self._places if f"{place}/".startswith(f"{path}/")]
        if not found:
            return ""
        path, original = max(found, key=lambda pair: len(pair[0]))
        return original + place[len(path) :] or "/"

    def _without_links(self, text: str, *, follow: bool) -> tuple[str, bool]:
        """Return *text* without symbolic links above its last name, with *follow* there too; and True if one
        of them leads out of the image on this machine.

        A link in an image that is absolute leads from the image, one with too many ``..`` ends there, as on
        the machine. A link that names a place of the copy was made for it. No more than `MAX_LINKS` links are
        followed.
        """
        waiting = text.split("/")[::-1]
        tail = "/" if text.endswith("/") and text.strip("/") else ""
        found: list[str] = []
        links = 0
        is_left = False
        while waiting:
            name = waiting.pop()
            if name in ("", "."):
                continue
            if name == "..":
                is_left = is_left or not found
                found = found[:-1]
                continue
            found.append(name)
            is_end = not any(waiting) and not (follow or tail)
            target = "" if is_end or links == MAX_LINKS else _link(self._at("/" + "/".join(found)))
            if target:
                links += 1
                found = [] if target.startswith("/") else found[:-1]
                inside = self._text_at(target)  # of a link that was made for the copy
                is_left = is_left or (target.startswith("/") and not inside)
                waiting += (inside or target).split("/")[::-1]
        return "/" + "/".join(found) + tail, is_left


IN_PLACE: Final = CopiedPaths("", ())
"""The places of a server that is no copy: every path is its own."""


def _link(path: str) -> str:
    """Return what the symbolic link *path* contains; "" for another file, and for none."""
    try:
        return to_text(os.readlink(to_bytes(path)))
    except (OSError, ValueError):
        return ""
