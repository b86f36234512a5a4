"""Manual pages and completions of system packages, from the commands themselves: package_files.py DIRECTORY.

The text of a page is the help of its command, so both say the same. The date of the pages is that of
SOURCE_DATE_EPOCH, so that two builds are equal.
"""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import typer
from typer import _click as click
from typer._completion_classes import completion_init
from typer.core import TyperGroup

from whimbrel import __version__
from whimbrel.cli.help import HelpCommand
from whimbrel.cli.main import COMMANDS, COMPLETION, app
from whimbrel.cli.utility_table import UTILITIES
from whimbrel.cli.version_text import OWN_OPTIONS, usage

COMPLETIONS = {
    "bash": "bash-completion/completions/whimbrel",
    "zsh": "zsh/vendor-completions/_whimbrel",
    "fish": "fish/vendor_completions.d/whimbrel.fish",
}
"""Shell -> the file below share/ that it reads."""
HELP_WORD = {"ctl": "help"}
"""What prints the help of a utility, where an unknown option does not."""


def escaped(text: str) -> str:
    """Return *text* for roff: no character of it begins a request or an escape, hyphens stay hyphens."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").split("\n")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in lines)


def page(name: str, section: int, summary: str, parts: Iterator[tuple[str, str]]) -> str:
    """Return a manual page; the parts are titles with roff."""
    date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    head = f'.TH {name.upper()} {section} {date} "Whimbrel {__version__}" "Whimbrel"\n'
    head += f".SH NAME\n{escaped(name)} \\- {escaped(summary)}\n"
    return head + "".join(f".SH {title}\n{text}\n" for title, text in parts if text)


def verbatim(text: str) -> str:
    """Return lines that roff leaves as they are."""
    return f".nf\n{escaped(text.strip(chr(10)))}\n.fi"


def rows(records: list[tuple[str, str]]) -> str:
    """Return a list of terms with their descriptions."""
    return "\n".join(f".TP\n.B {escaped(term)}\n{escaped(text)}" for term, text in records)


def first_sentence(text: str) -> str:
    """Return the summary of a help text, without its full stop."""
    return " ".join(re.split(r"(?<=\.)\s", text.strip(), maxsplit=1)[0].split()).rstrip(".")


def command_parts(name: str, command: click.Command) -> Iterator[tuple[str, str]]:
    """Yield the parts of the page of a subcommand."""
    context = click.Context(command, info_name=name.replace("-", " ", 1))
    synopsis = " ".join(command.collect_usage_pieces(context))
    yield "SYNOPSIS", f".B whimbrel {escaped(name.partition('-')[2])}\n{escaped(synopsis)}"
    paragraphs = re.split(r"\n\s*\n", (command.help or "").strip())
    yield "DESCRIPTION", "\n.PP\n".join(escaped(" ".join(text.split())) for text in paragraphs)
    assert isinstance(command, HelpCommand)
    for title, records in command.help_records(context).items():
        yield title.upper(), rows(records)
    for block in re.split(r"\n\n", command.epilog or ""):
        title, _, rest = block.partition("\n")
        if rest:
            yield title.rstrip(":").upper(), verbatim(rest)
        elif block:
            yield "NOTES", escaped(block)
    yield "SEE ALSO", ".BR whimbrel (1)"


def utility_help(name: str) -> str:
    """Return what a utility of httpd prints about its options."""
    words = [sys.executable, "-m", "whimbrel", name, HELP_WORD.get(name, "-?")]
    printed = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    lines = printed.splitlines()
    start = next(number for number, line in enumerate(lines) if line.lower().startswith("usage"))
    return "\n".join(lines[start:])


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path of each manual page below man/, and its text."""
    group = typer.main.get_command(app)
    context = click.Context(group, info_name="whimbrel")
    assert isinstance(group, TyperGroup)
    names = group.list_commands(context)
    summaries = []
    for name in names:
        command = group.get_command(context, name)
        assert command is not None
        summary = first_sentence(UTILITIES.get(name) or command.help or "")
        summaries.append((f"whimbrel-{name}", summary))
        if name in COMMANDS:
            yield (
                f"man1/whimbrel-{name}.1",
                page(f"whimbrel-{name}", 1, summary, command_parts(f"whimbrel-{name}", command)),
            )
        else:
            parts = iter([("SYNOPSIS", verbatim(utility_help(name))), ("SEE ALSO", ".BR whimbrel (1)")])
            yield f"man1/whimbrel-{name}.1", page(f"whimbrel-{name}", 1, summary, parts)
    summary = first_sentence(group.help or "")
    parts = iter(
        [
            ("SYNOPSIS", ".B whimbrel\nCOMMAND [ARGUMENTS]"),
            ("COMMANDS", rows(summaries)),
            ("SEE ALSO", ".BR whimbrel\\-httpd (8)"),
        ]
    )
    yield "man1/whimbrel.1", page("whimbrel", 1, summary, parts)
    options = usage("whimbrel-httpd", "2.4") + OWN_OPTIONS
    parts = iter([("SYNOPSIS", verbatim(options)), ("SEE ALSO", ".BR whimbrel (1), whimbrel\\-ctl (1)")])
    yield "man8/whimbrel-httpd.8", page("whimbrel-httpd", 8, "the server, with the options of httpd", parts)


def completion(shell: str) -> str:
    """Return the shell's functions that complete the words of `whimbrel`."""
    os.environ[COMPLETION] = f"source_{shell}"
    completion_init()
    output = StringIO()
    with redirect_stdout(output):
        try:
            app(prog_name="whimbrel")
        except SystemExit:
            pass
    del os.environ[COMPLETION]
    return output.getvalue().strip("\n") + "\n"


def write(directory: Path) -> None:
    """Write the files of share/ below *directory*."""
    files = {f"man/{path}.gz": gzip.compress(text.encode(), mtime=0) for path, text in pages()}
    files |= {path: completion(shell).encode() for shell, path in COMPLETIONS.items()}
    for path, data in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_bytes(data)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
