"""`whimbrel replay`: send logged requests through two configurations and report what changes.

Exit codes: 0 nothing changes, but for what is cosmetic; 1 answers change, or a configuration does not load;
2 wrong usage, or a log that cannot be read; 3 nothing changes in what is known, but something that may matter
is not known or left to a person, the new server does not start here, or no request was replayed.
"""

from __future__ import annotations

import json
import re
import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from whimbrel.base.dialect import V22, V24
from whimbrel.base.extras import not_installed
from whimbrel.base.latin1 import from_system
from whimbrel.base.printable import file_problem, printable
from whimbrel.cli.help import HelpCommand, epilog
from whimbrel.cli.next_commands import after_replay, command_of, first_of, live_command
from whimbrel.cli.options import (
    EXIT_FINDINGS,
    EXIT_OK,
    EXIT_REVIEW,
    EXIT_USAGE,
    ConfigArguments,
    Defines,
    sources,
    write_fragment_hints,
)
from whimbrel.cli.terminal import NoPager, write_page, write_text
from whimbrel.utilities.usage_error import UsageError

if TYPE_CHECKING:
    from whimbrel.directives.node import Node
    from whimbrel.replay.local import Progress
    from whimbrel.replay.summary import Summary
    from whimbrel.replay.tally import Tally
    from whimbrel.replay.work import Replayer, ReplayWork, SideOptions
    from whimbrel.upgrade.knowledge.scope import KnowledgeScope
    from whimbrel.verify.side import Side

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
EPILOG: Final = epilog(
    {
        0: "nothing changes, but for what is cosmetic",
        1: "answers change, or a configuration does not load",
        2: "wrong usage, or a log that cannot be read",
        3: "nothing changes in what is known, but something that may matter is not known or to decide, "
        "or the new server does not start here",
    },
    (
        "whimbrel replay access_log --new /etc/httpd",
        "zcat logs/*.gz | whimbrel replay - --old old/httpd.conf --new new/httpd.conf",
    ),
    "A LOG of - is standard input. Files may be compressed with gzip.",
)
DIALECTS: Final = ("2.2", "2.4", "guide")
_FIELDS: Final = re.compile(r"user.agent|referer|browsermatch", re.IGNORECASE)
_LOG_LINES: Final = ("logformat", "customlog", "globallog", "transferlog", "errorlogformat")


class ReplayFormat(StrEnum):
    """Values of --format."""

    text = "text"
    json = "json"
    html = "html"


Logs = Annotated[
    list[str],
    typer.Argument(
        metavar="LOG...",
        help="Access logs, or directories of them. With --backups and without --new the first word is the "
        "new configuration.",
    ),
]
NewConf = Annotated[
    Path | None,
    typer.Option(
        help="New configuration: main file or directory. Default, with --backups: the first word. "
        "Example: --new /etc/httpd"
    ),
]
OldConf = Annotated[
    Path | None,
    typer.Option(help="Old configuration. Default: none, compare with the log only. Example: --old conf.old"),
]
Backups = Annotated[
    bool,
    typer.Option(
        "--backups",
        help="Take what `upgrade --write` replaced in NEW for the old configuration. Default: that of --old. "
        "Example: --new /etc/httpd --backups",
    ),
]
OldDialect = Annotated[
    str, typer.Option(help="Answer as 2.4, 2.2 or guide. Default: 2.2. Example: --old-dialect 2.4")
]
NewDialect = Annotated[
    str, typer.Option(help="Answer as 2.4, 2.2 or guide. Default: 2.4. Example: --new-dialect guide")
]
LogFormat = Annotated[
    str,
    typer.Option(
        help="LogFormat of the logs, or its name. Default: those of the configurations, vhost_combined, "
        "combined, common. Example: --log-format common"
    ),
]
DefaultHost = Annotated[
    str,
    typer.Option(
        help="Host of lines that name none. Default: the virtual host whose CustomLog names the log, else "
        "ServerName. Example: --host www.example.com"
    ),
]
Rotated = Annotated[
    bool, typer.Option("--rotated", help="Read LOG.1, LOG.2.gz ... too. Default: off. Example: --rotated")
]
Jobs = Annotated[
    int,
    typer.Option("-j", "--jobs", min=0, help="Use N processes. Default: 0, one for each core. Example: -j 2"),
]
Cluster = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="Use the Dask cluster at ADDRESS. Default: this machine. Example: --cluster tcp://10.0.0.1:8786",
    ),
]
ReportShape = Annotated[
    ReplayFormat, typer.Option("--format", help="Print the report in this format. Example: --format html")
]


