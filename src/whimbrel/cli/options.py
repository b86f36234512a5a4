"""Options of the commands that read a configuration: httpd's own -d, -f, -C, -c, -D, or files and
directories.

Commands use the `Annotated` types below for their parameters and pass the values to `sources`
as ConfigArguments.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Container, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, TextIO

import typer

from whimbrel.base.builds import NAMES as BUILDS
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.printable import printable, printable_line
from whimbrel.upgrade.source.named_sources import ConfigArguments as ConfigArguments
from whimbrel.upgrade.source.named_sources import sources as sources
from whimbrel.utilities.usage_error import UsageError

EXIT_OK = 0
EXIT_FINDINGS = 1
EXIT_USAGE = 2
EXIT_REVIEW = 3
# Nothing to do, or done; findings, changes or differences; wrong usage or unreadable input; needs review.

CARRIED: Final = frozenset(
    (
        *("conf", "root", "file", "before", "after", "defines", "envvars", "as_server", "builtin", "target"),
        *("select", "ignore"),
    )
)
"""The parameters of `check` that `upgrade` has too: they name the configuration and the rules."""
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
BuiltIn = Annotated[
    str,
    typer.Option(
        "--builtin",
        metavar="BUILD|FILE",
        help="Take the compiled-in modules of this build of 2.4, or those of the 2.2 server from FILE, the "
        f"output of `httpd -l`. Builds: {', '.join(BUILDS)}. Default: auto, as the text shows. "
        "Example: --builtin modules.txt",
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


def write_fragment_hints(paths: Iterable[Path | None], command: str) -> None:
    """Say on standard error which files `whimbrel check` takes for a part of a configuration, and the
    *command* for their server.
    """
    from whimbrel.config.servers import server_at

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


def given_names(context: typer.Context) -> frozenset[str]:
    """Return the names of the parameters that the command line gives."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return frozenset(name for name, found in sources.items() if found and found.name == "COMMANDLINE")


def words_of(context: typer.Context, name: str) -> list[str]:
    """Return the words of the parameter *name*: a choice is a word in the context, and a member of its
    enumeration where it is the default.
    """
    value = context.params.get(name)
    if value is None:
        return []
    several = value if isinstance(value, list | tuple) else [value]
    return [str(getattr(one, "value", one)) for one in several]


def given_words(context: typer.Context, names: Container[str], *, without: Container[str] = ()) -> list[str]:
    """Return the words of the command line that give the parameters *names*: options, then arguments, but for
    those in *without*.
    """
    options: list[str] = []
    arguments: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if name not in names or source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[name]
        values = words_of(context, name)
        if parameter.param_type_name == "argument":
            arguments += [one for one in values if one not in without]
        elif isinstance(value, bool):
            options += (parameter.opts if value else parameter.secondary_opts)[:1]
        else:
            options += [word for one in values for word in (parameter.opts[0], one)]
    return [*options, *arguments]
