"""The sources that httpd's options -d -f -C -c -D, or paths of files and directories, name."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from whimbrel.base.builds import AUTO, NAMES, WINDOWS
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import from_system, to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.printable import file_problem
from whimbrel.base.real_paths import without_links
from whimbrel.config.copied_paths import IN_PLACE, CopiedPaths
from whimbrel.config.server_paths import server_in, server_paths
from whimbrel.config.servers import FoundServer, fault_of, named_server
from whimbrel.config.service_settings import ServiceSettings, service_settings
from whimbrel.utilities.usage_error import UsageError

if TYPE_CHECKING:
    from whimbrel.upgrade.source.reading import Sources

HTACCESS: Final = ".htaccess"
MAX_NAMED: Final = 5
"""Servers below a directory that a message names."""


@dataclass(frozen=True, slots=True)
class ConfigArguments:
    """The words of a command line that name a configuration.

    Attributes:
        paths: main files, fragments, .htaccess files and directories, in place of *root* and *file*.
        root, file: httpd's -d and -f.
        before, after, defines: httpd's -C, -c and -D.
        envvars: the file of shell variables; None for that of the layout.
        as_server: a path is a whole server, whatever its content.
        builtin: the build of 2.4 whose modules and paths apply, or a file with the output of `httpd -l` of
            the server of 2.2.
    """

    paths: Sequence[Path] = ()
    root: Path | None = None
    file: Path | None = None
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    defines: Sequence[str] = ()
    envvars: Path | None = None
    as_server: bool = False
    builtin: str = AUTO


def why_unread(path: str) -> str:
    """Return why a file was not read, with the options that help; one that can be read was changed."""
    fault = fault_of(path)
    if not fault:
        return f"{path}: it was changed while the command read it\nhint: run the command again"
    if fault.endswith("Permission denied"):
        return f"{fault}\nhint: run the command as the owner of the file, or name a copy: -d COPY"
    return f"{fault}\nhint: name the directory of the server, or its main file: -d DIRECTORY -f FILE"


def sources(named: ConfigArguments) -> tuple[Sources, str]:
    """Return the sources to read, and the directory to which they belong; raises UsageError."""
    from whimbrel.config.options import LoadOptions
    from whimbrel.config.windows import SOURCE as WINNT_SOURCE
    from whimbrel.upgrade.source.built_in_modules import LISTED, listed_sources
    from whimbrel.upgrade.source.reading import Sources

    conf = named.paths
    root = named.root
    file = named.file
    fragments = [path for path in conf if path.is_file()]
    for path in conf:
        if not path.exists():
            raise UsageError(why_unread(str(path)))
    directories = [path for path in conf if path.is_dir()]
    is_relocated = root is None and file is None and bool(conf)
    if is_relocated:
        server = server_in(str(conf[0]), as_server=named.as_server)
        if server is None:
            _refuse_several(conf)
            return _fragments(conf, fragments, directories)
        fragments = [path for path in fragments if without_links(str(path)) != without_links(server.path)]
    else:
        main = os.path.abspath(file) if root is None and file is not None else str(file or "")
        server, is_relocated = named_server(str(root) if root is not None else "", main)
        if root is not None and file is None and not os.path.isfile(server.path):
            inner = server_in(str(root), as_server=True)  # as for a path: the tree of a server, copied
            if inner is None:
                _refuse_several([root])
            is_relocated = inner is not None
            server = inner or server
    if os.path.basename(server.path) == HTACCESS:
        raise UsageError(
            f"{server.path}: a .htaccess file is no main file: its server answers by it\n"
            f"hint: name the server: whimbrel verify DIRECTORY; of the file alone: whimbrel check "
            f"{shlex.quote(server.path)}"
        )
    top = server.root
    if not os.path.isdir(top):
        fault = f"{top}: {'not a directory' if os.path.exists(top) else 'no such directory'}"
        raise UsageError(f"{fault}\nhint: name the directory of the server: -d DIRECTORY")
    settings = _settings(server, named.envvars)
    listed = _listed(named.builtin)
    options = LoadOptions(
        server_root=from_system(top),
        file=from_system(server.file),
        build=_build_of(named.builtin, listed),
        is_build_of_24=listed is None,
        is_unix=listed is not None and WINNT_SOURCE not in listed,
        compiled_in=listed_sources(listed) if listed is not None else None,
        built_in_origin=LISTED if listed is not None else "",
        defines=_all([*named.defines, *settings.defines]),
        before=_all([*settings.before, *named.before]),
        after=_all([*settings.after, *named.after]),
        environment={from_system(key): from_system(value) for key, value in settings.environment.items()},
        undecided=tuple(settings.undecided),
        overlay=settings.overlay,
        service_files=_all(settings.files),
        generated=frozenset(settings.overlay),
        is_copy=is_relocated,
        copied=tuple((from_system(original), from_system(place)) for original, place in server.copied),
    )
    if not os.path.isfile(server.path):
        raise UsageError(why_unread(server.path))
    disk = CopiedPaths(options.server_root, options.copied) if is_relocated else IN_PLACE
    others = [_text(path) for path in fragments]
    others += [disk.openable(name) for directory in directories for name in _files(directory)]
    return Sources(
        options=options,
        fragments=tuple(dict.fromkeys(others)),
        is_relocated=is_relocated,
        built_in=listed,
    ), from_system(top)


def _refuse_several(conf: Sequence[Path]) -> None:
    """Raise UsageError for a directory with more than one server below it."""
    below, _others = server_paths(conf)
    if len(below) > 1:
        raise UsageError(
            f"{conf[0]}: {len(below)} servers are in there: {', '.join(map(str, below[:MAX_NAMED]))}"
            f"{', ...' if len(below) > MAX_NAMED else ''}\n"
            "hint: name one of them, or all with --fleet"
        )


def _fragments(conf: Sequence[Path], files: list[Path], directories: list[Path]) -> tuple[Sources, str]:
    from whimbrel.upgrade.source.reading import Sources

    named = [_text(path) for path in files] + [
        found for directory in directories for found in _files(directory)
    ]
    if not named:
        raise UsageError(
            f"{conf[0]}: no configuration in there\n"
            f"hint: name the main file of the server: -d {conf[0]} -f FILE, with FILE below the directory"
        )
    return Sources(fragments=tuple(dict.fromkeys(named))), _text(
        conf[0] if conf[0].is_dir() else conf[0].parent
    )


def _listed(builtin: str) -> frozenset[str] | None:
    """Return the source files of modules in the output of `httpd -l`; None for the name of a build. Raises
    UsageError.
    """
    if builtin in NAMES:
        return None
    try:
        found = frozenset(re.findall(r"\b\w+\.c\b", to_text(read_regular(os.fsencode(builtin)))))
    except OSError as problem:
        raise UsageError(
            f"--builtin {builtin}: {problem.strerror}, and no name of a build: {', '.join(NAMES)}"
        ) from None
    if not found:
        raise UsageError(f"--builtin {builtin}: no list of modules, as `httpd -l` prints it")
    return found


def _build_of(builtin: str, listed: frozenset[str] | None) -> str:
    """Return the name of the build of 2.4; a list of 2.2 tells of the system alone."""
    if listed is None:
        return builtin
    from whimbrel.config.windows import SOURCE as WINNT_SOURCE

    return WINDOWS if WINNT_SOURCE in listed else AUTO


def _all(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(from_system, lines))


def _text(path: Path) -> str:
    """Return the absolute path, one character per byte."""
    return from_system(os.path.abspath(path))


def _settings(server: FoundServer, envvars: Path | None) -> ServiceSettings:
    """Return what the service passes to httpd; raises UsageError for an unreadable file."""
    try:
        return service_settings(server, os.environ, os.path.abspath(envvars) if envvars is not None else "")
    except OSError as problem:
        raise UsageError(file_problem(problem)) from None


def _files(directory: Path) -> Iterator[str]:
    """Yield every configuration file below *directory*, in order."""
    for where, below, names in os.walk(to_bytes(_text(directory))):
        below.sort()
        in_sites = os.path.basename(where) in (b"sites-enabled", b"sites-available")
        for name in sorted(names):
            if name.endswith((b".conf", b".htaccess")) or (in_sites and not name.endswith((b"~", b".bak"))):
                yield to_text(os.path.join(where, name))