@app.command(cls=HelpCommand, epilog=EPILOG)
def replay(
    logs: Logs,
    new: NewConf = None,
    old: OldConf = None,
    backups: Backups = False,
    old_dialect: OldDialect = "2.2",
    new_dialect: NewDialect = "2.4",
    defines: Defines = None,
    log_format: LogFormat = "",
    host: DefaultHost = "",
    rotated: Rotated = False,
    jobs: Jobs = 0,
    cluster: Cluster = "",
    shape: ReportShape = ReplayFormat.text,
    no_pager: NoPager = False,
) -> None:
    """Send the requests of access logs through two configurations; report what changes, for whom and why."""
    try:
        new, logs = _new_and_logs(new, logs, is_before=backups)
        found = _sides((old, old_dialect), (new, new_dialect), defines or [], is_before=backups)
        sides = found.both
        summary = _replay(
            logs,
            found,
            log_format,
            host,
            rotated,
            jobs,
            cluster,
            with_hours=shape is ReplayFormat.html,
        )
    except UsageError as problem:
        typer.echo(problem.message, err=True)
        raise typer.Exit(EXIT_USAGE) from None
    is_tested = new_dialect != V22.name and not summary.no_start
    words = [word for name in defines or () for word in ("-D", name)]
    onward = live_command(sides[1].options, summary.ports, words, is_tested=is_tested)
    following = after_replay(summary, old, new, onward, words, has_backups=backups)
    _print(summary, shape, following, (found.top, found.old_top), may_page=not no_pager)
    write_fragment_hints([old, new], "whimbrel replay LOG... --new DIRECTORY")
    if summary.errors or summary.has_changes_to_review or summary.differs_from_log:
        raise typer.Exit(EXIT_FINDINGS)
    raise typer.Exit(EXIT_OK if summary.is_known else EXIT_REVIEW)


def _new_and_logs(new: Path | None, words: list[str], *, is_before: bool) -> tuple[Path, list[str]]:
    """Return the new configuration and the logs: with --backups the first word may name the configuration,
    as it does for `verify`. Raises UsageError.
    """
    if new is not None:
        return new, words
    if not is_before:
        raise UsageError(
            "--new is missing, the new configuration\nhint: whimbrel replay LOG... --new DIRECTORY"
        )
    if len(words) < 2:
        raise UsageError("a log is missing\nhint: whimbrel replay --backups DIRECTORY LOG...")
    return Path(words[0]), words[1:]


