"""The command that follows a check, an upgrade, a comparison or a test, with the words that name the same
configuration: check, upgrade, verify, configtest, and apachectl of httpd 2.4.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Container, Iterable, Sequence
from functools import partial
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Final

from whimbrel.base.counts import count_noun
from whimbrel.base.dialect import V22, V24
from whimbrel.base.latin1 import from_system, to_bytes
from whimbrel.base.layouts import DEBIAN, SUSE, UPSTREAM
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.lazy_re import compile
from whimbrel.cli.options import given_names, given_words, words_of
from whimbrel.cli.verify_differences import open_difference
from whimbrel.config.detected_build import lacks_module, main_text, server_root_of
from whimbrel.config.servers import FoundServer, server_of
from whimbrel.config.service_settings import envvars_of

if TYPE_CHECKING:
    import typer

    from whimbrel.cli.arguments import Arguments
    from whimbrel.config.options import LoadOptions
    from whimbrel.replay.summary import Summary
    from whimbrel.verify.verification import VerifyResult

READ: Final = frozenset(("before", "after", "defines", "envvars", "builtin"))
"""The parameters that `verify` and `ctl` have too, beside those that name the server."""
NAMED: Final = frozenset(("conf", "root", "file", "envvars"))
"""The parameters that `--undo` needs."""
_COMPARED: Final = frozenset(("old", "new", "old_dialect", "new_dialect", "backups", "with_httpd"))
"""The parameters that name the sides of a comparison, and the real server that is asked as well."""
_LOADS_BELOW: Final = compile(rb'(?im)^[ \t]*LoadModule[ \t]+\S+[ \t]+"?modules/')
_MODULES: Final = (
    *("/usr/lib/apache2/modules", "/usr/lib64/httpd/modules", "/usr/lib/httpd/modules"),
    "/usr/lib64/apache2",
)
"""Where packages of httpd 2.4 have their modules."""
FIRST: Final = "First: "
"""Begin of the line with what comes before the next command."""
IS_BUILT_IN: Final = "is built-in and can't be loaded"
"""In httpd's message about LoadModule of a module that it has compiled in."""
_RECORD: Final = (
    "# whimbrel: ignore[DIFF] above its line, or its section, of the new text records that you did"
)
NOT_TRIED: Final = "Whimbrel's test did not try module files; that of httpd, which comes next, does."
LAST: Final = "Last: it takes the new text live, once httpd 2.2 is stopped"
"""Stands behind a command that takes the new text live."""
GO_LIVE: Final = (
    "Last: put the new text in its place on the server, stop httpd 2.2, then start 2.4: "
    "apachectl -t && apachectl start"
)
"""Stands behind a trial of the new text after which nothing is left but to go live."""
MAX_LOGS: Final = 4
"""Logs that a command names."""
FREE_PORTS: Final = 1024
"""The first port that needs no root."""
OFFSET: Final = 8000
"""What is added to a port that needs root, as `whimbrel serve` proposes."""
MORE_REQUESTS: Final = 200_000
"""The number of requests that is offered where they ended before every line was asked for."""


def command_line(*words: str) -> str:
    """Return a command line of `whimbrel` with one character per byte; a terminal shows all of it."""
    return quoted_words("whimbrel", *words)


def quoted_words(*words: str) -> str:
    """Return *words* quoted for a shell, with one character per byte."""
    return " ".join(map(_quoted, words))


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
    context: typer.Context,
    options: LoadOptions | None,
    out: Path | None,
    *,
    is_changed: bool,
    is_of_24: bool = False,
    without: Container[str] = (),
) -> list[str]:
    """Return the lines behind a written upgrade: what comes next, and what undoes it.

    *options* are those of the server, None for fragments; *out* is the directory of a copy. *is_changed*: a
    file was written. *is_of_24*: the old text is one for 2.4, which 2.2 does not load: there is nothing to
    compare. *without*: the words of files that were named beside their server, which has all.
    """
    lines: list[str] = []
    target = words_of(context, "target_build")
    is_named = target in ([DEBIAN], [SUSE], [UPSTREAM]) and "builtin" not in given_names(context)
    builtin = ["--builtin", *target] if is_named else []
    if options is not None and out is None and is_of_24 and _is_in_place(options):
        words = [*builtin, *given_words(context, READ)]
        lines.append(configtest(options.server_root, options.file, words))
    elif options is not None and out is not None:
        old, new = _sides(options, out)
        lines.append(command_line("verify", *builtin, *given_words(context, READ), old, new))
    elif options is not None and is_changed:
        words = [*builtin, *given_words(context, READ | NAMED, without=without)]
        lines.append(command_line("verify", "--backups", *words))
    elif options is not None and _is_in_place(options):
        words = [*builtin, *given_words(context, READ)]
        lines.append(configtest(options.server_root, options.file, words))
    elif options is not None:
        lines.append(serving(options))
    elif is_changed and out is None:  # no answer of a part can be compared
        lines.append(command_line("check", *given_words(context, NAMED, without=without)))
    lines = [f"Next: {line}" for line in lines]
    if is_changed and out is None:
        undone = given_words(context, NAMED, without=without)
        lines.append(f"Undo: {command_line('upgrade', '--undo', *undone)}")
    return lines


