"""`whimbrel upgrade`: rewrite a configuration of httpd 2.2 for 2.4.

Exit codes: 0 nothing to do, or done; 1 the diff has changes to make; 2 wrong usage or unreadable input; 3
done, or nothing to change, but a finding needs review or a decision, or something that may matter is not
known.
"""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from whimbrel.base.builds import AUTO
from whimbrel.base.counts import count_noun, word_for
from whimbrel.base.latin1 import from_system, to_bytes, to_system
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
from whimbrel.cli.interrupts import uninterrupted
from whimbrel.cli.next_commands import FIRST, after_fleet, after_upgrade, command_line
from whimbrel.cli.one_file import about_one_file, explaining
from whimbrel.cli.options import (
    CARRIED,
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
from whimbrel.cli.parts_of_servers import FOR_THE_PART, about_part, server_of_part
from whimbrel.cli.terminal import NoPager, write_page
from whimbrel.cli.upgrade_stops import after_writing, before_writing, first_stop
from whimbrel.utilities.usage_error import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whimbrel.cli.progress import ProgressBar
    from whimbrel.upgrade.apply.server_copy import ServerCopy
    from whimbrel.upgrade.check.check import Selection
    from whimbrel.upgrade.check.fixpoint import DecideCallback, UpgradeResult
    from whimbrel.upgrade.model import UpgradeOptions
    from whimbrel.upgrade.source.config_tree import ConfigTree
    from whimbrel.upgrade.source.reading import Sources

EPILOG: Final = epilog(
    {
        0: "nothing to do, or done",
        1: "the diff has changes to make",
        2: "wrong usage or unreadable input",
        3: "done, but something needs review or a decision, or is not known",
    },
    (
        "whimbrel upgrade -d /etc/httpd",
        "whimbrel upgrade -d /etc/httpd --out /tmp/new",
        "whimbrel upgrade --fleet machines/ --out upgraded/",
    ),
    f"{NOTE} {FLEET_NOTE}",
)
HOW: Final = frozenset(
    ("target_build", "style", "also_22", "exact", "unsafe_flags", "assume", "verify", "is_open")
)
"""The parameters that say how the text is written, which the command that writes it has to repeat."""
SINGLE: Final = {
    "root": "-d",
    "file": "-f",
    "as_server": "--whole",
    "interactive": "--interactive",
    "undo": "--undo",
}
"""Parameters that a fleet does not take, with their options."""
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


class AccessStyle(StrEnum):
    """Values of --style."""

    native = "native"
    compat = "compat"


class OutputFormat(StrEnum):
    """Values of --format."""

    text = "text"
    json = "json"
    html = "html"


class BuildChoice(StrEnum):
    """Values of --target-build."""

    debian = "debian"
    shared = "shared"
    suse = "suse"
    upstream = "upstream"


class Assumption(StrEnum):
    """Values of --assume."""

    no_outer_password = "no-outer-password"


TargetBuildOption = Annotated[
    BuildChoice | None,
    typer.Option(
        "--target-build",
        help="Write for this build of 2.4: Debian's or SUSE's, which refuse LoadModule lines of compiled-in "
        "modules, one with all modules as files (shared), or with all but the MPM (upstream, as ./configure "
        "builds it). Default: detected. Example: --target-build debian",
    ),
]
Write = Annotated[
    bool,
    typer.Option(
        "--write",
        help="Change the files in place, with backups FILE.whimbrel-2.2~ (below .whimbrel-2.2/ where an "
        "Include would read them). Default: print a diff. Example: --write -d /etc/httpd",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Write the upgraded files to DIR, as a server of its own: ServerRoot, logs and files of users "
        "are in DIR; documents stay where they are. Default: print a diff. Example: --out /tmp/new",
    ),
]
Interactive = Annotated[
    bool,
    typer.Option(
        "--interactive",
        help="Confirm each change, then write. Default: off. Example: --interactive",
    ),
]
Undo = Annotated[
    bool,
    typer.Option(
        "--undo",
        help="Restore the files from before --write. Default: off. Example: --undo -d /etc/httpd",
    ),
]
OpenTree = Annotated[
    bool,
    typer.Option(
        "--outside",
        help="Write files outside of the tree too: those that the configuration names elsewhere, and those "
        "that are reached through a link. Default: refuse. Example: --write --outside -d /etc/httpd",
    ),
]
StyleOption = Annotated[
    AccessStyle,
    typer.Option(
        help="Write access control with Require (native) or mod_access_compat (compat). Default: native. "
        "Example: --style compat"
    ),
]
Also22 = Annotated[
    bool,
    typer.Option("--also-2.2", help="Write a result that 2.2 reads too. Default: off. Example: --also-2.2"),
]
Exact = Annotated[
    bool,
    typer.Option(
        "--exact",
        help="Write the behaviour of 2.2 where the upgrade guide differs. Default: off. Example: --exact",
    ),
]
UnsafeFlags = Annotated[
    bool,
    typer.Option(
        "--unsafe-flags",
        help="Add UnsafeAllow3F and UnsafePrefixStat to rewrite rules, which reopen what 2.4.60 closed. "
        "Default: report only. "
        "Example: --unsafe-flags --target 2.4.62",
    ),
]
Assume = Annotated[
    list[Assumption] | None,
    typer.Option(
        help="Assume about files that are read without their server that no section around them asks for a "
        "password: Order and Allow become Require. Default: nothing. Example: --assume no-outer-password"
    ),
]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify/--no-verify",
        help="Compare the answers of both versions, and mark what differs for review. Default: --verify. "
        "Example: --no-verify",
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print findings and diffs as JSON. Default: off. Example: --json")
]

