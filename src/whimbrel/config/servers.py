"""The server that a command line names: its root, main file and layout. One finder for all commands.

A file is a whole server if it has a ServerRoot line, or the name of a main file and a line that only main
files have. Every other file is a fragment: its modules and enclosing sections are unknown. A directory is a
server root, a directory conf, or an image of a machine with a server at a distribution's place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from stat import S_ISDIR, S_ISREG

from whimbrel.base.builds import Build
from whimbrel.base.latin1 import from_system
from whimbrel.base.layouts import DEBIAN_LAYOUT, LAYOUTS, UPSTREAM_LAYOUT, Layout, recognize
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.lazy_re import compile
from whimbrel.base.static_typing import Final
from whimbrel.config.detected_build import main_text, paths_of, server_root_of

MAINS: Final = (
    "conf/httpd.conf",
    "apache2.conf",
    "httpd.conf",
    "conf/apache2.conf",
    "etc/httpd.conf",
    "apache/conf/httpd.conf",
    "php/configuration/etc/conf/httpd_nolog.conf",
)
"""Main files below a server root, in the order of preference."""
NAMES: Final = frozenset({"httpd.conf", "httpd2.conf"})
"""Names of main files; Debian's apache2.conf is recognized by the files that it includes."""
_SERVER_LINES: Final = compile(
    rb"(?im)^[ \t]*(?:loadmodule|listen|pidfile|user|maxclients|maxrequestworkers)[ \t]"
)
_INCLUDED_MODULES: Final = compile(rb"(?im)^[ \t]*include(?:optional)?[ \t]+\S*mods-enabled/")
_INCLUDED: Final = compile(rb'(?im)^[ \t]*include(?:optional)?[ \t]+"?(?:/etc/apache2/)?([^\s"/*?$]+)')
"""The first part of the path of an included file, relative to the directory of Debian's server."""
_ELSEWHERE: Final = compile(r"[A-Za-z]:|.*\$\{")
"""A ServerRoot on a drive of Windows, or of a variable, whose value decides when the line is executed."""
MIN_COMMON: Final = 2
"""Last names that a ServerRoot and its copy have in common if the directory above was copied."""
NOT_FOUND: Final = "No such file or directory"
_VERSIONS: Final = "bin/apache"
"""Directory of WampServer with one directory for each version of httpd."""


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server on this machine, or a copy of one.

    Attributes:
        root: the server root, absolute; it replaces the ServerRoot that the text of a copy names.
        file: the main file, absolute or below *root*.
        layout: the distribution that its text or place shows; None if neither shows one.
        image: the directory of a copy that stands for ``/``; "" in place, and where only a part is copied.
        copied: directories of the text, and where the copy has them; () in place.
    """

    root: str
    file: str
    layout: Layout | None = None
    image: str = ""
    copied: tuple[tuple[str, str], ...] = ()

    @property
    def path(self) -> str:
        """Return the absolute path of the main file."""
        return os.path.join(self.root, self.file)


def server_of(root_option: str, file_option: str, build: Build | None = None) -> FoundServer:
    """Return the server of httpd's -d and -f, which may be ""; without both, this machine's.

    *build* is the one that the user named: its paths are the default, whatever the machine has.
    """
    is_named = build is not None and not build.loads_built_in
    if root_option:
        root = os.path.abspath(root_option)
        file = file_option or _file_below(root, build if is_named else None)
    elif file_option and os.path.isabs(file_option) and not is_named:
        layout = _layout_of(file_option, main_text(from_system(file_option)))
        inside = layout is not None and file_option.startswith(f"{layout.directory}/")
        root = layout.root if layout is not None and inside else directory_of(file_option)
        file = file_option
    elif is_named and build is not None:
        root = build.root
        file = file_option or _file_below(build.root, build)
    else:
        layout = machine_layout()
        root = layout.root
        file = file_option or _below(layout.root, layout.file)
    path = os.path.join(root, file)
    return FoundServer(root, file, _layout_of(path, main_text(from_system(path)), root))


def server_at(path: str, *, as_server: bool = False) -> FoundServer | None:
    """Return the server that *path* is or contains; None for a fragment. *as_server* accepts any file."""
    if os.path.isdir(path):
        found = (server_at(file, as_server=as_server) for file in _main_files(path))
        return next((server for server in found if server is not None), None)
    file = os.path.abspath(path)
    text = main_text(from_system(file))
    if not text and not os.access(file, os.R_OK):
        return None
    layout = _layout_of(file, text)
    server = _placed(file, text, layout)
    return server if as_server or _is_server(file, text, server.root) else None


def named_server(root_option: str, file_option: str) -> tuple[FoundServer, bool]:
    """Return the server of httpd's -d and -f, and True for a copy: its text names another ServerRoot, or its
    layout has another one. Files of this machine are no part of a copy.
    """
    server = server_of(root_option, file_option)
    text = main_text(from_system(server.path))
    if not (root_option or file_option) or not text:
        return server, False
    file = os.path.abspath(server.path)
    root = server.root if root_option else ""
    declared = server_root_of(text)
    placed = _placed(file, text, _layout_of(file, text), root)
    is_path = declared[:1] == "/"
    is_in_place = any(_contains(declared, path) for path in (file, root)) if is_path else not placed.copied
    if is_in_place and not _ELSEWHERE.match(declared):
        return server, False
    return placed, True


def why_no_server(path: str) -> str:
    """Return why `server_at` finds no server at *path*, and what to do."""
    try:
        is_directory = S_ISDIR(os.stat(path).st_mode)
        if is_directory:
            os.listdir(path)
    except OSError as problem:
        return f"{path}: {os.strerror(problem.errno or 0)}"
    for file in main_file_names(path) if is_directory else [path]:
        if os.path.lexists(file):
            unrecognized = "nothing in it shows a main file of httpd; give this path to read it as one"
            return fault_of(file) or f"{file}: {unrecognized}"
    fault = f"{path}: no main file of httpd in there, such as conf/httpd.conf or apache2.conf"
    return f"{fault}\nhint: name the main file itself: {os.path.join(path, 'FILE')}"


def main_file_names(directory: str) -> list[str]:
    """Return the paths at which a server in *directory* has its main file."""
    names = [os.path.join(directory, name) for name in MAINS]
    return [*names, *(directory + layout.file for layout in LAYOUTS)]


def fault_of(file: str) -> str:
    """Return why *file* cannot be read; "" for a regular file that can."""
    try:
        is_regular = S_ISREG(os.stat(file).st_mode)
    except FileNotFoundError:
        return f"{file}: {'a symbolic link that leads nowhere' if os.path.islink(file) else NOT_FOUND}"
    except OSError as problem:
        return f"{file}: {os.strerror(problem.errno or 0)}"
    if not is_regular:
        return f"{file}: not a regular file"
    return "" if os.access(file, os.R_OK) else f"{file}: Permission denied"


def machine_layout() -> Layout:
    """Return the layout of the server on this machine; httpd's own if there is none."""
    for layout in LAYOUTS:
        if os.path.isfile(layout.file) and _layout_of(layout.file, main_text(layout.file)) is layout:
            return layout
    return UPSTREAM_LAYOUT