def loading_command(context: typer.Context, options: LoadOptions) -> str:
    """Return the command that loads a server under 2.4 in its own place, "" for a copy."""
    if not _is_in_place(options):
        return ""
    return configtest(options.server_root, options.file, given_words(context, READ))


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
    return command_line("verify", "--fleet", *given_words(context, READ), str(paths[0]), str(out))


def after_verify(
    context: typer.Context,
    both: tuple[LoadOptions, LoadOptions],
    result: VerifyResult,
    dialects: tuple[str, str],
) -> str:
    """Return the lines behind a verification: what upgrades the text, what decides the rest, how to look at
    the first difference, or the test of the new server; "" for none.
    """
    from whimbrel.upgrade.knowledge.scope import UnknownKind
    from whimbrel.verify.verification import Verdict, is_of_access  # most commands do without the engine

    words = given_words(context, READ)
    repeated = given_words(context, READ | NAMED | _COMPARED)
    old, new = both
    given = given_names(context)
    is_one_text = old is new and dialects[0] == V22.name != dialects[1]
    test = ""
    if dialects[1] != V22.name and not result.no_start and _is_in_place(new, result.files):
        test = configtest(new.server_root, new.file, words)
    if is_one_text and all(result.errors):  # its first line says what stops both
        return _next(command_line("check", *_named(new), *words))
    if is_one_text and (result.causes_to_review or result.errors[1]):
        return _next(command_line("upgrade", *given_words(context, READ | NAMED | {"old"})))
    if result.errors[1]:
        return _next(command_line("check", *_named(new), *given_words(context, READ)))
    if any(item.kind is UnknownKind.WRITTEN for item in result.scope.items) and "backups" not in given:
        return _next(command_line("verify", "--backups", *words, _path_of(old.server_root, old.file)))
    if result.errors[0]:
        return _next(command_line("check", *_named(old), *words))
    onward = _replay_of(context, both, result, dialects) or test
    onward = onward or serving(new, result.ports, given_words(context, {"defines"}))
    if result.causes_to_review:
        place = os.path.join(old.server_root, old.file)
        other = dialects[0] if old is new else f"{place}@{dialects[0]}"
        compared = ["--backups"] if "backups" in given else ["--diff", other]
        sides = [*_named(new), *words, "--dialect", dialects[1], *compared]
        sentence, request = open_difference(result)
        if request:
            inspection = command_line("explain", *request, *sides)
        elif words_of(context, "shape") == ["html"]:  # its page would name itself
            inspection = command_line("verify", *repeated)
        else:
            inspection = f"{command_line('verify', *repeated, '--format', 'html')} > differences.html"
        if result.has_stop or any(map(is_of_access, result.causes_to_review)):
            repetition = f"Once it is corrected or decided: {command_line('verify', *repeated)}\n"
            return f"{FIRST}{sentence}\n{repetition}{_next(inspection)}"
        return f"{FIRST}{sentence}: {inspection}\n{_next(onward)}"
    if result.has_stop:
        return _next(command_line("check", *_named(new), *words))
    if result.verdict is Verdict.NOT_DECIDED:
        return _after_undecided(result, repeated, onward, is_test=bool(test))
    return _last(onward)


