"""`whimbrel verify`: compare the answers of two configurations, or of one under two versions.

Exit codes: 0 same, but for what is cosmetic; 1 different; 2 wrong usage, or a configuration that does not
load; 3 not decided, or not ready for 2.4 although no answer differs.
"""

from __future__ import annotations

import os
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from whimbrel.base.builds import AUTO
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.cli.fleet import (
    MEGABYTES,
    SECONDS,
    Cluster,
    Fleet,
    FleetChoice,
    Jobs,
    Memory,
    Pages,
    Seconds,
    fleet_of,
    refuse,
    run_fleet,
)
from whimbrel.cli.fleet import NOTE as FLEET_NOTE
from whimbrel.cli.help import HelpCommand, epilog
from whimbrel.cli.next_commands import READ, after_verify, command_line, command_of, first_of
from whimbrel.cli.options import (
    After,
    Before,
    BuiltIn,
    Color,
    ColorMode,
    ConfigArguments,
    Defines,
    Envvars,
    File,
    Root,
    encoded,
    given_words,
    is_colored,
    sources,
    write_fragment_hints,
)
from whimbrel.cli.terminal import NoPager, write_bytes, write_page
from whimbrel.config.servers import why_no_server
from whimbrel.utilities.usage_error import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from whimbrel.config.options import LoadOptions
    from whimbrel.verify.side import Side
    from whimbrel.verify.verification import VerifyResult

SINGLE: Final = {"root": "-d", "file": "-f", "with_httpd": "--with-httpd", "backups": "--backups"}
"""Parameters that a fleet does not take, with their options."""
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
EPILOG: Final = epilog(
    {
        0: "same answers, but for what is cosmetic",
        1: "different answers",
        2: "wrong usage, or a configuration that does not load",
        3: "not decided, or not ready for 2.4: NEW does not start here, or leaves work to a person",
    },
    (
        "whimbrel verify /etc/httpd",
        "whimbrel verify old/httpd.conf new/httpd.conf --old-dialect 2.4",
        "whimbrel verify --fleet machines/ upgraded/",
    ),
    "OLD and NEW are main files or server roots. Without NEW, one text is compared under both versions. "
    "The options -d -f -C -c -D are httpd's and hold for both. "
    f"{FLEET_NOTE} A server that one side lacks is not decided.",
)


class ReportFormat(StrEnum):
    """Values of --format; each names its module of report.verification."""

    text = "text"
    json = "json"
    sarif = "sarif"
    html = "html"


class DialectName(StrEnum):
    """Values of --old-dialect and --new-dialect."""

    v22 = "2.2"
    v24 = "2.4"
    guide = "guide"


Old = Annotated[Path | None, typer.Argument(metavar="OLD", help="Main file or server root.")]
New = Annotated[Path | None, typer.Argument(metavar="NEW", help="The same of the other side. Default: OLD.")]
OldDialect = Annotated[
    DialectName, typer.Option(help="Read OLD as this version. Default: 2.2. Example: --old-dialect 2.4")
]
NewDialect = Annotated[
    DialectName, typer.Option(help="Read NEW as this version. Default: 2.4. Example: --new-dialect guide")
]
WithHttpd = Annotated[
    Path | None,
    typer.Option(
        metavar="PROGRAM",
        help="Ask this httpd 2.4 as well, started with NEW on a loopback port. Default: none. "
        "Example: --with-httpd /usr/sbin/apache2",
    ),
]
Backups = Annotated[
    bool,
    typer.Option(
        "--backups",
        help="Compare what `upgrade --write` replaced, as OLD, with what is there, as NEW. "
        "Default: compare OLD and NEW. Example: --backups -d /etc/httpd",
    ),
]
Shape = Annotated[
    ReportFormat, typer.Option("--format", help="Print in this format. Default: text. Example: --format json")
]
Limit = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Ask at most this many derived requests. Default: 40000, shared by all hosts. "
        "Example: --limit 2000",
    ),
]


