"""The options of the commands that read a configuration: httpd's own -d, -f, -C, -c, -D, or files and folders.

Commands take the `Annotated` types below for their parameters and hand them to `sources`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from whimbrel.cli import places
from whimbrel.octets import from_system, raw, text

if TYPE_CHECKING:
    from whimbrel.upgrade.reading import Sources

Root = Annotated[Path | None, typer.Option("-d", metavar="DIRECTORY", help="The server root.")]
File = Annotated[Path | None, typer.Option("-f", metavar="FILE", help="The configuration file, taken from the server root.")]
Before = Annotated[list[str] | None, typer.Option("-C", metavar="DIRECTIVE", help="A directive to read before the file.")]
After = Annotated[list[str] | None, typer.Option("-c", metavar="DIRECTIVE", help="A directive to read after the file.")]
Defines = Annotated[list[str] | None, typer.Option("-D", metavar="NAME", help="Define a name for <IfDefine>.")]
Envvars = Annotated[Path | None, typer.Option("--envvars", help="Shell variables to read first; of a Debian folder its own envvars.")]
Conf = Annotated[list[Path] | None, typer.Argument(metavar="[CONF|FOLDER]...", help="Configurations, fragments, .htaccess files, folders.")]

MAINS: Final = ("conf/httpd.conf", "apache2.conf", "httpd.conf", "conf/apache2.conf")
MARKS: Final = (b"serverroot", b"loadmodule", b"listen")
"""A file with one of these lines is a server's configuration, not a fragment."""


class BadUse(Exception):
    """A command line that names nothing that can be read."""


def sources(conf: list[Path], root: Path | None, file: Path | None, before: list[str], after: list[str], defines: list[str], envvars: Path | None,
            ) -> tuple[Sources, str]:
    """What is to be read, and the folder that it belongs to; raises BadUse."""
    from whimbrel.config.options import LoadOptions
    from whimbrel.upgrade.reading import Sources

    moved, fragments = False, [path for path in conf if path.is_file()]
    for path in conf:
        if not path.exists():
            raise BadUse(f"{path}: No such file or directory")
    folders = [path for path in conf if path.is_dir()]
    if root is None and file is None and conf:
        main = _main(conf)
        if main is None:
            named = [_text(path) for path in fragments] + [found for folder in folders for found in _files(folder)]
            if not named:
                raise BadUse(f"{conf[0]}: no configuration in there")
            return Sources(fragments=tuple(dict.fromkeys(named))), _text(conf[0] if conf[0].is_dir() else conf[0].parent)
        root, file = main
        moved = conf[0].is_dir()
        fragments = [path for path in fragments if path.resolve() != file.resolve()]
    elif root is None and file is not None:
        root = _root_of(Path(os.path.abspath(file)))
        file = Path(os.path.abspath(file))
    top = places.root_of(str(root) if root is not None else "")
    if not os.path.isdir(top):
        raise BadUse(f"{top}: no such folder")
    options = LoadOptions(
        server_root=from_system(top), file=from_system(str(file) if file is not None else places.file_of(top)), defines=_all(defines),
        before=_all(before), after=_all(after), environment=_environment(envvars, top))
    full = os.path.join(top, str(file) if file is not None else places.file_of(top))
    if not os.path.isfile(full):
        raise BadUse(f"{full}: No such file or directory")
    others = [_text(path) for path in fragments] + [found for folder in folders for found in _files(folder)]
    return Sources(options=options, fragments=tuple(dict.fromkeys(others)), moved=moved), from_system(top)


def _all(lines: list[str]) -> tuple[str, ...]:
    return tuple(map(from_system, lines))


def _text(path: Path) -> str:
    """The absolute path, one character per byte."""
    return from_system(os.path.abspath(path))


def _environment(envvars: Path | None, root: str) -> dict[str, str]:
    given = places.envvars_of(str(envvars.resolve()) if envvars is not None else "", root)
    try:
        found = {**os.environ, **(places.read_envvars(given, root) if given else {})}
    except OSError as problem:
        raise BadUse(f"{problem.filename}: {problem.strerror}") from None
    return {from_system(key): from_system(value) for key, value in found.items()}


def _main(conf: list[Path]) -> tuple[Path, Path] | None:
    """Server root and main file, where the first argument is or holds a server's configuration."""
    first = conf[0]
    if first.is_file():
        return (_root_of(Path(os.path.abspath(first))), Path(os.path.abspath(first))) if _is_main(first) else None
    found = next((first / name for name in MAINS if (first / name).is_file()), None)
    return (first, found.absolute()) if found is not None else None


def _is_main(path: Path) -> bool:
    if "htaccess" in path.name:
        return False
    try:
        lines = path.read_bytes().lower().splitlines()
    except OSError:
        return False
    return any(line.lstrip().startswith(MARKS) for line in lines)


def _root_of(path: Path) -> Path:
    """The server root of a main file: its folder, or the one above a folder called conf."""
    return path.parent.parent if path.parent.name == "conf" else path.parent


def _files(folder: Path) -> Iterator[str]:
    """Every file below *folder* that looks like configuration, in order."""
    for where, below, names in os.walk(raw(_text(folder))):
        below.sort()
        in_sites = os.path.basename(where) in (b"sites-enabled", b"sites-available")
        for name in sorted(names):
            if name.endswith((b".conf", b".htaccess")) or (in_sites and not name.endswith((b"~", b".bak"))):
                yield text(os.path.join(where, name))
