"""`--fleet` of check, upgrade and verify: many servers at once, and one report."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from whimbrel.base.latin1 import from_system
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.printable import file_problem
from whimbrel.base.terminal_text import terminal_width
from whimbrel.cli.interrupts import EXIT_INTERRUPTED
from whimbrel.cli.next_commands import quoted_words
from whimbrel.cli.options import ColorMode, given_words, is_colored
from whimbrel.cli.terminal import write_bytes, write_page, write_text
from whimbrel.utilities.usage_error import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from whimbrel.base.file_writing import Tree
    from whimbrel.fleet.model import FleetReport, ServerResult
    from whimbrel.fleet.servers import FleetServer
    from whimbrel.fleet.tasks import FleetTask

SECONDS: Final = 300.0
"""Seconds for one server."""
MEGABYTES: Final = 2048
"""Memory for one server."""
ONLY_FLEETS: Final = frozenset(("cluster", "pages", "seconds", "memory"))
"""The parameters that hold for --fleet alone."""
NOTE: Final = (
    "With --fleet each sub-directory, or line of a list (a tree or main file, then a name), is a server; "
    "the exit code is that of the worst: 2, 1, 3, 0."
)

Fleet = Annotated[
    bool,
    typer.Option(
        "--fleet",
        help="Take many servers at once: each path is a directory with a sub-directory for each server, or "
        "a list of trees and main files. Default: one server. Example: --fleet machines/",
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        "-j",
        "--jobs",
        min=0,
        help="Work on the servers of --fleet with N processes. Default: 0, one for each core. Example: -j 2",
    ),
]
Cluster = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="Work on the servers of --fleet on the Dask cluster at ADDRESS. Default: this machine. "
        "Example: --cluster tcp://10.0.0.1:8786",
    ),
]
Pages = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Write the page of the fleet to DIR/index.html, and one for each server below DIR/servers. "
        "Default: none. Example: --pages report",
    ),
]
Seconds = Annotated[
    float,
    typer.Option(
        "--server-seconds",
        min=0.1,
        metavar="N",
        show_default=False,
        help="Give up a server of --fleet after N seconds: it is not decided. Default: 300. "
        "Example: --server-seconds 60",
    ),
]
Memory = Annotated[
    int,
    typer.Option(
        "--server-memory",
        min=64,
        metavar="MB",
        show_default=False,
        help="Give up a server of --fleet that needs more than MB megabytes. Default: 2048. "
        "Example: --server-memory 512",
    ),
]


class FleetFormat(StrEnum):
    """Values of --format with --fleet; each names its module of fleet.formats."""

    text = "text"
    json = "json"
    html = "html"


@dataclass(frozen=True, slots=True)
class FleetChoice:
    """What the command line says about a fleet and its report.

    Attributes:
        jobs: the processes, 0 for one on each core.
        memory: in megabytes.
        shape: the name of a format of the command.
        following: the command that comes next if there is something to do, "" for none; for `verify` without
            the server.
    """

    jobs: int
    cluster: str
    pages: Path | None
    seconds: float
    memory: int
    shape: str
    color: ColorMode = ColorMode.auto
    may_page: bool = False
    following: str = ""


def refuse(context: typer.Context, *, is_fleet: bool, single: Mapping[str, str]) -> None:
    """Raise UsageError for parameters that hold for one server alone (*single*: with their options), or for a
    fleet alone.
    """
    for name, option in single.items() if is_fleet else ():
        if given_words(context, (name,)):
            raise UsageError(f"--fleet takes no {option}: that is of one server")
    words = [] if is_fleet else given_words(context, ONLY_FLEETS)
    if words:
        raise UsageError(f"{words[0]} needs --fleet")


def fleet_of(paths: list[Path]) -> list[FleetServer]:
    """Return the servers that *paths* name; raises UsageError."""
    from whimbrel.fleet.servers import fleet_servers

    if not paths:
        raise UsageError("--fleet needs a directory of servers, or a list of them: --fleet DIR")
    return fleet_servers([str(path) for path in paths])


def run_fleet(
    task: FleetTask, servers: list[FleetServer], choice: FleetChoice, out: Path | None = None
) -> int:
    """Work on all servers and print the report; return the exit status. Raises UsageError, OSError.

    *out* is a directory that the task writes to.
    """
    from whimbrel.base.extras import not_installed
    from whimbrel.cli.progress import ProgressBar
    from whimbrel.fleet.pool import ServerLimits
    from whimbrel.fleet.run import FleetOptions
    from whimbrel.fleet.run import run_fleet as run
    from whimbrel.replay.local import processors

    if choice.shape not in list(FleetFormat):
        raise UsageError(f"--fleet: no --format {choice.shape}; there are {', '.join(FleetFormat)}")
    if task.writes and choice.cluster:
        raise UsageError("--cluster writes no files: leave out --write and --out, or --cluster")
    limits = ServerLimits(choice.seconds, choice.memory << 20)
    options = FleetOptions(choice.jobs or processors(), choice.cluster, limits)
    if out is not None:
        _require_empty(out)
    pages = _PageDirectory(choice.pages) if choice.pages is not None else None
    with ProgressBar() as bar:
        try:
            report = run(task, servers, options, bar.on_step, pages.add if pages is not None else _no_page)
        except ImportError:
            raise UsageError(not_installed("--cluster", "cluster")) from None
    following = _following(report, servers, choice.following)
    if pages is not None:
        pages.end(report, following)
    _print(report, choice, following, has_problem=pages is not None and pages.problem is not None)
    if pages is not None and pages.problem is not None:
        raise UsageError(file_problem(pages.problem))
    if report.is_interrupted:
        if choice.shape != FleetFormat.text or not sys.stdout.isatty():  # else the terminal has the sentence
            done = f"{len(report.servers):,} of {report.total:,} servers are finished"
            os.write(2, f"interrupted: {done}\n".encode())
        return EXIT_INTERRUPTED
    return report.exit_code()


def _require_empty(directory: Path) -> Tree:
    """Return the tree of a directory that is new or empty; raises UsageError, OSError."""
    from whimbrel.base.file_writing import Tree

    tree = Tree.create(os.fsencode(directory))
    if not tree.is_empty():
        name = from_system(str(directory))
        raise UsageError(f"{name} is not empty\nhint: remove it first, or name another directory")
    return tree


def _no_page(_result: ServerResult) -> None:
    """Drop the page."""


def _print(report: FleetReport, choice: FleetChoice, following: str, *, has_problem: bool) -> None:
    """Print the report; *has_problem*: not all pages were written."""
    if choice.shape == FleetFormat.text:
        from whimbrel.fleet.formats.text import render as render_text
        from whimbrel.report.formats.frames import FrameStyle

        style = FrameStyle(terminal_width(), is_colored(choice.color), report.names)
        index = from_system(str(choice.pages / "index.html")) if choice.pages is not None else ""
        text = render_text(report, style, following, index="" if has_problem else index)
        write_text(text, may_page=choice.may_page and not report.is_interrupted)
        return
    if choice.shape == FleetFormat.html:
        from whimbrel.fleet.page import fleet_page

        write_page(fleet_page(report, following))
        return
    render: Callable[[FleetReport, str], str]
    render = import_module(f"whimbrel.fleet.formats.{choice.shape}").render
    write_bytes(render(report, following).encode(), may_page=False)


def _following(report: FleetReport, servers: list[FleetServer], command: str) -> str:
    """Return the command that comes next, "" where no server leaves anything to do.

    *command* is that for the fleet; behind a comparison it takes the server that differs most.
    """
    if report.command != "verify":
        return command if any(server.code == 1 or server.changed for server in report.servers) else ""
    left = [one for one in report.servers if one.code in (1, 3) and not one.fault]
    if not left:
        return ""
    worst = min(left, key=lambda server: server.work())
    sides = next((one.path, one.new) for one in servers if from_system(one.name) == worst.name)
    return f"{command} {quoted_words(*filter(None, sides))}"


class _PageDirectory:
    """The directory of --pages, new or empty; raises UsageError.

    Attributes:
        problem: why no further page is written; the report on the terminal goes on.
    """

    def __init__(self, path: Path) -> None:
        self.problem: OSError | None = None
        self._path = path
        self._tree = _require_empty(path)

    def add(self, result: ServerResult) -> None:
        """Write the page of a server."""
        from whimbrel.fleet.page import page_name

        self._write(page_name(result), result.page)

    def end(self, report: FleetReport, following: str) -> None:
        """Write the page of the fleet; *following* is the command that comes next."""
        from whimbrel.fleet.formats.html import render

        self._write(b"index.html", render(report, following))

    def _write(self, name: bytes, text: str) -> None:
        path = os.path.join(os.fsencode(self._path), name)
        if self.problem is not None:
            return
        try:
            with self._tree.place(path, create=True, follow=False) as place:
                place.replace(text.encode())
        except OSError as problem:
            self.problem = problem