@app.command(cls=HelpCommand, epilog=EPILOG)
def verify(
    context: typer.Context,
    old: Old = None,
    new: New = None,
    root: Root = None,
    file: File = None,
    before: Before = None,
    after: After = None,
    defines: Defines = None,
    envvars: Envvars = None,
    builtin: BuiltIn = AUTO,
    old_dialect: OldDialect = DialectName.v22,
    new_dialect: NewDialect = DialectName.v24,
    with_httpd: WithHttpd = None,
    backups: Backups = False,
    shape: Shape = ReportFormat.text,
    limit: Limit = None,
    color: Color = ColorMode.auto,
    no_pager: NoPager = False,
    fleet: Fleet = False,
    jobs: Jobs = 0,
    cluster: Cluster = "",
    pages: Pages = None,
    seconds: Seconds = SECONDS,
    memory: Memory = MEGABYTES,
) -> None:
    """Compare the answers of two configurations: access control exactly, everything else by requests."""
    from whimbrel.report.relative_paths import old_directory
    from whimbrel.upgrade.apply.journal import WriteError
    from whimbrel.verify.changed_after_upgrade import changed_after_upgrade
    from whimbrel.verify.texts_before_upgrade import texts_before_upgrade

    try:
        refuse(context, is_fleet=fleet, single=SINGLE)
        named = ConfigArguments(
            (), root, file, before or (), after or (), defines or (), envvars, True, builtin=builtin
        )
        dialects = old_dialect.value, new_dialect.value
        if fleet:
            following = command_line("verify", *given_words(context, READ | {"old_dialect", "new_dialect"}))
            choice = FleetChoice(
                jobs, cluster, pages, seconds, memory, shape.value, color, not no_pager, following
            )
            raise typer.Exit(_verify_fleet(old, new, named, dialects, limit, choice))
        first, directory = _options(old, named)
        second, top = (first, directory) if new is None else _options(new, named)
        if backups and new is not None:
            raise UsageError("--backups takes no NEW: it is what the upgrade wrote")
        if backups:
            first = replace(first, overlay={**first.overlay, **texts_before_upgrade(directory)})
        result = _run(first, second, dialects, with_httpd, limit)
        if backups:
            read = (*result.scope.files_read, *result.files)
            result.scope = result.scope.with_items(changed_after_upgrade(directory, read))
    except (UsageError, WriteError, OSError) as problem:
        os.write(2, encoded(f"{problem}\n"))
        raise typer.Exit(2) from None
    following = after_verify(context, (first, second), result, (old_dialect.value, new_dialect.value))
    directories = result.image or top, old_directory(directory, top, result.image)
    _print(result, shape, color, following, directories, may_page=not no_pager)
    write_fragment_hints([old, new], "whimbrel verify DIRECTORY")
    raise typer.Exit(result.verdict.value)


def _verify_fleet(
    old: Path | None,
    new: Path | None,
    named: ConfigArguments,
    dialects: tuple[str, str],
    limit: int | None,
    choice: FleetChoice,
) -> int:
    """Compare the servers of OLD with those of NEW by name, or with themselves; return the exit status."""
    from whimbrel.fleet.servers import fleet_pairs
    from whimbrel.fleet.tasks import VerifyTask

    servers = fleet_of([old] if old is not None else [])
    if new is not None:
        servers = fleet_pairs(servers, fleet_of([new]))
    task = VerifyTask(named, dialects, limit, choice.pages is not None)
    return run_fleet(task, servers, choice)


def _options(path: Path | None, named: ConfigArguments) -> tuple[LoadOptions, str]:
    """Return what is read for *path*, and the directory that it belongs to; raises UsageError for fragments
    and missing files.
    """
    if path is not None:
        root = None if path.is_dir() else named.root
        file = path if named.root is not None and path.is_file() else None
        named = replace(named, paths=[path], root=root, file=file)
    what, directory = sources(named)
    if what.options is None:
        raise UsageError(why_no_server(str(path)) if path is not None else "no main file of a server")
    return what.options, directory


def _run(
    first: LoadOptions,
    second: LoadOptions,
    dialects: tuple[str, str],
    with_httpd: Path | None,
    limit: int | None,
) -> VerifyResult:
    import gc

    from whimbrel.api.comparing import compare_options
    from whimbrel.cli.progress import ProgressBar

    gc.disable()  # configurations and plans are a million live objects
    with ProgressBar() as bar:
        bar.on_step("loading both configurations", 0, 0)
        result = compare_options((first, second), dialects, limit, bar.on_step)
        if with_httpd is not None and not result.errors[1]:
            from whimbrel.verify.loading import load_sides

            _, new = load_sides((first, second), dialects, result.names)  # httpd reads files at their places
            _add_httpd(with_httpd, new, result)
    return result


def _add_httpd(program: Path, new: Side, result: VerifyResult) -> None:
    from whimbrel.verify.real_server import compare_with_httpd

    compare_with_httpd(str(program), new, result)


def _print(
    result: VerifyResult,
    shape: ReportFormat,
    color: ColorMode,
    following: str,
    directories: tuple[str, str],
    *,
    may_page: bool,
) -> None:
    """Print the result; its places are below *directories*, those of the new and of the old side."""
    if shape is ReportFormat.html:
        from whimbrel.report.page.verify_page import verify_page
        from whimbrel.report.relative_paths import page_with_relative_places

        page = verify_page(result, command_of(following), first_of(following))
        write_page(page_with_relative_places(page, *directories))
        return
    render: Callable[..., str] = import_module(f"whimbrel.report.verification.{shape.value}").render
    if shape is ReportFormat.text:
        from whimbrel.report.relative_paths import with_relative_places

        text = with_relative_places(render(result, colored=is_colored(color)) + following, *directories)
        write_bytes(encoded(text, is_colored=is_colored(color)), may_page=may_page)
    else:
        write_bytes(render(result).encode(), may_page=False)