Shape = Annotated[
    OutputFormat,
    typer.Option(
        "--format",
        help="Print a diff and a summary (text), JSON, or a page with everything that changes (html). "
        "Default: text. Example: --format html",
    ),
]


@app.command(cls=HelpCommand, epilog=EPILOG)
def upgrade(
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
    target_build: TargetBuildOption = None,
    write: Write = False,
    out: Out = None,
    interactive: Interactive = False,
    undo: Undo = False,
    is_open: OpenTree = False,
    style: StyleOption = AccessStyle.native,
    also_22: Also22 = False,
    exact: Exact = False,
    unsafe_flags: UnsafeFlags = False,
    assume: Assume = None,
    select: Select = "",
    ignore: Ignore = "",
    verify: Verify = True,
    color: Color = ColorMode.auto,
    json: Json = False,
    shape: Shape = OutputFormat.text,
    no_pager: NoPager = False,
    fleet: Fleet = False,
    jobs: Jobs = 0,
    cluster: Cluster = "",
    pages: Pages = None,
    seconds: Seconds = SECONDS,
    memory: Memory = MEGABYTES,
) -> None:
    """Rewrite a configuration of 2.2 for 2.4. Without --write or --out, print a diff and change nothing."""
    from whimbrel.cli.progress import ProgressBar
    from whimbrel.upgrade.apply.journal import WriteError
    from whimbrel.upgrade.apply.server_copy import external_files, write_in_place
    from whimbrel.upgrade.check.check import UnknownRule, parse_selection
    from whimbrel.upgrade.check.fixpoint import RuleError

    if write + (out is not None) + interactive + undo > 1:
        raise typer.BadParameter("--write, --out, --interactive and --undo exclude each other")
    try:
        refuse(context, is_fleet=fleet, single=SINGLE)
        lines = before or (), after or (), defines or ()
        named = ConfigArguments(conf or [], root, file, *lines, envvars, as_server, builtin)
        shape = OutputFormat.json if json else shape
        options = _options(style, target, target_build, assume or [], flags=(also_22, exact, unsafe_flags))
        wanted = parse_selection(select, ignore)
        if fleet:
            _refuse_inside(out, named.paths)
            next_command = after_fleet(context, named.paths, out, CARRIED | HOW, is_written=write)
            choice = FleetChoice(
                jobs, cluster, pages, seconds, memory, shape.value, color, not no_pager, next_command
            )
            flags = write, is_open, verify
            raise typer.Exit(_upgrade_fleet(named, wanted, options, out, choice, flags=flags))
        what, directory = sources(named)
        if what.options is not None:
            _refuse_inside(out, [Path(to_system(directory))])
        if undo:
            with uninterrupted():
                raise typer.Exit(_undo(directory))
        if write or interactive:
            with uninterrupted():
                _recover(directory)
        with ProgressBar() as bar:
            result, words = _run(what, options, wanted, bar, interactive=interactive, verify=verify)
        beside = _files_beside(result, what, named)
        top = result.tree.disk.image or directory  # the report names files from there
        external = [] if is_open else external_files(result, directory, named.paths)
        writing = command_line(
            "upgrade",
            "--write",
            *["--outside"] * bool(external),
            *given_words(context, CARRIED | HOW, without=beside),
        )
        if external and (write or interactive):
            raise UsageError(_refused_external(external, directory, writing))
        copy: ServerCopy | None = None
        backups: list[str] = []
        with uninterrupted():
            if out is not None:
                copy = _copied(result, what, directory, out)
            elif write or interactive:
                backups = write_in_place(
                    result, directory, named.paths, is_open=is_open, is_confirmed=interactive
                )
        is_written = write or interactive or out is not None
        is_left = bool(result.files) and (out is not None or not is_written)
        following = before_writing(result, top, external if is_left else [], copy, is_written=is_written)
        if is_written:
            following += after_upgrade(
                context,
                what.options,
                out,
                is_changed=bool(result.files),
                is_of_24=_is_of_24(result, words),
                without=beside,
            )
        only = frozenset(beside.values())
        if not is_written:
            following += _of_part(result, what, top, writing)
        if out is None:
            following[:0] = _about_named(result, only) or about_one_file(context, result, what, top, HOW)
        if is_left and out is not None and not first_stop(result):
            following.append(f"To go live: {writing}")
        output = _Output(
            shape,
            color,
            is_written,
            words,
            result.unverified or _uncompared(result, what, wanted, is_verified=verify),
            following,
            not no_pager,
            copy,
            writing,
            backups,
            only,
            explaining(context) if what.options is not None else None,
        )
        raise typer.Exit(_print_result(result, top, output))
    except (UsageError, RuleError, UnknownRule, WriteError) as problem:
        _write_stderr(str(problem))
        raise typer.Exit(EXIT_USAGE) from None