def _replay_of(
    context: typer.Context,
    both: tuple[LoadOptions, LoadOptions],
    result: VerifyResult,
    dialects: tuple[str, str],
) -> str:
    """Return the command that replays the logs of the old server that are on this machine; "" without one,
    and where a replay has not the options of the comparison.
    """
    given = given_names(context)
    if given & (READ - {"defines"}) or "2.4" not in dialects[1:]:
        return ""
    old, new = both
    logs = result.logs[:MAX_LOGS]
    if not logs:
        return ""
    sides = ["--new", _path_of(new.server_root, new.file)]
    if "backups" in given:
        sides += ["--backups"]
    else:
        sides = ["--old", _path_of(old.server_root, old.file), *sides]
        sides += ["--old-dialect", dialects[0]] if dialects[0] != V22.name else []
    return command_line("replay", *logs, *sides, *given_words(context, {"defines"}))


def serving(options: LoadOptions, ports: Iterable[int] = (), words: Iterable[str] = ()) -> str:
    """Return the command that serves the server of *options*, which replaces what this machine lacks.

    *ports* are those of its Listen lines, if they are known: the server is then one for this machine alone,
    at ports that need no root. *words*: -D and its relatives.
    """
    local = ["--loopback"] if ports else []
    for port in sorted({port for port in ports if port < FREE_PORTS}):
        local += ["--port", f"{port}={port + OFFSET}"]
    return command_line("serve", *local, *words, _path_of(options.server_root, options.file))


def _path_of(root: str, file: str) -> str:
    """Return the path by which every command finds the server: its root, or a main file of another name."""
    return root if _is_found(root, file) else os.path.join(root, file)


def _after_undecided(result: VerifyResult, repeated: list[str], following: str, *, is_test: bool) -> str:
    """Return what makes the facts known, or who decides about them, and the command that comes then."""
    from whimbrel.verify.verification import LINE_OR_CHAIN

    repetition = command_line("verify", *repeated)
    if result.has_ended or result.is_cut:
        more = command_line("verify", *repeated, "--limit", str(MORE_REQUESTS))
        return _next(more) + (f"Or, as it is: {following}\n" if is_test else "")
    lines = []
    by_hand = len(result.not_decided)
    unknown = len(result.scope.deciding)
    if unknown:
        facts = count_noun(unknown, "fact")
        has_line = any(item.place is not None and not item.is_old for item in result.scope.deciding)
        record = f"; {_RECORD}" if has_line and result.dialects == (V22.name, V24.name) else ""
        lines.append(
            f"Not known: {facts}; what gives each is named above{record}. Once it is given: {repetition}"
        )
    if by_hand:
        what = count_noun(by_hand, *LINE_OR_CHAIN)
        has_line = any(one.places[1] for one in result.not_decided)
        if has_line and result.dialects == (V22.name, V24.name):
            record = _RECORD
        else:
            record = "no option and no file decides it, and no comment records that you did"
        lines.append(f"Not decided: {what} above: look at each; {record}")
    is_one = by_hand + unknown == 1
    if lines:
        lines.append(f"When {'that is' if is_one else 'all that is'} known or looked at:")
    return "".join(f"{line}\n" for line in lines) + _next(following)


def after_replay(
    summary: Summary,
    old: Path | None,
    new: Path,
    onward: str,
    words: Sequence[str] = (),
    *,
    has_backups: bool = False,
) -> str:
    """Return the line behind a replay: how to look at the first change, or *onward*, the command of the step
    that comes then.

    *words*: -D with the names of this replay. *has_backups*: the old side is what an upgrade replaced in
    *new*.
    """
    if summary.errors:
        return _next(command_line("check", *words, str(new)))
    before, after = summary.dialects
    defines = list(words)
    other = f"{old}@{before}" if old is not None else before
    for key, change in summary.changes:
        if change.words and not summary.is_excepted(key):
            diff = ["--backups"] if has_backups else ["--diff", other]
            url, *more = change.words
            words = [url, str(new), *more, *words, "--dialect", after, *diff]
            return _next(command_line("explain", *words))
    if summary.to_decide:
        following = _next(command_line("check", *defines, str(new)))
        return f"{FIRST}make the choices that the next command names, then replay again\n{following}"
    if has_backups or (old is not None and summary.dialects == (V22.name, V24.name)):
        sides = ["--backups", str(new)] if has_backups else [str(old), str(new)]
        return (
            f"What no logged request asks is compared by: {command_line('verify', *words, *sides)}\n"
            f"{_last(onward)}"
        )
    return _last(onward)


