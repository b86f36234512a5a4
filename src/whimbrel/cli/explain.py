"""`whimbrel explain`: explain a request, a row of the table of changes, an AH code, a log line, a directive,
a module or a symptom.

Exit codes: 0 explained; 1 the configuration does not load, or the answers of --diff differ; 2 unknown; 3
explained, but something that may matter to the request is not known.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from whimbrel.base.builds import AUTO
from whimbrel.base.latin1 import from_system
from whimbrel.base.printable import printable_line, without_user
from whimbrel.cli.explain_options import (
    AccessLine,
    AllSteps,
    AsJson,
    Auth,
    Backups,
    ClientCert,
    ClientHost,
    DialectName,
    Diff,
    ErrorLine,
    Fields,
    From,
    Host,
    Listing,
    LogFormat,
    Method,
    Tls,
    To,
    User,
    Verbose,
    What,
)
from whimbrel.cli.help import HelpCommand, epilog
from whimbrel.cli.next_commands import command_line
from whimbrel.cli.options import (
    After,
    Before,
    BuiltIn,
    ConfigArguments,
    Defines,
    Envvars,
    File,
    Root,
    encoded,
    given_names,
)
from whimbrel.cli.terminal import NoPager
from whimbrel.utilities.usage_error import UsageError

if TYPE_CHECKING:
    from whimbrel.upgrade.documents.explain import Explanation

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
EPILOG: Final = epilog(
    {
        0: "explained",
        1: "the configuration does not load, or the answers of --diff differ",
        2: "unknown, or wrong usage",
        3: "explained, but something that may matter to the request is not known",
    },
    ("whimbrel explain http://www.example.com/shop/ -d /etc/httpd", "whimbrel explain C17"),
    "WHAT is a URL, a file (conf/httpd.conf) or a line of it (conf/httpd.conf:108), a whole line of a log "
    "in quotes, or for example C17, AH01797, AddOutputFilterByType, mod_authn_alias or 403.",
)
_LINE_OF_FILE: Final = re.compile(r"([^:]++):([0-9]{1,9})")
"""A line as findings name it, ``conf/httpd.conf:108``."""
_HOST_AND_PATH = re.compile(
    r"(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?/\S*|(?:www\.[\w.-]+|localhost)(?::\d+)?(?:/\S*)?"
)
_ACCESS_LINE = re.compile(r'"[A-Z]+ \S+(?: HTTP/\d\.\d)?" \d{3}\b')
"""The request and the status of a line of an access log."""
_ERROR_LINE = re.compile(r"\[client [0-9a-fA-F.:]+\] ")
_PATH = re.compile(r"[^\s/<][^\s/]*/\S*")
_URL = re.compile(r"(?:https?://|/)\S*", re.IGNORECASE)


@app.command(cls=HelpCommand, epilog=EPILOG)
def explain(
    context: typer.Context,
    query: What = None,
    listing: Listing = False,
    as_json: AsJson = False,
    verbosity: Verbose = 0,
    shows_all: AllSteps = False,
    no_pager: NoPager = False,
    host: Host = "",
    source: From = "",
    client_host: ClientHost = "",
    address: To = "",
    user: User = "",
    auth: Auth = "",
    method: Method = "GET",
    header: Fields = None,
    tls: Tls = False,
    client_cert: ClientCert = "",
    dialect: DialectName = "2.4",
    diff: Diff = "",
    backups: Backups = False,
    access_line: AccessLine = "",
    error_line: ErrorLine = "",
    log_format: LogFormat = "",
    root: Root = None,
    file: File = None,
    before: Before = None,
    after: After = None,
    defines: Defines = None,
    envvars: Envvars = None,
    builtin: BuiltIn = AUTO,
) -> None:
    """Explain a request (URL or log line), a change from 2.2 to 2.4, a message, a directive or a module."""
    try:
        words, paths = _words_and_paths(query or [], has_line=bool(access_line or error_line))
    except UsageError as problem:
        typer.echo(encoded(printable_line(problem.message)), err=True)
        raise typer.Exit(2) from None
    if not (access_line or error_line or listing):
        if _ERROR_LINE.search(words):
            error_line, words = words, ""
        elif _ACCESS_LINE.search(words):
            access_line, words = words, ""
    lines = before or (), after or (), defines or ()
    named = ConfigArguments(paths, root, file, *lines, envvars, as_server=bool(paths), builtin=builtin)
    place = _LINE_OF_FILE.fullmatch(words) if not (access_line or error_line or listing) else None
    is_request = bool(access_line or error_line or (not listing and _URL.fullmatch(words)))
    if backups and not is_request:
        typer.echo("--backups: it is about the answer to a request: a URL, or a line of a log", err=True)
        raise typer.Exit(2)
    if place is not None and _is_file(place[1], has_server=bool(paths or root or file)):
        _explain_line(place[1], int(place[2]), named, as_json=as_json, may_page=not no_pager)
        return
    if words and not (access_line or error_line or listing or backups) and _names_file(words, named):
        _explain_file(words, named, as_json=as_json, may_page=not no_pager)
        return
    if is_request:
        from whimbrel.cli.explain_request import (
            ConfigurationChoice,
            HostWantedError,
            OutputChoice,
            RequestChoice,
            explain_request,
        )
        from whimbrel.explain.request_description import RequestDescription

        try:
            described = RequestDescription(
                from_system(words),
                from_system(host),
                _address("--from", source),
                _address("--to", address),
                from_system(user),
                method,
                tuple(map(_field, header or [])),
                tls,
                client_cert,
                client_host,
                auth,
            )
            code = explain_request(
                ConfigurationChoice(named, dialect, "dialect" not in given_names(context), backups),
                RequestChoice(described, access_line, error_line, log_format),
                diff,
                OutputChoice(
                    as_json, bool(verbosity) or shows_all, verbosity < 2 and not shows_all, not no_pager
                ),
            )
        except UsageError as problem:
            typer.echo(encoded(printable_line(problem.message)), err=True)
            has_page = error_line and not isinstance(problem, HostWantedError)
            code = 0 if has_page and _explain_words(error_line, as_json) else 2
            raise typer.Exit(code) from None
        raise typer.Exit(code)
    if listing:
        _print_list(words, as_json)
        return
    if not words.strip():
        raise typer.BadParameter("say what is to be explained, or --list")
    if not _explain_words(words, as_json) and not _explain_without_server(query or [], as_json):
        _fail_unknown(words)


def _words_and_paths(words: list[str], *, has_line: bool = False) -> tuple[str, tuple[Path, ...]]:
    """Return what is to be explained, and the path of a server that stands behind or before a URL, a file or
    a line of one, or a line of a log, as check, upgrade and verify take it; alone if an option has the line.

    Raises UsageError if what stands there is no path.
    """
    if has_line and len(words) == 1:
        if not os.path.exists(words[0]):
            raise UsageError(f"{from_system(words[0])}: no such file or directory")
        return "", (Path(words[0]),)
    if len(words) == 2:
        for what, path in (words, reversed(words)):  # the path of a server may look like a URL
            if _is_file_of_server(what, path):
                return what, (Path(path),)
        for what, path in (words, reversed(words)):
            if _needs_server(what) and os.path.exists(path):
                return what, (Path(path),)
        for what, path in (words, reversed(words)):
            is_path = path.startswith("/") or not _needs_server(path)
            is_existing = what != "/" and os.path.exists(what)
            if _needs_server(what) and is_path and not is_existing:  # else this machine's server would answer
                raise UsageError(f"{from_system(path)}: no such file or directory")
    return " ".join(words), ()


def _needs_server(what: str) -> bool:
    """Return True for a URL, a line of a file, and a line of a log."""
    of_file = _URL.fullmatch(what) or _LINE_OF_FILE.fullmatch(what)
    return bool(of_file or _ACCESS_LINE.search(what) or _ERROR_LINE.search(what))


def _explain_without_server(words: list[str], as_json: bool) -> bool:
    """Print what is known about one of two *words* whose other one is a path: no server decides about it."""
    for what, path in (words, reversed(words)) if len(words) == 2 else ():
        if "/" in path and os.path.exists(path) and _explain_words(what, as_json):
            note = f"{from_system(path)}: not read, as what {what} means is the same for every server"
            typer.echo(encoded(printable_line(note)), err=True)
            return True
    return False


def _is_file_of_server(what: str, path: str) -> bool:
    """Return True if *path* is a main file here, or a directory below which the file *what* is."""
    if path == "/" or not _names_file(what, ConfigArguments([Path(path)])):
        return False
    if os.path.isfile(path):
        return True
    top = f"{os.path.realpath(path)}/"
    if not os.path.isdir(top):
        return False
    return os.path.isfile(os.path.join(path, what)) or os.path.realpath(what).startswith(top)


def _is_file(path: str, *, has_server: bool) -> bool:
    """Return True if *path* is a file here, or no host name, so that it may be a file of a named server."""
    if os.path.isfile(path):
        return True
    return has_server and not path.startswith("/") and not _HOST_AND_PATH.fullmatch(path)


def _names_file(path: str, named: ConfigArguments) -> bool:
    """Return True if *path* names a file, of the working directory or of the server *named*."""
    if "/" not in path and "." not in path:  # a directive or a module may have the name of a file
        is_named = bool(named.root or named.file or named.paths)
        return is_named and any(os.path.isfile(os.path.join(top, path)) for top in _tops(named))
    return os.path.isfile(path) or any(os.path.isfile(os.path.join(top, path)) for top in _tops(named))


def _tops(named: ConfigArguments) -> Iterator[str]:
    """Yield the directories from which a path may be named: those of what is read."""
    for one in (*named.paths, *([named.root] if named.root else [])):
        yield os.fspath(one) if Path(one).is_dir() else os.path.dirname(os.fspath(one))
    if named.file:
        yield os.path.dirname(os.path.join(os.fspath(named.root or ""), os.fspath(named.file)))


def _explain_file(path: str, named: ConfigArguments, *, as_json: bool, may_page: bool) -> None:
    """Print what changes in a file."""
    from whimbrel.cli.explain_file import explain_file

    try:
        explain_file(from_system(path), named, as_json=as_json, may_page=may_page)
    except (UsageError, OSError) as problem:
        typer.echo(encoded(printable_line(str(problem))), err=True)
        raise typer.Exit(2) from None


def _explain_line(path: str, number: int, named: ConfigArguments, *, as_json: bool, may_page: bool) -> None:
    """Print what stands at a line of a file."""
    from whimbrel.cli.explain_line import explain_line

    try:
        explain_line(from_system(path), number, named, as_json=as_json, may_page=may_page)
    except (UsageError, OSError) as problem:
        typer.echo(encoded(printable_line(str(problem))), err=True)
        raise typer.Exit(2) from None


def _explain_words(words: str, as_json: bool) -> bool:
    """Print what is known about *words*; return False if that is nothing."""
    from whimbrel.upgrade.documents.explain import explain as explain_query

    explanations = explain_query(words)
    if explanations and as_json:
        typer.echo(json.dumps([asdict(explanation) for explanation in explanations], indent=1))
    elif explanations:
        _print_explanations(explanations)
    return bool(explanations)


def _address(option: str, text: str) -> str:
    """Return the value of *option*, an IP address or ""; raises UsageError for other text: Require ip and
    Allow from would refuse it, as if there were such a client.
    """
    from whimbrel.base.net import numeric_address

    if text and numeric_address(text)[1] < 0:
        raise UsageError(f"{option} {text}: not an IP address")
    return text


def _field(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
        raise UsageError("--header: not of the form 'Name: value'")
    return name, from_system(value.strip())


def _print_explanations(explanations: list[Explanation]) -> None:
    """Print Markdown: rendered on a terminal, as source elsewhere."""
    if not sys.stdout.isatty():
        typer.echo("\n".join(explanation.body for explanation in explanations), nl=False)
        return
    from rich.markdown import Markdown

    from whimbrel.base.rich_console import terminal_console
    from whimbrel.upgrade.documents.explain import marked_up

    console = terminal_console(no_color=bool(os.environ.get("NO_COLOR")) or None)
    for explanation in explanations:
        console.print(Markdown(marked_up(explanation.body)))


def _print_list(word: str, as_json: bool) -> None:
    from whimbrel.upgrade.documents.explain import search

    rows = search(word)
    if as_json:
        typer.echo(json.dumps([{"name": name, "title": title} for name, title in rows], indent=1))
    else:
        for name, title in rows:
            typer.echo(f"{name:8} {title}")
    if not rows:
        typer.echo(f"nothing has {word!r} in it", err=True)
        raise typer.Exit(2)


def _fail_unknown(words: str) -> None:
    from whimbrel.upgrade.documents.explain import suggestions

    words = without_user(words)
    name, _, server = words.partition(" ")
    if server and os.path.exists(server) and ("/" in name or name.endswith(".conf")):
        typer.echo(
            encoded(f"{from_system(name)!r}: no such file here, nor in {from_system(server)}"), err=True
        )
        raise typer.Exit(2)
    line = _LINE_OF_FILE.fullmatch(words)
    if line is not None and ("/" in line[1] or line[1].endswith(".conf")):
        hint = f"name the server that reads it: {command_line('explain', words, 'SERVER')}"
        typer.echo(encoded(f"{from_system(line[1])!r}: no such file here\nhint: {hint}"), err=True)
        raise typer.Exit(2)
    if _HOST_AND_PATH.fullmatch(words):
        hint = command_line("explain", f"http://{words}")
        typer.echo(encoded(f"{words!r} is no URL: it has no scheme\nhint: {hint}"), err=True)
        raise typer.Exit(2)
    if _PATH.fullmatch(words):
        path = words.partition("://")[2].partition("/")[2] if "://" in words else words
        url = f"http:/{words[5:]}" if words.lower().startswith("http:/") else f"/{path}"
        fault = f"{words!r} is no URL: it begins with none of http://, https:// and /"
        typer.echo(encoded(f"{from_system(fault)}\nhint: {command_line('explain', url)}"), err=True)
        raise typer.Exit(2)
    close = suggestions(words)
    hint = f"; did you mean {', '.join(close)}?" if close else "; `whimbrel explain --list` shows what is"
    typer.echo(f"nothing is known about {words!r}{hint}", err=True)
    raise typer.Exit(2)