def _files_beside(result: UpgradeResult, what: Sources, named: ConfigArguments) -> dict[str, str]:
    """Return the files of a server that were named beside it, by the words that name them, if nothing else
    was: their diff is wanted. An upgrade is that of the whole server all the same.
    """
    options = what.options
    if options is None:
        return {}
    tree = result.tree
    main = os.path.realpath(to_bytes(os.path.join(options.server_root, options.file)))
    files = {str(path): os.path.realpath(os.fsencode(path)) for path in named.paths if path.is_file()}
    own = {word: path for word, path in files.items() if path != main}
    if not own:
        return {}
    by_real = {os.path.realpath(to_bytes(path)): path for path in tree.files if path not in tree.lone_paths}
    if any(path not in by_real for path in own.values()):
        return {}
    return {word: by_real[path] for word, path in own.items()}


def _of_part(result: UpgradeResult, what: Sources, directory: str, writing: str) -> list[str]:
    """Return the next commands of an upgrade that wrote nothing: of one file, that with its server comes
    before *writing*, which writes the new text.
    """
    around = server_of_part(what)
    lines = about_part(what, around) if result.files or result.has_open_findings else []
    stop = first_stop(result)
    if lines and not (result.files or around) and stop is not None:
        # the line above says what is to correct first
        lines = [lines[0].replace(FIRST, "Or, ", 1), f"Next: {command_line('explain', stop.rule)}"]
    if result.files:
        lines.append(f"{FOR_THE_PART if around else 'Next'}: {writing}")
        lines += after_writing(result, directory)
    return lines


def _is_of_24(result: UpgradeResult, verified: str) -> bool:
    """Return True if the old text is one for 2.4, which 2.2 does not load.

    *verified* is the sentence about the comparison.
    """
    from whimbrel.upgrade.check.fixpoint import NOT_VERIFIED
    from whimbrel.upgrade.source.built_in_modules import OF_24

    return result.tree.built_in.origin == OF_24 and verified.startswith(f"{NOT_VERIFIED}under 2.2")