def live_command(options: LoadOptions, ports: Iterable[int], words: Sequence[str], *, is_tested: bool) -> str:
    """Return the test of the server of *options* if *is_tested*, in its place; else, and of a copy, the
    command that serves it. *ports*, *words*: see `serving`.
    """
    if is_tested and _is_in_place(options):
        return configtest(options.server_root, options.file, list(words))
    return serving(options, ports, words)


def _next(line: str) -> str:
    return f"Next: {line}\n"


def _last(line: str) -> str:
    """Return the line with the next command, and that it is the last one of the way, if none follows it."""
    if line.startswith("whimbrel serve "):
        return f"{_next(line)}{GO_LIVE}\n"
    return f"{_next(line)}{LAST}\n" if "apachectl" in line else _next(line)


def command_of(following: str) -> str:
    """Return the command of the line with the next one in *following*, for a page; "" for none."""
    return next((line[6:] for line in following.splitlines() if line.startswith("Next: ")), "")


def first_of(following: str) -> str:
    """Return what *following* says is to do first, for a page; "" for nothing."""
    lines = (line for line in following.splitlines() if line.startswith(FIRST))
    return next(lines, "").removeprefix(FIRST)


def after_configtest(arguments: Arguments, *, is_valid: bool) -> str:
    """Return the lines behind a test: the commands of httpd 2.4 that test and start or reload the server, or
    what explains the failure; "" for a text that is read by the rules of 2.2.
    """
    if arguments.dialect == V22.name:
        return ""
    server = server_of(arguments.root, arguments.file, arguments.named_build)
    named = [word for pair in _pairs(arguments) for word in pair]
    given = [*_named_by(server.root, server.file), *named]
    if not is_valid:
        envvars = ["--envvars", arguments.envvars] if arguments.envvars else []
        served = _served_trial(arguments, server, [*envvars, *named])
        if served:  # a check has nothing to say about files that are missing
            what = "put what is named above in its place, or serve without it; the text itself loads"
            tested = command_line("ctl", "configtest", *given, *envvars)
            return f"{FIRST}{what}\nOnce it is there, towards httpd 2.4: {tested}\n{_next(served)}"
        return _next(command_line("check", *given, *envvars))
    if which("apachectl") is None:  # of httpd 2.4, which is not here
        trial = _served_trial(arguments, server, named)
        return _last(trial or command_line("serve", *named, _path_of(server.root, server.file)))
    refused = _refused_by_httpd(arguments, server, given)
    if refused:
        return refused
    if server.path == server_of("", "").path and not named:
        return f"{NOT_TRIED}\n{_last('apachectl configtest && apachectl graceful')}"
    file = os.path.relpath(server.path, server.root) if server.path.startswith(server.root) else server.path
    words = ["apachectl", "-d", server.root, "-f", file, *named]
    variables = arguments.envvars or envvars_of(server)
    start = f"APACHE_ENVVARS={_quoted(os.path.abspath(variables))} " if variables else ""
    line = f"{start}{quoted_words(*words)}"
    return f"{NOT_TRIED}\n{_last(f'{_modules_link(server)}{line} -t && {line} -k graceful')}"


def _served_trial(arguments: Arguments, server: FoundServer, words: list[str]) -> str:
    """Return the command that serves *server* for this machine alone; "" where 2.4 refuses the text though
    nothing is missing that its lines name.
    """
    from whimbrel.upgrade.check.loading import load
    from whimbrel.verify.tls_ports import ports_of

    options = _read_options(arguments, server)
    configuration = load(options, V24)[0] if options is not None else None
    if options is None or configuration is None:
        return ""
    return serving(options, ports_of(configuration), words)


def _read_options(arguments: Arguments, server: FoundServer) -> LoadOptions | None:
    """Return the options of a command that reads the text of *server*; None for a text that it refuses."""
    from whimbrel.cli.options import ConfigArguments, sources
    from whimbrel.utilities.usage_error import UsageError

    named = ConfigArguments(
        paths=[],
        root=Path(server.root),
        file=Path(server.file),
        before=arguments.before,
        after=arguments.after,
        defines=arguments.defines,
        envvars=Path(arguments.envvars) if arguments.envvars else None,
    )
    try:
        return sources(named)[0].options
    except UsageError:
        return None


