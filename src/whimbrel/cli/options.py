"""Options of the commands that read a configuration: httpd's own -d, -f, -C, -c, -D, or files and
directories.

Commands use the `Annotated` types below for their parameters and pass the values to `sources`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TextIO

import typer

from whimbrel.base.builds import AUTO
from whimbrel.base.builds import NAMES as BUILDS
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import from_system, to_bytes, to_text
from whimbrel.base.printable import file_problem, printable, printable_line
from whimbrel.base.real_paths import without_links
from whimbrel.cli.servers import FoundServer, fault_of, server_at, server_of
from whimbrel.cli.service_settings import ServiceSettings, service_settings
from whimbrel.utilities.usage_error import UsageError

if TYPE_CHECKING:
    from whimbrel.upgrade.source.reading import Sources

EXIT_OK = 0
EXIT_FINDINGS = 1
EXIT_USAGE = 2
EXIT_REVIEW = 3
# Nothing to do, or done; findings, changes or differences; wrong usage or unreadable input; needs review.

NOTE: Final = "The options -d -f -C -c -D are httpd's; files and directories can stand in their place."


class ColorMode(StrEnum):
    """Values of --color."""

    auto = "auto"
    always = "always"
    never = "never"


def is_colored(mode: ColorMode, stream: TextIO | None = None) -> bool:
    """Return True if *stream*, standard output unless given, is to be colored.

    auto: on a terminal that is not dumb, or if FORCE_COLOR is set; never if NO_COLOR is set.
    """
    if mode is ColorMode.auto:
        if os.environ.get("NO_COLOR"):
            return False
        has_colors = (stream or sys.stdout).isatty() and os.environ.get("TERM") != "dumb"
        return has_colors or bool(os.environ.get("FORCE_COLOR"))
    return mode is ColorMode.always


def encoded(text: str, *, is_colored: bool = False) -> bytes:
    """Encode a message: paths and lines of a configuration as the bytes that were read, all else in UTF-8."""
    text = printable(text, is_colored=is_colored)
    try:
        return to_bytes(text)
    except UnicodeEncodeError:
        return text.encode()


def echo_line(text: str, *, is_error: bool = False) -> None:
    """Print one line of text that has one character per byte: the bytes of its names are those on disk.

    A name in Python's own decoding goes through `from_system` first: one rule finds control characters.
    """
    typer.echo(encoded(printable_line(text)), err=is_error)


Root = Annotated[
    Path | None,
    typer.Option(
        "-d",
        metavar="DIRECTORY",
        help="Read the server below DIRECTORY. Default: this machine's. Example: -d /etc/httpd",
    ),
]
File = Annotated[
    Path | None,
    typer.Option(
        "-f",
        metavar="FILE",
        help="Read FILE, relative to the server root, as the main file. Default: conf/httpd.conf. "
        "Example: -f conf/a.conf",
    ),
]
Before = Annotated[
    list[str] | None,
    typer.Option(
        "-C",
        metavar="DIRECTIVE",
        help="Read DIRECTIVE before the main file. Default: none. Example: -C 'Listen 80'",
    ),
]
After = Annotated[
    list[str] | None,
    typer.Option(
        "-c",
        metavar="DIRECTIVE",
        help="Read DIRECTIVE after the main file. Default: none. Example: -c 'KeepAlive Off'",
    ),
]
Defines = Annotated[
    list[str] | None,
    typer.Option("-D", metavar="NAME", help="Define NAME for <IfDefine>. Default: none. Example: -D SSL"),
]
Envvars = Annotated[
    Path | None,
    typer.Option(
        "--envvars",
        help="Read shell variables from FILE first. Default: Debian's envvars. Example: --envvars envvars",
    ),
]
Build = Annotated[
    str,
    typer.Option(
        "--builtin",
        metavar="BUILD",
        help=f"Take the compiled-in modules and paths of this build of 2.4: {', '.join(BUILDS)}. "
        "Default: auto, as the text shows. Example: --builtin debian",
    ),
]
AsServer = Annotated[
    bool,
    typer.Option(
        "--whole",
        help="Read the file or directory as a whole server, not as a fragment. Default: by its content. "
        "Example: --whole main.conf",
    ),
]
BuiltIn = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Read the modules that the 2.2 server has compiled in from FILE, the output of "
        "`httpd -l`. Default: derived from the configuration. Example: --built-in modules.txt",
    ),
]
Target = Annotated[
    str,
    typer.Option(
        metavar="2.4.N",
        help="Write for this release and leave out what it does not know. Default: 2.4, the newest. "
        "Example: --target 2.4.58",
    ),
]
Select = Annotated[
    str,
    typer.Option(
        metavar="C17,...", help="Apply only these rules. Default: all rules. Example: --select C17,X01"
    ),
]
Ignore = Annotated[
    str, typer.Option(metavar="C17,...", help="Skip these rules. Default: none. Example: --ignore C52")
]
Color = Annotated[
    ColorMode, typer.Option(help="Color the output. Default: auto, on a terminal. Example: --color never")
]
Conf = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="CONF|DIRECTORY",
        help="Main files, fragments, .htaccess files, directories. Default: this machine's server.",
    ),
]


def build_name(name: str) -> str:
    """Return the value of --builtin; raises UsageError."""
    if name not in BUILDS:
        raise UsageError(f"--builtin {name}: not one of {', '.join(BUILDS)}")
    return name


def why_unread(path: str) -> str:
    """Return why a file was not read, with the options that help; one that can be read was changed."""
    fault = fault_of(path)
    if not fault:
        return f"{path}: it was changed while the command read it\nhint: run the command again"
    if fault.endswith("Permission denied"):
        return f"{fault}\nhint: run the command as the owner of the file, or name a copy: -d COPY"
    return f"{fault}\nhint: name the directory of the server, or its main file: -d DIRECTORY -f FILE"


def write_fragment_hints(paths: Iterable[Path | None], command: str) -> None:
    """Say on standard error which files `whimbrel check` takes for a part of a configuration, and the
    *command* for their server.
    """
    for path in dict.fromkeys(paths):
        if path is not None and path.is_file() and server_at(str(path)) is None:
            text = f"{path}: a fragment, which was read as a whole server\n"
            os.write(2, encoded(f"{text}hint: name the server that includes it: {command}\n"))


def release(target: str) -> int:
    """Return the N of 2.4.N, the newest for 2.4; raises UsageError."""
    from whimbrel.upgrade.model import NEWEST

    found = re.fullmatch(r"2\.4(?:\.(\d+))?", target)
    if found is None:
        raise UsageError(f"--target {target}: not a release of 2.4, such as 2.4.58")
    return int(found[1]) if found[1] else NEWEST


def sources(
    conf: list[Path],
    root: Path | None,
    file: Path | None,
    before: list[str],
    after: list[str],
    defines: list[str],
    envvars: Path | None,
    as_server: bool = False,
    built_in: Path | None = None,
    build: str = AUTO,
) -> tuple[Sources, str]:
    """Return the sources to read, and the directory to which they belong; raises UsageError."""
    from whimbrel.config.options import LoadOptions
    from whimbrel.upgrade.source.reading import Sources

    fragments = [path for path in conf if path.is_file()]
    for path in conf:
        if not path.exists():
            raise UsageError(why_unread(str(path)))
    directories = [path for path in conf if path.is_dir()]
    is_relocated = root is None and file is None and bool(conf)
    if is_relocated:
        server = server_at(str(conf[0]), as_server=as_server)
        if server is None:
            return _fragments(conf, fragments, directories)
        fragments = [path for path in fragments if without_links(str(path)) != without_links(server.path)]
    else:
        named = os.path.abspath(file) if root is None and file is not None else str(file or "")
        server = server_of(str(root) if root is not None else "", named)
    top = server.root
    if not os.path.isdir(top):
        fault = f"{top}: {'not a directory' if os.path.exists(top) else 'no such directory'}"
        raise UsageError(f"{fault}\nhint: name the directory of the server: -d DIRECTORY")
    settings = _settings(server, envvars)
    options = LoadOptions(
        server_root=from_system(top),
        file=from_system(server.file),
        build=build,
        defines=_all([*defines, *settings.defines]),
        before=_all([*settings.before, *before]),
        after=_all([*settings.after, *after]),
        environment={from_system(key): from_system(value) for key, value in settings.environment.items()},
        undecided=tuple(settings.undecided),
        overlay=settings.overlay,
        is_copy=is_relocated,
        copied=tuple((from_system(original), from_system(place)) for original, place in server.copied),
    )
    if not os.path.isfile(server.path):
        raise UsageError(why_unread(server.path))
    others = [_text(path) for path in fragments] + [
        file_found for directory in directories for file_found in _files(directory)
    ]
    return Sources(
        options=options,
        fragments=tuple(dict.fromkeys(others)),
        is_relocated=is_relocated,
        built_in=_listed(built_in),
    ), from_system(top)


def _fragments(conf: list[Path], files: list[Path], directories: list[Path]) -> tuple[Sources, str]:
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


def _listed(path: Path | None) -> frozenset[str] | None:
    """Return the source files of modules in the output of `httpd -l`; None if no file is given."""
    if path is None:
        return None
    try:
        found = frozenset(re.findall(r"\b\w+\.c\b", to_text(read_regular(bytes(path)))))
    except OSError as problem:
        raise UsageError(f"{path}: {problem.strerror}") from None
    if not found:
        raise UsageError(f"{path}: no list of modules, as `httpd -l` prints it")
    return found


def _all(lines: list[str]) -> tuple[str, ...]:
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