def _about_named(result: UpgradeResult, only: frozenset[str]) -> list[str]:
    """Return what the diff of the files *only* leaves out; nothing if it has all."""
    others = len(result.files) - len(only & result.files.keys())
    if not only or not others:
        return []
    return [f"the diff is of what was named; --write changes {count_noun(others, 'other file')} too"]


def _copied(result: UpgradeResult, what: Sources, directory: str, out: Path) -> ServerCopy:
    """Write the upgraded tree into *out*; the old .htaccess files that 2.4 refuses are named."""
    from whimbrel.upgrade.apply.server_copy import copy_tree
    from whimbrel.upgrade.check.load_errors import load_new_texts
    from whimbrel.upgrade.check.loading import old_htaccess_refusals

    copy = copy_tree(result, directory, out)
    new = None if what.options is None or copy.is_image else load_new_texts(result, what.options)
    if new is None:
        return copy
    return copy._replace(refused=tuple(old_htaccess_refusals(result.tree, result.files, new)))


def _refused_external(external: list[str], directory: str, writing: str) -> str:
    """Return why nothing was written, the files for which --outside is, and the command that has it."""
    files = "\n".join(f"  {path}" for path in external)
    return (
        f"nothing was written: {count_noun(len(external), 'file')} to change "
        f"{word_for(len(external), 'is', 'are')} outside of {directory}:\n{files}\nNext: {writing}"
    )


def _uncompared(result: UpgradeResult, what: Sources, wanted: Selection, *, is_verified: bool) -> str:
    """Return why the answers of both versions were not compared, "" where they were."""
    from whimbrel.report.readiness import NOTHING_COMPARED

    if what.options is None:
        return "a part of a configuration answers no request by itself"
    if wanted.only or wanted.without:
        return "not all rules were applied"
    if is_verified:
        return "" if result.files else NOTHING_COMPARED
    return "the answers of both versions were not compared (--no-verify)"


def _refuse_inside(out: Path | None, read: Iterable[Path]) -> None:
    """Raise UsageError if a copy would lie in what is read: the next reading would find it there."""
    if out is None:
        return
    copy = Path(os.path.realpath(out))
    for path in read:
        top = Path(os.path.realpath(path))
        if copy != top and copy.is_relative_to(top):
            raise UsageError(
                f"{from_system(str(out))} lies in {from_system(str(path))}, which is read: "
                "name a directory outside of it with --out"
            )


def _upgrade_fleet(
    named: ConfigArguments,
    wanted: Selection,
    options: UpgradeOptions,
    out: Path | None,
    choice: FleetChoice,
    *,
    flags: tuple[bool, bool, bool],
) -> int:
    """Upgrade many servers; *flags* are --write, --outside and --verify. Return the exit status."""
    from whimbrel.fleet.tasks import UpgradeTask

    servers = fleet_of(list(named.paths))
    out = out.absolute() if out is not None else None
    task = UpgradeTask(replace(named, paths=()), wanted, options, out, *flags, choice.pages is not None)
    return run_fleet(task, servers, choice, out)


def _options(
    style: AccessStyle,
    target: str,
    target_build: BuildChoice | None,
    assumptions: list[Assumption],
    *,
    flags: tuple[bool, bool, bool],
) -> UpgradeOptions:
    """Return the options of an upgrade; *flags* are --also-2.2, --exact and --unsafe-flags."""
    from whimbrel.upgrade.model import Style, TargetBuild, UpgradeOptions

    also_22, exact, unsafe_flags = flags
    return UpgradeOptions(
        style=Style(style.value),
        also_22=also_22,
        exact=exact,
        unsafe_flags=unsafe_flags,
        target=release(target),
        target_build=None if target_build is None else TargetBuild(target_build.value),
        no_outer_password=Assumption.no_outer_password in assumptions,
    )


def _write_stderr(text: str) -> None:
    os.write(2, encoded(text) + b"\n")


def _recover(directory: str) -> None:
    from whimbrel.upgrade.apply.transaction import recover

    _name_planted_journal(directory)
    state = recover(directory)
    if state:
        _write_stderr(f"an upgrade that was interrupted while {state} has been brought to its end")


