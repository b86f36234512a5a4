"""The `whimbrel` command: one file for each subcommand, imported when it is called."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import Final

import typer
from typer import _click as click  # the click that typer itself uses
from typer._click.shell_completion import CompletionItem
from typer.core import TyperCommand, TyperGroup

from whimbrel import __version__
from whimbrel.base.confinement import confine
from whimbrel.base.process_limits import MAX_MEMORY, limit_process
from whimbrel.cli.closed_output import drop_unread_output
from whimbrel.cli.interrupts import end_interrupted, repeat_lost_interrupts
from whimbrel.cli.utility_table import COMPLETION, UTILITIES, utility

# Subcommand -> the module with its `app`.
COMMANDS: Final = {
    "check": "whimbrel.cli.check",
    "directives": "whimbrel.cli.directives",
    "explain": "whimbrel.cli.explain",
    "example": "whimbrel.cli.example",
    "fmt": "whimbrel.cli.fmt",
    "lsp": "whimbrel.cli.lsp",
    "upgrade": "whimbrel.cli.upgrade",
    "serve": "whimbrel.cli.serve",
    "studio": "whimbrel.cli.studio",
    "replay": "whimbrel.cli.replay",
    "verify": "whimbrel.cli.verify",
    "rewrite-test": "whimbrel.cli.rewrite_test",
    "schema": "whimbrel.cli.schema",
}


MAX_SENTENCE: Final = 300
"""Characters of the first sentence of a command in the list of commands."""


class _Utility(TyperCommand):
    """Subcommand for a utility of httpd, which parses its own options."""

    def __init__(self, name: str) -> None:
        super().__init__(name, help=UTILITIES[name], add_help_option=False)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        """Run the utility; a request for words to complete gets a context and runs nothing."""
        if extra.get("resilient_parsing"):
            return click.Context(self, info_name=info_name, parent=parent, resilient_parsing=True)
        raise typer.Exit(utility(str(self.name), args))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the actions of `ctl`; the shell completes the names of files."""
        if self.name != "ctl":
            return []
        from whimbrel.cli.apachectl import SIGNALS, TESTS

        return [CompletionItem(word) for word in (*SIGNALS, *TESTS) if word.startswith(incomplete)]


class Commands(TyperGroup):
    """Group of the subcommands of `COMMANDS` and of httpd's utilities."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *UTILITIES]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with the whole first sentence of each."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._sentence(ctx, name)) for name in self.list_commands(ctx)])

    def _sentence(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        return command.get_short_help_str(MAX_SENTENCE) if command is not None else ""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in UTILITIES:
            return _Utility(cmd_name)
        where = COMMANDS.get(cmd_name)
        return typer.main.get_command(import_module(where).app) if where is not None else None

    def invoke(self, ctx: click.Context) -> object:
        """Run the subcommand; a Ctrl-C ends all but `serve`, which stops its servers itself.

        A reader of standard output that has ended, as ``head`` does, is no error.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            if not drop_unread_output():
                raise
            raise typer.Exit from None
        except KeyboardInterrupt:
            if ctx.invoked_subcommand == "serve":
                raise
            end_interrupted()


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(ctx: typer.Context, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        typer.echo(f"whimbrel {__version__}")
        raise typer.Exit


@app.callback()
def whimbrel(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """A web server that reads Apache httpd configurations, and tools that carry them from 2.2 to 2.4."""


def main() -> None:
    """Run the command of sys.argv; all but `serve` start no program and write what the user asked for.

    `studio` confines the processes that read the configuration; its own server has a configuration of ours.
    """
    if None in (sys.stdin, sys.stdout, sys.stderr):
        from whimbrel.cli.terminal import open_closed_files

        open_closed_files()
    if COMPLETION in os.environ:  # no command runs, and no file is read
        from typer._completion_classes import completion_init

        completion_init()
        app(prog_name="whimbrel")
        return
    if sys.argv[1:2] in (["serve"], ["studio"]):
        app(prog_name="whimbrel")
        return
    confine()
    limit_process()
    repeat_lost_interrupts()
    try:
        app(prog_name="whimbrel")
    except RecursionError:
        os.write(2, b"whimbrel: stopped: the input is nested too deeply\n")
        sys.exit(2)
    except MemoryError:
        os.write(2, b"whimbrel: stopped: this needs more than %d MB of memory\n" % (MAX_MEMORY >> 20))
        sys.exit(2)
    except OSError as problem:  # of a file that another process changed between two looks at it
        from whimbrel.base.printable import file_problem
        from whimbrel.cli.options import encoded

        reason = problem.strerror if problem.filename is None else file_problem(problem)
        os.write(2, encoded(f"whimbrel: stopped: {reason}\n"))
        sys.exit(2)
    finally:
        drop_unread_output()
        gc.freeze()  # the end of the process frees all at once: no collection looks for what is garbage