def directory_of(file: str) -> str:
    """Return the server root of a main file: its directory, or the parent of a directory conf."""
    directory = os.path.dirname(file)
    return os.path.dirname(directory) if os.path.basename(directory) == "conf" else directory


def is_debian(root: str) -> bool:
    """Return True if *root* has the layout of Debian: apache2.conf, with its variables in envvars, or with
    files beside it that it includes.
    """
    main = os.path.join(root, "apache2.conf")
    return os.path.isfile(main) and (
        os.path.isfile(os.path.join(root, "envvars")) or _has_included(root, main_text(from_system(main)))
    )


def _has_included(root: str, text: bytes) -> bool:
    """Return True if an Include of *text* names what stands in *root*."""
    parts = (os.fsdecode(found[1]) for found in _INCLUDED.finditer(text))
    return any(os.path.exists(os.path.join(root, part)) for part in parts)


def _layout_of(file: str, text: bytes, root: str = "") -> Layout | None:
    found = recognize(paths_of(root or directory_of(file), file, text), text)
    return found.layout if found is not None else None


def _file_below(root: str, build: Build | None) -> str:
    """Return the configuration file below *root*: the named build's, else the one that exists."""
    has_upstream = os.path.isfile(os.path.join(root, "conf/httpd.conf"))
    if build is not None and (
        os.path.isfile(os.path.join(root, build.file)) or (build.layout is DEBIAN_LAYOUT and not has_upstream)
    ):
        return build.file
    if not has_upstream and is_debian(root):
        return "apache2.conf"
    if build is None and not has_upstream and os.path.isfile(os.path.join(root, "httpd.conf")):
        return "httpd.conf"
    return "conf/httpd.conf"