def _replay(
    logs: list[str],
    compared: Sides,
    log_format: str,
    host: str,
    rotated: bool,
    jobs: int,
    cluster: str,
    *,
    with_hours: bool,
) -> Summary:
    """Return the result of a replay."""
    from whimbrel.api.checking import open_findings
    from whimbrel.base.lazy_dataclasses import replace
    from whimbrel.cli.progress import ProgressBar
    from whimbrel.replay.log_files import logs_of, size_of
    from whimbrel.replay.summary import Summary
    from whimbrel.replay.tally import Tally
    from whimbrel.replay.work import LoadFailure, Replayer, ReplayWork
    from whimbrel.verify.changed_after_upgrade import changed_after_upgrade
    from whimbrel.verify.copied_htaccess import unwritten_sentence
    from whimbrel.verify.tls_ports import ports_of

    try:
        files = logs_of(logs, is_rotated=rotated)
    except OSError as problem:
        fault = file_problem(problem)
        raise UsageError(f"{fault}\nhint: name the access logs: whimbrel replay LOG... --new CONF") from None
    if not files:
        raise UsageError(
            f"{', '.join(logs)}: no file in there\n"
            "hint: name the access logs: whimbrel replay LOG... --new CONF"
        )
    (old_side, new_side), upgraded, documents, *_ = compared
    old_name = f"{old_side.name} ({old_side.dialect})" if old_side is not new_side else ""
    names = old_name, f"{new_side.name} ({new_side.dialect})"
    dialects = old_side.dialect, new_side.dialect
    now = time.time()
    with ProgressBar() as bar:
        bar.on_step("loading both configurations", 0, 0)
        try:
            work = ReplayWork(old_side, new_side, (), now, from_system(host))
            loaded = Replayer.load(work)
            work = replace(_with_formats(work, loaded, log_format), with_hours=with_hours)
            replayer = Replayer(work, loaded)
        except LoadFailure as failure:
            return Summary(*names, tuple(files), Tally(), failure.errors, dialects=dialects)
        tally = _run(work, replayer, files, jobs, cluster, bar.byte_counter("replaying", size_of(files)))
        roots = tuple(side.options.image or side.options.server_root for side in loaded)
        scope = _scope(loaded)
        if upgraded:
            scope = scope.with_items(changed_after_upgrade(upgraded, scope.files_read))
        summary = Summary(
            *names,
            tuple(files),
            tally,
            sides=scope,
            dialects=dialects,
            roots=roots,
            ports=ports_of(loaded[1].loaded),
            documents=documents,
        )
        if dialects != (V22.name, V24.name):
            return summary
        bar.on_step("findings about the new text", 0, 0)
        found = open_findings(new_side.options)
    return replace(
        summary.with_decisions(found.recorded),
        sides=summary.sides.with_items(found.unknown),
        to_decide=found.to_decide,
        questions=found.questions,
        has_stop=found.has_stop,
        no_start=loaded[1].start_stops.first,
        unwritten=unwritten_sentence(loaded[1].loaded, loaded[1].options),
    )


def _scope(sides: tuple[Side, Side]) -> KnowledgeScope:
    """Return the scope of both sides, with files that a version cannot have read as they are."""
    from whimbrel.verify.config_lines import SideLines
    from whimbrel.verify.damaged_htaccess import damaged_htaccess
    from whimbrel.verify.other_times import other_times
    from whimbrel.verify.side import replaced_paths
    from whimbrel.verify.uncopied_directories import uncopied_item
    from whimbrel.verify.written_by_upgrade import written_by_upgrade

    lines = [SideLines(side) for side in sides]
    scope = sides[0].scope.merge_version(sides[1].scope, replaced_paths(*sides))
    scope = scope.with_items(damaged_htaccess(lines))
    scope = scope.with_items(other_times(lines[1]))
    scope = scope.with_items(uncopied_item(lines[0]))
    return scope.with_items(written_by_upgrade(lines))


class Sides(NamedTuple):
    """What a replay compares.

    Attributes:
        both: the old and the new side, one object without an old one.
        upgraded: the directory whose upgrade is replayed, "" for none.
        documents: see `same_documents.as_copies`.
        top, old_top: the directories of the new and of the old side; *old_top* is "" where both are one.
    """

    both: tuple[SideOptions, SideOptions]
    upgraded: str = ""
    documents: str = ""
    top: str = ""
    old_top: str = ""


