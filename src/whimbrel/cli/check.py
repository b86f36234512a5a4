"""`whimbrel check`: report by file and line what an upgrade from httpd 2.2 to 2.4 changes in a configuration.

Exit codes: 0 nothing to do (notes at most); 1 findings; 2 wrong usage, or no file could be read; 3 no
findings, but something that may matter is not known.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from whimbrel.base.builds import AUTO
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.terminal_text import terminal_width
from whimbrel.cli.fleet import (
    MEGABYTES,
    SECONDS,
    Cluster,
    Fleet,
    FleetChoice,
    Memory,
    Pages,
    Seconds,
    fleet_of,
    refuse,
    run_fleet,
)
from whimbrel.cli.fleet import NOTE as FLEET_NOTE
from whimbrel.cli.help import HelpCommand, epilog
from whimbrel.cli.next_commands import NAMED, READ, command_line, loading_command, serving
from whimbrel.cli.one_file import explaining
from whimbrel.cli.options import (
    CARRIED,
    EXIT_FINDINGS,
    EXIT_OK,
    EXIT_USAGE,
    NOTE,
    After,
    AsServer,
    Before,
    BuiltIn,
    Color,
    ColorMode,
    Conf,
    ConfigArguments,
    Defines,
    Envvars,
    File,
    Ignore,
    Root,
    Select,
    Target,
    encoded,
    given_words,
    is_colored,
    release,
    sources,
)
from whimbrel.cli.parts_of_servers import server_of_part
from whimbrel.cli.terminal import NoPager, write_page, write_text
from whimbrel.utilities.usage_error import UsageError

if TYPE_CHECKING:
    from whimbrel.report.model import Report
    from whimbrel.upgrade.check.check import Selection
    from whimbrel.upgrade.model import UpgradeOptions
    from whimbrel.upgrade.source.reading import Sources

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


EPILOG: Final = epilog(
    {
        0: "nothing to do (notes at most)",
        1: "findings",
        2: "wrong usage, or no file could be read",
        3: "no findings, but something that may matter is not known",
    },
    (
        "whimbrel check -d /etc/httpd",
        "whimbrel check copy/of/apache2 --format html > report.html",
        "whimbrel check --fleet machines/ --pages report",
    ),
    f"{NOTE} {FLEET_NOTE}",
)
_PIECE: Final = 1 << 16
SINGLE: Final = {
    "root": "-d",
    "file": "-f",
    "as_server": "--whole",
    "baseline": "--baseline",
    "write_baseline": "--write-baseline",
    "config_nice": "--config-nice",
    "modules": "--modules",
    "htpasswd": "--htpasswd",
    "davlock": "--davlock",
}
"""Parameters that a fleet does not take, with their options."""


class Format(StrEnum):
    """Values of --format; each names its module of report.formats."""

    text = "text"
    json = "json"
    sarif = "sarif"
    github = "github"
    html = "html"
    junit = "junit"


Shape = Annotated[
    Format,
    typer.Option("--format", help="Print the report in this format. Default: text. Example: --format sarif"),
]
Baseline = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Skip the findings in FILE. Default: report all. Example: --baseline accepted.json",
    ),
]
WriteBaseline = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write all findings to FILE as a baseline. Default: none. "
        "Example: --write-baseline accepted.json",
    ),
]
SummaryFirst = Annotated[
    bool,
    typer.Option(
        "--summary",
        help="Print the table of counts above the findings too. Default: below them. Example: --summary",
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        "-j",
        "--jobs",
        min=0,
        help="Check many files or servers with N processes. Default: 0, one for each core. Example: -j 2",
    ),
]
ConfigNice = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Check the configure line in FILE. Default: none. Example: --config-nice build/config.nice",
    ),
]
ModuleFiles = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Check the module files in DIR. Default: none. Example: --modules /usr/lib/httpd/modules",
    ),
]
PasswordFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Check the password file FILE. Default: none. Example: --htpasswd conf/users"
    ),
]
LockFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Check the lock database FILE of mod_dav_fs. Default: none. Example: --davlock var/DavLock",
    ),
]


@app.command(cls=HelpCommand, epilog=EPILOG)
def check(
    context: typer.Context,
    conf: Conf = None,
    root: Root = None,
    file: File = None,
    before: Before = None,
    after: After = None,
    defines: Defines = None,
    envvars: Envvars = None,
    as_server: AsServer = False,
    builtin: BuiltIn = AUTO,
    target: Target = "2.4",
    shape: Shape = Format.text,
    select: Select = "",
    ignore: Ignore = "",
    baseline: Baseline = None,
    write_baseline: WriteBaseline = None,
    color: Color = ColorMode.auto,
    summary: SummaryFirst = False,
    no_pager: NoPager = False,
    jobs: Jobs = 0,
    config_nice: ConfigNice = None,
    modules: ModuleFiles = None,
    htpasswd: PasswordFile = None,
    davlock: LockFile = None,
    fleet: Fleet = False,
    cluster: Cluster = "",
    pages: Pages = None,
    seconds: Seconds = SECONDS,
    memory: Memory = MEGABYTES,
) -> None:
    """Report what an upgrade from 2.2 to 2.4 changes.

    A comment suppresses a finding on its line or below it: # whimbrel: ignore[C17]
    """
    from whimbrel.cli import check_sources
    from whimbrel.report import baselines
    from whimbrel.upgrade.check.check import UnknownRule, parse_selection
    from whimbrel.upgrade.check.fixpoint import RuleError
    from whimbrel.upgrade.model import UpgradeOptions

    lines = before or (), after or (), defines or ()
    named = ConfigArguments(conf or [], root, file, *lines, envvars, as_server, builtin)
    extra = {"config_nice": config_nice, "modules": modules, "htpasswd": htpasswd, "davlock": davlock}
    try:
        refuse(context, is_fleet=fleet, single=SINGLE)
        wanted = parse_selection(select, ignore)
        options = UpgradeOptions(target=release(target))
        if fleet:
            following = command_line("upgrade", "--fleet", *given_words(context, CARRIED))
            choice = FleetChoice(
                jobs, cluster, pages, seconds, memory, shape.value, color, not no_pager, following
            )
            raise typer.Exit(_check_fleet(named, wanted, options, choice))
        baselined = baselines.load(baseline) if baseline is not None else None
        given = {name: path for name, path in extra.items() if path is not None}
        report = check_sources.files_report(given)
        parts = []
        if conf or root is not None or file is not None or not given:
            parts = _parts(named)
            report.add(run_check(parts, wanted, jobs or os.cpu_count() or 1, options))
        if write_baseline is not None:
            baselines.save(report, write_baseline)
        if baselined is not None:
            baselines.remove_baselined(report, baselined)
    except (UsageError, RuleError, UnknownRule, baselines.BadBaseline, OSError) as problem:
        os.write(2, encoded(f"{problem}\n"))
        raise typer.Exit(EXIT_USAGE) from None
    are_servers = all(part.options for part, _ in parts)
    arguments = ["--fleet"] * (len(parts) > 1 and are_servers) + given_words(context, CARRIED)
    is_one_server = not given and len(parts) < 2 and are_servers
    of_server = given_words(context, READ | NAMED)
    compared = command_line("verify", *of_server) if is_one_server else ""
    backups = command_line("verify", "--backups", *of_server) if is_one_server else ""
    server = parts[0][0].options if is_one_server and parts else None
    tested = loading_command(context, server) if server is not None else ""
    served = serving(server) if server is not None else ""
    around = server_of_part(parts[0][0]) if len(parts) == 1 and not given else ""
    shows = explaining(context) if is_one_server else None
    output = _TextOutput(
        color, summary, not no_pager, arguments, compared, tested, backups, served, around, shows
    )
    _print_report(report, shape, output)
    if not report.files:
        raise typer.Exit(EXIT_USAGE)
    if report.findings and write_baseline is None:
        raise typer.Exit(EXIT_FINDINGS)
    raise typer.Exit(EXIT_OK if write_baseline is not None else report.scope.exit_code(EXIT_OK))


def _check_fleet(
    named: ConfigArguments, wanted: Selection, options: UpgradeOptions, choice: FleetChoice
) -> int:
    from whimbrel.fleet.tasks import CheckTask

    servers = fleet_of(list(named.paths))
    task = CheckTask(replace(named, paths=()), wanted, options, choice.pages is not None)
    return run_fleet(task, servers, choice)


def _parts(named: ConfigArguments) -> list[tuple[Sources, str]]:
    """Return the sources with their directories: one part for each server, one for all other files."""
    from whimbrel.config.server_paths import server_paths

    server_conf, loose_files = ([], named.paths) if named.as_server else server_paths(named.paths)
    groups = [[path] for path in server_conf]
    if loose_files or not groups:
        groups.append(list(loose_files))
    return [sources(replace(named, paths=paths)) for paths in groups]


def run_check(
    parts: list[tuple[Sources, str]], wanted: Selection, jobs: int, options: UpgradeOptions
) -> Report:
    """Return the report about *parts*; raises UsageError if no file can be read."""
    import gc

    from whimbrel.api.checking import add_link_texts, add_start_failure, check_parts
    from whimbrel.cli.progress import ProgressBar
    from whimbrel.upgrade.model import Risk
    from whimbrel.verify.copied_htaccess import as_copied, copies_item

    gc.disable()  # a configuration tree is a million live objects, which each collection would traverse
    parts = [(as_copied(what), directory) for what, directory in parts]
    with ProgressBar() as bar:
        report = check_parts(parts, wanted, jobs, bar.on_file, bar.on_step, options)
        found = parts[0][0].options if len(parts) == 1 else None
        item = copies_item(found) if found is not None else None
        report.scope = report.scope.with_items([item] if item is not None else [])
        if found is not None and add_link_texts(report):
            return report
        if found is not None and report.is_complete and report.by_risk().get(Risk.BREAKS):
            bar.on_step("loading the text under 2.4", 0, 0)
            add_start_failure(report, found)
        return report


def _print_report(report: Report, shape: Format, output: _TextOutput) -> None:
    report.next_command = output.next_command(report)
    if shape is Format.text:
        from whimbrel.report.formats.frames import FrameStyle
        from whimbrel.report.formats.text import render as render_text

        style = FrameStyle(terminal_width(), is_colored(output.color), report.names)
        text = render_text(
            report,
            style,
            summary_first=output.summary_first,
            next_command=report.next_command,
            explaining=output.explaining,
        )
        write_text(text, may_page=output.may_page)
        return
    if shape is Format.html:
        from whimbrel.report.page.check_page import check_page

        write_page(check_page(report))
        return
    if shape is Format.sarif:
        from whimbrel.upgrade.documents.explain import documents_of

        report.documents = documents_of({entry.rule for entry in report.entries})
    render: Callable[[Report], str] = import_module(f"whimbrel.report.formats.{shape.value}").render
    text = render(report)
    sys.stdout.flush()
    for at in range(0, len(text), _PIECE):
        sys.stdout.buffer.write(text_bytes(text[at : at + _PIECE], shape))
    sys.stdout.buffer.flush()


def text_bytes(text: str, shape: Format) -> bytes:
    """Encode a report: documents in UTF-8, which they declare; lines with the bytes that were read."""
    if shape in (Format.html, Format.junit, Format.json, Format.sarif):
        return text.encode()
    return encoded(text)


class _TextOutput(NamedTuple):
    """How a report is printed as text.

    Attributes:
        arguments: those of the command line that name the configuration.
        compared: the command that compares both versions of it, "" for what is no server.
        tested: the command that loads it under 2.4, "" for what is no server, or no server of its own.
        backups: the command that compares it with what an upgrade replaced; "" for what is no server.
        served: the command that serves it; "" for what is no server.
        around: the command that upgrades a file with the server around it; "" for none.
        explaining: makes the command that explains a place; None for what is no server.
    """

    color: ColorMode
    summary_first: bool
    may_page: bool
    arguments: list[str]
    compared: str
    tested: str
    backups: str
    served: str
    around: str
    explaining: Callable[[str], str] | None

    def next_command(self, report: Report) -> str:
        """Return the command that follows this report, "" for none."""
        from whimbrel.report.decisions import is_to_decide
        from whimbrel.report.formats.text import is_waiting_for_files
        from whimbrel.upgrade.model import Risk

        if report.fault or is_waiting_for_files(report):
            return command_line("check", *self.arguments)
        if self.around and report.findings:
            return self.around
        if any(entry.is_fixable for entry in report.entries):
            return command_line("upgrade", *self.arguments)
        breaking = [entry for entry in report.findings if entry.risk is Risk.BREAKS]
        is_upgraded = _is_upgraded(report.written_in)
        following = self.tested if report.is_of_24 else self.compared
        if is_upgraded:  # no answer was compared here, and the text of 2.2 is there
            following = self.backups
        if report.findings and (breaking or not following):
            first = min(report.findings, key=lambda entry: not is_to_decide(entry))
            of_place = self.explaining(first.place) if self.explaining and is_to_decide(first) else ""
            return of_place or f"whimbrel explain {first.rule}"
        return following or self.served


def _is_upgraded(directory: str) -> bool:
    """Return True if `upgrade --write` has changed the tree."""
    from whimbrel.upgrade.apply.journal import WriteError
    from whimbrel.upgrade.apply.transaction import saved

    try:
        return bool(saved(directory))
    except WriteError:
        return False