def _refused_by_httpd(arguments: Arguments, server: FoundServer, given: list[str]) -> str:
    """Return the lines about a text that the httpd of this machine refuses, as the text loads modules that it
    has compiled in; "" for another httpd, and for a text that it accepts.
    """
    from whimbrel.upgrade.check.loading import load

    modules = _modules_of_httpd(server)
    if not modules or not (lacks_module(modules, "mod_unixd") and lacks_module(modules, "mod_log_config")):
        return ""
    options = _read_options(arguments, server)
    problem = None if options is None else load(replace(options, build=DEBIAN), V24)[1]
    if problem is None or IS_BUILT_IN not in problem.text:
        return ""
    return (
        f"httpd 2.4 of this machine is Debian's, which does not start with this text:\n    {problem.text}\n"
        f"{_next(command_line('upgrade', '--write', '--target-build', DEBIAN, *given))}"
    )


def _modules_of_httpd(server: FoundServer) -> str:
    """Return the directory of the modules that the text loads below its root, "" for none here."""
    if not _LOADS_BELOW.search(main_text(from_system(server.path))):
        return ""
    below = os.path.join(server.root, "modules")
    return below if os.path.lexists(below) else next(filter(os.path.isdir, _MODULES), "")


def _modules_link(server: FoundServer) -> str:
    """Return the command that gives a copy the modules of this machine, if its text loads them below its root
    and has none there; "" else.
    """
    link = os.path.join(server.root, "modules")
    found = _modules_of_httpd(server)
    return f"{quoted_words('ln', '-s', found, link)} && " if found not in ("", link) else ""


def _pairs(arguments: Arguments) -> list[tuple[str, str]]:
    lines = ("-C", arguments.before), ("-c", arguments.after), ("-D", arguments.defines)
    return [(option, word) for option, words in lines for word in words]


def configtest(root: str, file: str, words: list[str]) -> str:
    """Return the command that loads the server below *root* under 2.4."""
    return command_line("ctl", "configtest", *_named_by(root, file), *words)


def _named(options: LoadOptions) -> list[str]:
    return _named_by(options.server_root, options.file)


def _named_by(root: str, file: str) -> list[str]:
    """Return httpd's -d and, for a main file that no command finds there, -f."""
    return ["-d", root, *([] if _is_found(root, file) else ["-f", file])]


def _sides(options: LoadOptions, out: Path) -> tuple[str, str]:
    """Return the old and the new server as `verify` takes them: roots, or main files with other names; both
    as absolute paths.
    """
    place_of_copy = os.path.abspath(out)
    if options.image:
        place = _path_of(options.server_root, options.file)
        return place, place_of_copy + place.removeprefix(options.image)
    if _is_found(options.server_root, options.file):
        return options.server_root, place_of_copy
    old = os.path.join(options.server_root, options.file)
    below = os.path.relpath(old, options.server_root)
    return old, os.path.join(place_of_copy, below if not below.startswith("..") else old.lstrip("/"))


def _is_in_place(options: LoadOptions, files: Iterable[str] = ()) -> bool:
    """Return True if -d and -f read the same: it is no copy whose text names the places of the original.

    *files*: those that were read, which show whether a copy does.
    """
    from whimbrel.base.real_paths import without_links

    root = options.server_root
    declared = server_root_of(main_text(os.path.join(root, options.file)))
    if without_links(declared or root) != without_links(root):
        return False
    originals = [to_bytes(original) for original, _ in options.copied]
    texts = [main_text(path) for path in files if path.startswith(f"{root}/")]
    return not originals or bool(texts) and not any(map(partial(_names, originals), texts))


def _names(paths: list[bytes], text: bytes) -> bool:
    """Return True if a line of *text* that is no comment has one of *paths*."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith(b"#"))
    return any(path in line for line in lines for path in paths)


def _is_found(root: str, file: str) -> bool:
    """Return True if *file* is the main file that every command finds below *root*."""
    return server_of(root, "").path == os.path.join(root, file)
