"""Manual pages and completions of system packages: python -m tools.package_files DIRECTORY.

The text of a page is the help of its command. The date of the pages is that of
SOURCE_DATE_EPOCH, so that two builds are equal.
"""

from __future__ import annotations

import gzip
import os
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from tools.command_texts import CommandText, command_texts, server_usage, summary
from typer._completion_classes import completion_init

from whimbrel import __version__
from whimbrel.cli.main import app
from whimbrel.cli.utility_table import COMPLETION

COMPLETIONS = {
    "bash": "bash-completion/completions/whimbrel",
    "zsh": "zsh/vendor-completions/_whimbrel",
    "fish": "fish/vendor_completions.d/whimbrel.fish",
}
"""Shell -> the file below share/ that it reads."""


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


def command_parts(text: CommandText) -> Iterator[tuple[str, str]]:
    """Yield the parts of the page of a command."""
    if text.usage:
        yield "SYNOPSIS", verbatim(text.usage)
    else:
        yield "SYNOPSIS", f".B whimbrel {escaped(text.name)}\n{escaped(text.synopsis)}"
    yield "DESCRIPTION", "\n.PP\n".join(escaped(paragraph) for paragraph in text.paragraphs)
    for title, records in text.records:
        yield title.upper(), rows(records)
    for title, lines in text.blocks:
        yield (title.upper(), verbatim(lines)) if title else ("NOTES", escaped(lines))
    yield "SEE ALSO", ".BR whimbrel (1)"


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path of each manual page below man/, and its text."""
    summaries = []
    for text in command_texts():
        name = f"whimbrel-{text.name}"
        summaries.append((name, text.summary))
        yield f"man1/{name}.1", page(name, 1, text.summary, command_parts(text))
    parts = iter(
        [
            ("SYNOPSIS", ".B whimbrel\nCOMMAND [ARGUMENTS]"),
            ("COMMANDS", rows(summaries)),
            ("SEE ALSO", ".BR whimbrel\\-httpd (8)"),
        ]
    )
    yield "man1/whimbrel.1", page("whimbrel", 1, summary(), parts)
    parts = iter(
        [("SYNOPSIS", verbatim(server_usage())), ("SEE ALSO", ".BR whimbrel (1), whimbrel\\-ctl (1)")]
    )
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
