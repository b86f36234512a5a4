"""The command that follows an upgrade or a verification, with the words that name the same configuration."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from whimbrel.base.dialect import V22
from whimbrel.base.latin1 import from_system, to_bytes
from whimbrel.cli.options import given_words

if TYPE_CHECKING:
    import typer

    from whimbrel.config.options import LoadOptions
    from whimbrel.verify.verification import VerifyResult

_READ: Final = frozenset(("before", "after", "defines", "envvars"))
"""The parameters that `verify` and `ctl` have too, beside those that name the server."""
_NAMED: Final = frozenset(("conf", "root", "file", "envvars"))
"""The parameters that `--undo` needs."""
_COMPARED: Final = frozenset(("old", "new", "old_dialect", "new_dialect"))
"""The parameters that name the sides of a comparison."""
MORE_REQUESTS: Final = 200_000
"""The number of requests that is offered where they ended before every line was asked for."""


def command_line(*words: str) -> str:
    """Return a command line of `whimbrel` with one character per byte; a terminal shows all of it."""
    return " ".join(["whimbrel", *map(_quoted, words)])


def _quoted(word: str) -> str:
    """Return *word* quoted for a shell, by ``$'...'`` if a terminal would act on it or hide a part of it."""
    text = from_system(word)
    data = to_bytes(text)
    if data.decode("utf-8", "surrogateescape").isprintable():
        return shlex.quote(text)
    return "$'%s'" % "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b"\\'" else f"\\x{byte:02x}" for byte in data
    )


def after_upgrade(
    context: typer.Context, options: LoadOptions | None, out: Path | None, *, is_changed: bool
) -> list[str]:
    """Return the lines behind a written upgrade: what comes next, and what undoes it.

    *options* are those of the server, None for fragments; *out* is the directory of a copy. *is_changed*: a
    file was written.
    """
    lines: list[str] = []
    if options is not None and out is not None:
        old, new = _sides(options, out)
        lines.append(command_line("verify", *given_words(context, _READ), old, new))
    elif options is not None and _is_in_place(options):
        lines.append(configtest(options.server_root, options.file, given_words(context, _READ)))
    lines = [f"Next: {line}" for line in lines]
    if is_changed and out is None:
        lines.append(f"Undo: {command_line('upgrade', '--undo', *given_words(context, _NAMED))}")
    return lines


def after_fleet(
    context: typer.Context,
    paths: Sequence[Path],
    out: Path | None,
    names: frozenset[str],
    *,
    is_written: bool,
) -> str:
    """Return the command behind an upgrade of many servers: the same with *out*, or the comparison; "" for
    none. *names* are the parameters that the same command repeats.
    """
    if is_written:
        return ""
    if out is None:
        return command_line("upgrade", "--fleet", *given_words(context, names), "--out", "upgraded")
    if len(paths) != 1:  # verify has one OLD
        return ""
    return command_line("verify", "--fleet", *given_words(context, _READ), str(paths[0]), str(out))


def after_verify(
    context: typer.Context,
    both: tuple[LoadOptions, LoadOptions],
    result: VerifyResult,
    dialects: tuple[str, str],
) -> str:
    """Return the line behind a verification: how to look at its first difference, what upgrades the text, or
    the check of the new server; "" for none.
    """
    words = given_words(context, _READ)
    old, new = both
    if old is new and dialects[0] == V22.name != dialects[1] and (result.groups or result.errors[1]):
        return f"Next: {command_line('upgrade', *given_words(context, _READ | _NAMED | {'old'}))}\n"
    if not result.groups and result.has_ended:
        named = given_words(context, _READ | _NAMED | _COMPARED)
        return f"Next: {command_line('verify', *named, '--limit', str(MORE_REQUESTS))}\n"
    if any(result.errors) or not (_is_in_place(old) and _is_in_place(new)):
        return ""
    if result.groups or result.not_decided:
        request = _request_words(result)
        place = os.path.join(old.server_root, old.file)
        other = dialects[0] if old is new else f"{place}@{dialects[0]}"
        sides = ["--dialect", dialects[1], "--diff", other]
        return f"Next: {command_line('explain', *request, *_named(new), *words, *sides)}\n" if request else ""
    if dialects[1] == V22.name or result.scope.deciding:
        return ""
    return f"Next: {configtest(new.server_root, new.file, words)}\n"


def _request_words(result: VerifyResult) -> list[str]:
    """Return the words of `explain` for the first request that differs, or is not decided, and that needs no
    variable and no name of a client.
    """
    examples = [example.probe for group in result.groups for example in group.examples]
    for probe in (*examples, *(one.probe for one in result.not_decided if one.probe is not None)):
        if probe.environment or probe.client_host or (probe.tls and probe.tls.peer_certificate):
            continue
        words = [probe.request_text.partition(" ")[2], "--from", probe.client]
        words += ["--host", probe.host] if probe.host else []
        words += ["--method", probe.method] if probe.method != "GET" else []
        words += ["--user", probe.user.name] if probe.user is not None else []
        return words + [word for pair in probe.fields for word in ("--header", ": ".join(pair))]
    return []


def configtest(root: str, file: str, words: list[str]) -> str:
    """Return the command that loads the server below *root* under 2.4."""
    return command_line("ctl", "configtest", *_named_by(root, file), *words)


def _named(options: LoadOptions) -> list[str]:
    return _named_by(options.server_root, options.file)


def _named_by(root: str, file: str) -> list[str]:
    """Return httpd's -d and, for a main file that no command finds there, -f."""
    return ["-d", root, *([] if _is_found(root, file) else ["-f", file])]


def _sides(options: LoadOptions, out: Path) -> tuple[str, str]:
    """Return the old and the new server as `verify` takes them: roots, or main files with other names."""
    if _is_found(options.server_root, options.file):
        return options.server_root, str(out)
    old = os.path.join(options.server_root, options.file)
    below = os.path.relpath(old, options.server_root)
    return old, os.path.join(str(out), below if not below.startswith("..") else old.lstrip("/"))


def _is_in_place(options: LoadOptions) -> bool:
    """Return True if -d and -f read the same: it is no copy whose text names another ServerRoot."""
    from whimbrel.base.real_paths import without_links
    from whimbrel.config.detected_build import main_text, server_root_of

    root = options.server_root
    declared = server_root_of(main_text(os.path.join(root, options.file)))
    return not options.copied and without_links(declared or root) == without_links(root)


def _is_found(root: str, file: str) -> bool:
    """Return True if *file* is the main file that every command finds below *root*."""
    from whimbrel.config.servers import server_of

    return server_of(root, "").path == os.path.join(root, file)
