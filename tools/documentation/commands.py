"""A page for each command, from its help, and the table of exit codes."""

from __future__ import annotations

from collections.abc import Iterator

from tools.command_texts import CommandText, command_texts, server_usage, summary
from tools.documentation.markdown import escaped, fenced, table


def command_pages() -> Iterator[tuple[str, str]]:
    """Yield page and text of each command, the list of all, and the exit codes."""
    texts = list(command_texts())
    for text in texts:
        yield f"commands/{text.name}.md", _page(text)
    server = fenced(server_usage())
    yield (
        "commands/whimbrel-httpd.md",
        "# whimbrel-httpd\n\nThe server, with the options of httpd. Its exit codes are httpd's: 0 for a "
        f"configuration that is valid or a signal that was sent, 1 otherwise.\n\n{server}",
    )
    rows = [(f"[`whimbrel {text.name}`]({text.name}.md)", escaped(text.summary)) for text in texts]
    rows.append(("[`whimbrel-httpd`](whimbrel-httpd.md)", "The server, with the options of httpd"))
    yield (
        "commands/index.md",
        f"# Commands\n\n{escaped(summary())}.\n\n{table(('command', 'what it does'), rows)}",
    )
    yield "exit-codes.md", _exit_codes(texts)


def _page(text: CommandText) -> str:
    """Return the page of one command."""
    parts = [f"# whimbrel {text.name}", ""]
    if text.usage:
        parts += [
            f"{escaped(text.summary)}. The options are those of httpd's program.",
            "",
            fenced(text.usage),
        ]
    else:
        parts += [line for paragraph in text.paragraphs for line in (escaped(paragraph), "")]
        parts += [fenced(f"whimbrel {text.name} {text.synopsis}")]
    for title, records in text.records:
        rows = [(f"`{term}`", _cell(description)) for term, description in records]
        parts += [f"## {title}", "", table((title.lower().removesuffix("s"), "text"), rows)]
    for title, lines in text.blocks:
        body = "\n".join(line.removeprefix("  ") for line in lines.splitlines())
        parts += [f"## {title}", "", fenced(body)] if title else [escaped(body), ""]
    return "\n".join((*parts, "", "[All commands](index.md)", ""))


def _cell(text: str) -> str:
    return escaped(" ".join(text.split())).replace("|", "\\|")


def _exit_codes(texts: list[CommandText]) -> str:
    codes = {text.name: text.exit_codes() for text in texts if text.exit_codes()}
    numbers = sorted({code for meanings in codes.values() for code in meanings})
    rows = [
        (f"[`{name}`](commands/{name}.md)", *(escaped(meanings.get(number, "")) for number in numbers))
        for name, meanings in codes.items()
    ]
    return (
        "# Exit codes\n\n0: nothing to do, or same. 1: findings, or different. 2: wrong usage or unreadable "
        "input. 3: done, but something needs review or is not known. Ctrl-C ends a command with 130. The "
        "utilities of httpd and `whimbrel-httpd` have httpd's codes.\n\n"
        + table(("command", *map(str, numbers)), rows)
    )