def _run(
    what: Sources,
    options: UpgradeOptions,
    wanted: Selection,
    bar: ProgressBar,
    *,
    interactive: bool,
    verify: bool,
) -> tuple[UpgradeResult, str]:
    """Return the upgrade, and a sentence about its verification; raises UsageError if no file can be read."""
    import gc

    from whimbrel.api.checking import upgrade_sources

    def prompt(tree: ConfigTree) -> DecideCallback:
        from whimbrel.cli.interactive import Prompt

        bar.stop()
        return Prompt(tree).confirm

    gc.disable()  # a configuration tree is a million live objects
    decide = prompt if interactive else None
    return upgrade_sources(what, options, wanted, bar.on_file, bar.on_step, decide, is_verified=verify)


def _name_planted_journal(directory: str) -> None:
    """Print a line about a journal in the tree, where anybody could have put it."""
    from whimbrel.upgrade.apply.transaction import OLD_JOURNAL

    path = os.path.join(directory, OLD_JOURNAL)
    if os.path.lexists(to_bytes(path)):
        _write_stderr(f"{path}: ignored: the journal of an upgrade is never in the tree")


class _Output(NamedTuple):
    """How a result is printed.

    Attributes:
        verified: a sentence about the comparison of answers, "" for none.
        uncompared: why the answers of both versions were not compared, "" where they were.
        following: lines with the commands that come next.
        copy: the copy that was written, None for none.
        backups: the paths of those that were written.
        writing: the command that writes the result in place.
        only: the files whose diff is printed; empty for all.
        explaining: makes the command that explains a place; None for what is no server.
    """

    shape: OutputFormat
    color: ColorMode
    is_written: bool
    verified: str
    uncompared: str
    following: list[str]
    may_page: bool
    copy: ServerCopy | None
    writing: str
    backups: list[str]
    only: frozenset[str]
    explaining: Callable[[str], str] | None


def _print_result(result: UpgradeResult, directory: str, output: _Output) -> int:
    """Print the result; return the exit status."""
    from whimbrel.cli import upgrade_output

    is_written = output.is_written
    if output.shape is OutputFormat.json:
        upgrade_output.write_json(
            result, directory, is_written, output.copy, output.writing, output.uncompared
        )
    elif output.shape is OutputFormat.html:
        page = upgrade_output.page_of(
            result,
            directory,
            is_written=is_written,
            verified=output.verified,
            uncompared=output.uncompared,
            facts=output.copy.facts if output.copy is not None else (),
            following=output.following,
        )
        write_page(page)
        return upgrade_output.exit_status(result, is_written=is_written)
    is_text = output.shape is OutputFormat.text
    stream = sys.stdout if is_written and is_text else sys.stderr
    summary = upgrade_output.summary_text(
        result,
        directory,
        is_written,
        stream,
        output.color,
        verified=output.verified if is_text else "",
        uncompared=output.uncompared,
        following=output.following,
        copy=output.copy,
        backups=output.backups,
        explaining=output.explaining,
    )
    if is_text and not is_written:
        # a pipe, such as to patch(1), gets the diff alone
        above = summary + b"\n" if result.files and sys.stdout.isatty() else b""
        colored = is_colored(output.color)
        upgrade_output.show_diff(
            result, directory, colored=colored, may_page=output.may_page, above=above, only=output.only
        )
        if above:
            summary = upgrade_output.last_text(
                result,
                directory,
                stream,
                output.color,
                verified=output.verified,
                uncompared=output.uncompared,
                following=output.following,
                explaining=output.explaining,
            )
    upgrade_output.write_to(stream, summary)
    return upgrade_output.exit_status(result, is_written=is_written)


def _undo(directory: str) -> int:
    from whimbrel.upgrade.apply.transaction import undo

    _name_planted_journal(directory)
    restored, saved_aside = undo(directory)
    for path in saved_aside:
        _write_stderr(f"changed since the upgrade: what it was is kept as {path}")
    _write_stderr(f"{count_noun(len(restored), 'file')} restored")
    return EXIT_OK