def _sides(
    old: tuple[Path | None, str], new: tuple[Path, str], defines: list[str], *, is_before: bool
) -> Sides:
    """Return both sides; *is_before*: the old side is what an upgrade has replaced in the new one. Raises
    UsageError.
    """
    from whimbrel.base.lazy_dataclasses import replace
    from whimbrel.report.relative_paths import old_directory
    from whimbrel.upgrade.apply.journal import WriteError
    from whimbrel.verify.same_documents import as_copies
    from whimbrel.verify.texts_before_upgrade import texts_before_upgrade

    if is_before and old[0] is not None:
        raise UsageError("--backups takes no --old: it is what the upgrade replaced in --new")
    new_side, directory = _side(new[0], new[1], defines)
    if not is_before and old[0] is None:
        return Sides((new_side, new_side), top=new_side.options.image or directory)
    try:
        overlay = texts_before_upgrade(directory) if is_before else {}
    except WriteError as problem:
        raise UsageError(str(problem)) from None
    old_side, old_place = _side(old[0] or new[0], old[1], defines)
    options = replace(old_side.options, overlay={**old_side.options.overlay, **overlay})
    name = f"{old_side.name} before the upgrade" if is_before else old_side.name
    old_side = replace(old_side, options=options, name=name)
    compared = as_copies(options, new_side.options, old_side.dialect)
    old_side = replace(old_side, options=compared.old)
    new_side = replace(new_side, options=compared.new)
    upgraded = directory if is_before else ""
    image = new_side.options.image
    old_top = old_directory(old_place, directory, image)
    return Sides((old_side, new_side), upgraded, compared.documents, image or directory, old_top)


def _side(conf: Path, dialect: str, defines: list[str]) -> tuple[SideOptions, str]:
    """Return a side, and the directory that it belongs to."""
    from whimbrel.replay.work import SideOptions

    if dialect not in DIALECTS:
        raise UsageError(f"{dialect}: not a dialect; these are {', '.join(DIALECTS)}")
    found, directory = sources(ConfigArguments([conf], defines=defines, as_server=True))
    if found.options is None:
        raise UsageError(f"{conf}: not the configuration of a server")
    return SideOptions(found.options, dialect, from_system(str(conf))), directory


def _with_formats(work: ReplayWork, loaded: tuple[Side, Side], given: str) -> ReplayWork:
    """Add the formats of the logs; send User-Agent and Referer if a configuration reads one of them."""
    from whimbrel.base.lazy_dataclasses import replace
    from whimbrel.replay.configured_formats import formats_of

    try:
        formats = formats_of(*loaded, given=from_system(given))
    except ValueError as problem:
        raise UsageError(f"--log-format: {problem}") from None
    found: list[bool] = []

    def visit(node: Node) -> None:
        if node.name.lower() not in _LOG_LINES and _FIELDS.search(f"{node.name} {node.args}"):
            found.append(True)

    for side in loaded:
        side.each_node(visit)
    texts = tuple(form.text for form in formats)
    return replace(work, formats=texts, with_fields=bool(found))


def _run(
    work: ReplayWork, replayer: Replayer, files: list[str], jobs: int, cluster: str, progress: Progress
) -> Tally:
    from whimbrel.replay.local import WorkerLost, processors, run_local
    from whimbrel.replay.log_files import DAMAGED, pieces_of

    try:
        if cluster:
            from whimbrel.replay.cluster import run_cluster

            return run_cluster(work, pieces_of(files), cluster, progress)
        return run_local(replayer, pieces_of(files), jobs or processors(), progress)
    except ImportError:
        raise UsageError(not_installed("--cluster", "cluster")) from None
    except WorkerLost as problem:
        raise UsageError(str(problem)) from None
    except DAMAGED as problem:
        raise UsageError(f"a log cannot be read: {problem}") from None


def _print(
    summary: Summary, shape: ReplayFormat, following: str, tops: tuple[str, str], *, may_page: bool
) -> None:
    """Print the summary; its places are below *tops*, the directories of the new and of the old side."""
    if shape is ReplayFormat.json:
        text = json.dumps(summary.as_dict(), indent=1) + "\n"
    elif shape is ReplayFormat.html:
        from whimbrel.replay.html import page_of
        from whimbrel.report.relative_paths import page_with_relative_places

        page = page_of(summary, command_of(following), first_of(following))
        write_page(page_with_relative_places(page, *tops))
        return
    else:
        from whimbrel.replay.text import text_of
        from whimbrel.report.relative_paths import with_relative_places

        has_lines = any(key.old or key.new for key, _ in summary.changes)
        text = with_relative_places(text_of(summary) + following, *tops, is_relative=has_lines)
        write_text(printable(text), may_page=may_page)
        return
    sys.stdout.write(text)
