"""Options for reading a configuration: those of httpd's command line that concern reading."""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.base.builds import ANY
from whimbrel.base.errors import MissingResource, UndecidedVariables
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.static_typing import Protocol
from whimbrel.directives.node import Node


class LineAdapter(Protocol):
    """Lines of a configuration as this machine needs them: other ports, places of files and users.

    Attributes:
        has_image: the places are those of an image of a machine, whose links lead from the image's own ``/``.
    """

    has_image: bool

    def arguments(self, node: Node) -> str:
        """Return the arguments that are executed in place of those of *node*."""

    def path(self, node: Node, path: str) -> str:
        """Return where the file or directory *path* (absolute) of *node* is."""

    def leaves_out(self, problem: MissingResource) -> bool:
        """Return True if the line that raised *problem* is left out on this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """httpd's ``-d -f -D -C -c -t`` and the environment of ``${NAME}`` and relative paths.

    All text has one character per byte.

    Attributes:
        file: absolute, or relative to the server root after the -C lines.
        check_only: ``-t``; `check_roots` is False for ``-T``, which checks no DocumentRoot.
        verbose: ``-e debug``.
        undecided: the parts of the file of variables that gave *environment* no value.
        overlay: contents of files that replace those on disk, by absolute path, as named or without links.
        copies: files that contents of *overlay* were read from, by the same paths.
        build: the build of httpd whose compiled-in modules and default paths apply (base/builds.py).
        is_build_of_24: *build* is that of the 2.4 of a comparison: the text shows the one of its 2.2.
        service_files: the files from which a service takes the environment and options, as they are here.
        generated: the files of *overlay* that the start script of a distribution writes, missing here.
        is_elsewhere: the server runs on another machine: a line that names a file, directory, library or user
            that is missing here is left out (`Configuration.missing`).
        is_copy: *server_root* has a copy of a server's files: Include reads paths below the ServerRoot of the
            text there.
        copied: directories of the text, and where the copy has them; the ServerRoot first. The place of ``/``
            is an image of the machine: all paths are those of the text, and files are opened there.
        adapter: changes lines as they are executed, those of .htaccess files too; None for none.
        stand_in_root: the root of another server, whose files are read where *server_root* lacks them; "" for
            none. *stand_in_image* is the image that it is in, with the documents that this one lacks.
        origins: layers and servers record the line that set each field (origins.py).
        compiled_in: source files of modules in a 2.2 binary beside those of *build*; None if unknown.
        built_in_origin: how *compiled_in* is known.
        is_unix: the binary is known to be none of Windows, whatever the paths of the text are.
        program: the name in messages (``apache2:``); "" for the dialect's default.
    """

    server_root: str
    file: str = "conf/httpd.conf"
    defines: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    check_only: bool = False
    check_roots: bool = True
    verbose: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    undecided: tuple[UndecidedVariables, ...] = ()
    overlay: Mapping[str, bytes] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)
    build: str = ANY
    compiled_in: frozenset[str] | None = None
    built_in_origin: str = ""
    is_build_of_24: bool = False
    is_unix: bool = False
    program: str = ""
    service_files: tuple[str, ...] = ()
    generated: frozenset[str] = frozenset()
    is_elsewhere: bool = False
    is_copy: bool = False
    copied: tuple[tuple[str, str], ...] = ()
    adapter: LineAdapter | None = None
    stand_in_root: str = ""
    stand_in_image: str = ""
    origins: bool = False

    @property
    def image(self) -> str:
        """Return the directory of a copy that stands for ``/``; "" for none."""
        return next((place for original, place in self.copied if original == "/"), "") if self.is_copy else ""

    def overlaid(self, path: str) -> bytes | None:
        """Return the content that replaces the file at *path*, a link to it too; None for none."""
        return overlaid(self.overlay, path)


def overlaid(overlay: Mapping[str, bytes], path: str) -> bytes | None:
    """Return the content that *overlay* has for the file at *path*, or for the one that it is a link to."""
    if not overlay:
        return None
    from whimbrel.base.real_paths import real_path  # few commands have an overlay

    found = overlay.get(path)
    return overlay.get(real_path(path)) if found is None else found


def with_real_paths(texts: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the content of files by path, as named and without links: a request may reach a file by another
    link than the one that was read."""
    from whimbrel.base.real_paths import RealPaths  # few commands have an overlay

    paths = RealPaths()
    return {**{paths.of(path): data for path, data in texts.items()}, **texts}