def _below(root: str, file: str) -> str:
    return file.removeprefix(f"{root}/")


def _main_files(directory: str) -> Iterator[str]:
    """Yield the main files that may make *directory* a server."""
    own = ("httpd.conf", "apache2.conf") if os.path.basename(directory) == "conf" else ()
    for name in (*own, *MAINS):
        if os.path.isfile(os.path.join(directory, name)):
            yield os.path.join(directory, name)
    versions = os.path.join(directory, _VERSIONS)
    if os.path.isdir(versions):
        for version in sorted(os.listdir(versions), reverse=True):
            if os.path.isfile(os.path.join(versions, version, "conf/httpd.conf")):
                yield os.path.join(versions, version, "conf/httpd.conf")
    for layout in LAYOUTS:
        if os.path.isfile(directory + layout.file):
            yield directory + layout.file


def _placed(file: str, text: bytes, layout: Layout | None, root: str = "") -> FoundServer:
    """Return the server of a main file: in place if the ServerRoot of the text contains it, else a copy.

    Of a copy the position of the file decides, unless *root* is given, and the place that its layout gives to
    the file.
    """
    declared = server_root_of(text)
    if declared.startswith("/") and _contains(declared, file):
        return FoundServer(declared, file, layout)
    position = root or directory_of(file)
    if layout is not None and file == layout.file:
        return FoundServer(layout.root, file, layout)
    original = declared if declared.startswith("/") or layout is None else layout.root
    moved = _moved(declared, position)
    image = "" if moved else _image_of(file, layout, position, original)
    if layout is None and not image and not moved:
        return FoundServer(position, file)
    if image and os.path.isdir(image + original):
        position = image + original
    places = [(original, position)]
    if layout is not None:
        places.append((layout.directory, os.path.dirname(file)))
    if image:
        places.append(("/", image))
    return FoundServer(position, file, layout, image, (*places, *moved))


def _moved(declared: str, position: str) -> tuple[tuple[str, str], ...]:
    """Return the directory of the text that was copied with the server in it, and the copy, as a pair in a
    tuple: ``/srv/site`` for the ServerRoot ``/srv/site/etc/httpd`` of a server in ``/copy/etc/httpd``.

    () for none: one common name such as ``httpd`` may be chance, and a copy of ``/`` is an image.
    """
    names = declared.rstrip("/").split("/")
    own = position.rstrip("/").split("/")
    count = 0
    while count < min(len(names), len(own)) and names[-1 - count] == own[-1 - count]:
        count += 1
    if declared[:1] != "/" or count < MIN_COMMON or count >= len(names) - 1:
        return ()
    original = "/".join(names[:-count])
    place = "/".join(own[:-count])
    return ((original, place),) if place and place != original else ()


def _image_of(file: str, layout: Layout | None, position: str, original: str) -> str:
    """Return the directory that stands for ``/`` in a copy, "" for none: the main file has the place that its
    layout gives to it, or *position* ends with *original*, the ServerRoot of the text.
    """
    if layout is not None and file.endswith(layout.file):
        return file.removesuffix(layout.file)
    if original.strip("/") and position.endswith(original.rstrip("/")):
        return position.removesuffix(original.rstrip("/"))
    return ""


def _contains(directory: str, path: str) -> bool:
    """Return True if *path*, which may be "", is *directory* or below it, links resolved."""
    from whimbrel.base.real_paths import without_links  # not needed by -t with -d and -f

    return bool(path) and f"{without_links(path)}/".startswith(f"{without_links(directory).rstrip('/')}/")


def _is_server(file: str, text: bytes, root: str) -> bool:
    name = os.path.basename(file)
    if "htaccess" in name:
        return False
    if _INCLUDED_MODULES.search(text):
        # Debian's main file is incomplete without the files beside it; a copy may lack some of them
        return os.path.isdir(os.path.join(root, "mods-enabled")) or is_debian(root)
    if server_root_of(text) or (name == "apache2.conf" and is_debian(root)):
        return True
    return name.lower() in NAMES and (
        _SERVER_LINES.search(text) is not None or recognize((), text) is not None
    )
