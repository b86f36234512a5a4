"""The build of httpd that a configuration belongs to: named, or shown by its text.

`presumed_build` decides by the main file before it is executed. LoadModule lines may refute that: then the
text is read again with the other build, so that conditional sections see the modules which that build has.
"""

from __future__ import annotations

import os.path

from whimbrel.base.builds import AUTO, Build, presumed
from whimbrel.base.dialect import Dialect
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.layouts import DEBIAN, SHARED, UPSTREAM
from whimbrel.base.lazy_re import compile
from whimbrel.base.real_paths import real_path
from whimbrel.base.static_typing import TYPE_CHECKING
from whimbrel.catalogue.load import catalogue
from whimbrel.config.execute import root_relative
from whimbrel.config.options import LoadOptions

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration

DEBIAN_MODULES = "/usr/lib/apache2/modules/"
DEBIAN_BUILT_IN = frozenset(
    ("log_config_module", "logio_module", "unixd_module", "version_module", "watchdog_module")
)
_SERVER_ROOT = compile(rb"(?im)^[ \t]*ServerRoot[ \t]+(\"[^\"\r\n]*\"|[^\s\"]+)")


class BuildRefuted(Exception):
    """A line that shows another build than the presumed one."""

    def __init__(self, build: Build) -> None:
        super().__init__(build.name)
        self.build = build


def presumed_build(options: LoadOptions, dialect: Dialect) -> Build:
    """Return the build that *options* name, or the one that the main file shows before it is executed."""
    version = "2.2" if dialect.version < (2, 4) else "2.4"
    if options.build != AUTO and not (options.is_build_of_24 and version == "2.2"):
        return Build(options.build, version)
    path = root_relative(options.server_root, options.file)
    text = main_text_of(options)
    return presumed(version, paths_of(options.server_root, path, text), text, options.built_in_origin)


def main_text_of(options: LoadOptions) -> bytes:
    """Return the bytes of the main file as *options* have it; b"" if it cannot be read."""
    path = root_relative(options.server_root, options.file)
    text = options.overlaid(path)
    return main_text(path) if text is None else text


def main_text(path: str) -> bytes:
    """Return the bytes of the main file; b"" if it cannot be read, which the reader reports."""
    try:
        return read_regular(to_bytes(path))
    except OSError:
        return b""


def paths_of(root: str, file: str, text: bytes) -> tuple[str, ...]:
    """Return the paths that may show a layout: ServerRoot as named, that of the text, and the main file."""
    return root, server_root_of(text), file


def server_root_of(text: bytes) -> str:
    """Return the argument of the first ServerRoot line; "" without one."""
    found = _SERVER_ROOT.search(text)
    return found[1].strip(b'"').decode("latin-1") if found is not None else ""


def check_presumption(configuration: Configuration, name: str, path: str) -> None:
    """Raise BuildRefuted if LoadModule *name* *path* shows another build than the detected one."""
    build = configuration.build
    loaded = configuration.loaded_by_directive
    if not build.is_detected or build.version == "2.2":
        return
    if path.startswith(DEBIAN_MODULES) and build.name == UPSTREAM:
        raise BuildRefuted(build.as_build(DEBIAN, f"LoadModule of a file in {DEBIAN_MODULES}"))
    if build.is_guess and name in DEBIAN_BUILT_IN:
        raise BuildRefuted(build.as_build(SHARED, f"LoadModule {name}: Debian compiles it in"))
    row = catalogue(build.version).module(name)
    if row is None or row.kind != "mpm" or build.name == DEBIAN:
        return
    directory = root_relative(configuration.root, path).rpartition("/")[0]
    place = configuration.disk.on_disk(directory)
    leads_to = place.removeprefix(configuration.disk.image) if configuration.disk.image else real_path(place)
    if f"{leads_to}/" == DEBIAN_MODULES:  # in an image the modules themselves may be missing
        raise BuildRefuted(build.as_build(DEBIAN, f"{directory} leads to {leads_to}"))
    if lacks_module(place, "mod_log_config") and lacks_module(place, "mod_unixd"):
        raise BuildRefuted(build.as_build(DEBIAN, f"the modules of {directory}, without mod_unixd.so"))
    if build.name == SHARED:
        return
    if path.startswith("/") and DEBIAN_BUILT_IN.isdisjoint(identifier for identifier, _module in loaded):
        reason = f"modules of {directory} are loaded, and none of those that Debian compiles in"
        raise BuildRefuted(build.as_build(DEBIAN, reason, is_guess=True))
    raise BuildRefuted(build.as_build(SHARED, f"LoadModule {name}: the MPM is a shared module"))


def lacks_module(directory: str, file: str) -> bool:
    """Return True if *directory* (absolute) holds the modules of a 2.4, but not *file* (without ``.so``)."""
    has_modules = os.path.exists(to_bytes(f"{directory}/mod_authz_core.so"))
    return has_modules and not os.path.exists(to_bytes(f"{directory}/{file}.so"))
