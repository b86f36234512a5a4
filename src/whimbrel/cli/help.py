"""Help of the subcommands: exit codes and examples below the options, no types of Python."""

from __future__ import annotations

import re
from collections.abc import Mapping
from textwrap import wrap
from typing import Final

from typer import _click as click  # the click that typer itself uses
from typer.core import TyperCommand

_TYPE: Final = re.compile(r" ?<([^<>]+)>$")
_WORDS: Final = {
    "path": "PATH",
    "Path": "PATH",
    "str": "TEXT",
    "int": "N",
    "int range": "N",
    "bool": "",
}
"""Names of values in the place of the types that typer prints."""


def epilog(codes: Mapping[int, str], examples: tuple[str, ...], note: str = "") -> str:
    """Return the text below the options: a note, the exit codes and the examples, each on its line."""
    lines = [note, ""] if note else []
    lines += ["Exit codes:", *(f"  {code}  {meaning}" for code, meaning in codes.items())]
    lines += ["", "Examples:", *(f"  {example}" for example in examples)]
    return "\n".join(lines)


_FORMER: Final = {"--built-in": "--builtin"}
"""Former names of options, which help does not show."""


class HelpCommand(TyperCommand):
    """A subcommand whose help names values as its texts do; lines of the epilog stay lines."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse *args*, in which options may have their former names."""
        parts = (word.partition("=") for word in args)
        return super().parse_args(ctx, ["".join((_FORMER.get(name, name), *rest)) for name, *rest in parts])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, rows in self.help_records(ctx).items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def help_records(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        """Return the arguments and the options, each with its text."""
        records: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                is_argument = param.param_type_name == "argument"
                name = _TYPE.sub("" if is_argument else _value, record[0])
                records["Arguments" if is_argument else "Options"].append((name, record[1]))
        return records

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        for line in (self.epilog or "").splitlines():
            if line.startswith("  "):
                formatter.write(f"{line}\n")  # an example is copied: it is not wrapped
            elif line:
                formatter.write(
                    "".join(f"{part}\n" for part in wrap(line, formatter.width, break_on_hyphens=False))
                )
            else:
                formatter.write_paragraph()


def _value(found: re.Match[str]) -> str:
    """Return the name of a value for the name of a type; choices stand as they are."""
    kind = found[1].removeprefix("list[").removesuffix("]")
    word = _WORDS.get(kind, kind)
    return f" {word}" if word else ""
