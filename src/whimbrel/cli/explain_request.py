"""`whimbrel explain URL`: the way of one request, as a tree or as JSON, for one configuration or two.

Exit codes: 0 explained; 1 the configuration does not load, or the answers of --diff differ; 2 wrong usage; 3
explained, but something that may matter to the request is not known.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from whimbrel.base.dialect import V22
from whimbrel.base.latin1 import from_system, to_bytes
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.base.terminal_text import shown, terminal_width
from whimbrel.cli.options import (
    EXIT_FINDINGS,
    EXIT_OK,
    EXIT_REVIEW,
    ColorMode,
    ConfigArguments,
    is_colored,
    sources,
)
from whimbrel.cli.terminal import write_text
from whimbrel.utilities.usage_error import UsageError

if TYPE_CHECKING:
    from whimbrel.api.loaded_site import LoadedSite
    from whimbrel.config.options import LoadOptions
    from whimbrel.config.origins import Origin
    from whimbrel.explain.logged_answers import LoggedOutcome
    from whimbrel.explain.request_description import RequestDescription
    from whimbrel.explain.step import RequestExplanation
    from whimbrel.replay.host_logs import LoggingHost, LogOwners
    from whimbrel.replay.log_format import LineFormat
    from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem
    from whimbrel.verify.probe import Probe
    from whimbrel.verify.side import Side

DIALECTS = ("2.2", "2.4", "guide")
MAX_HOSTS: Final = 6
"""Virtual hosts that a message names."""


class HostWantedError(UsageError):
    """A line of a log may be that of several virtual hosts."""


@dataclass(frozen=True, slots=True)
class ConfigurationChoice:
    """The configuration that is asked.

    Attributes:
        dialect: the version that answers; *is_default*: it was not given.
        has_backups: what an upgrade replaced is asked too, by the rules of 2.2, or alone if *dialect* is 2.2.
    """

    named: ConfigArguments = ConfigArguments()
    dialect: str = "2.4"
    is_default: bool = False
    has_backups: bool = False

    @property
    def directory(self) -> str:
        """The tree whose upgrade counts."""
        return sources(self.named)[1]

    def unknown_texts(self, files: Iterable[str], *explanations: RequestExplanation) -> Iterable[UnknownItem]:
        """Return the items about texts from before the upgrade that are not known, if they are asked."""
        if not self.has_backups:
            return ()
        from whimbrel.cli.explain_backups import unknown_before_upgrade

        return unknown_before_upgrade(self.directory, files, explanations)

    def upgrade_hint(self, *, is_of_24: bool, is_stopped: bool) -> str:
        """Return the option that compares the text with that of 2.2; "" if the text itself may be of 2.2.

        *is_of_24*: no 2.2 loads the text that is on disk. *is_stopped*: it does not load under 2.2.
        """
        from whimbrel.cli.explain_backups import has_backups

        if self.has_backups:
            return "without --dialect, --backups compares with what is there"
        if (is_of_24 or is_stopped) and has_backups(self.directory):
            return "--backups compares with the text of 2.2 that the upgrade replaced"
        return "--diff OLD@2.2 compares with the text of 2.2 in OLD" if is_of_24 else ""

    def options(self, conf: Path | None = None) -> LoadOptions:
        """Return the options of reading; *conf* is a main file or directory in place of -d and -f."""
        named = self.named
        if conf is not None:
            named = replace(named, paths=[conf], root=None, file=None, as_server=True)
        found = sources(named)[0].options
        if found is None:
            raise UsageError(f"{named.paths[0]}: not the configuration of a server")
        return found


@dataclass(frozen=True, slots=True)
class RequestChoice:
    """What the command line says about the request."""

    described: RequestDescription
    access_line: str = ""
    error_line: str = ""
    log_format: str = ""

    @property
    def is_logged(self) -> bool:
        """Return True if a line of a log has the request."""
        return bool(self.access_line or self.error_line)


@dataclass(frozen=True, slots=True)
class OutputChoice:
    """How the explanation is printed.

    Attributes:
        is_verbose: with all steps, as a tree.
        is_folded: of the sub-requests of a listing the tree has the number alone.
    """

    as_json: bool = False
    is_verbose: bool = False
    is_folded: bool = True
    may_page: bool = True


def explain_request(
    choice: ConfigurationChoice, request: RequestChoice, diff: str, output: OutputChoice
) -> int:
    """Print the explanation; return the exit code.  Raises UsageError."""
    from whimbrel.api.loaded_site import LoadedSite
    from whimbrel.explain.cause import cause_of
    from whimbrel.explain.tls_versions import certificate_notice, connection_notice
    from whimbrel.explain.version_notice import (
        has_lines_of_24,
        is_of_22,
        refused_htaccess,
        version_notice,
    )
    from whimbrel.report.knowledge import as_json as as_json_scope
    from whimbrel.verify.loading import load_side

    if choice.is_default and diff == choice.dialect:
        choice = replace(choice, dialect=V22.name)  # a comparison of 2.4 with itself says nothing
    if choice.dialect not in DIALECTS:
        raise UsageError(f"--dialect {choice.dialect}: not one of {', '.join(DIALECTS)}")
    options, other_options, other_dialect = _both_options(choice, diff)
    is_compared = bool(diff) or (choice.has_backups and choice.dialect != V22.name)
    options, other_options, documents = _with_same_documents(
        (options, choice.dialect), (other_options, other_dialect), is_compared=is_compared
    )
    new = load_side(options, choice.dialect)
    if choice.is_default and request.is_logged and not is_compared and is_of_22(new):
        new = load_side(options, V22.name)  # a log has the answers of the server that wrote it
    other = load_side(other_options, other_dialect) if is_compared else new
    is_of_24 = new.dialect.name != V22.name and has_lines_of_24(new)
    new, upgraded = _as_upgraded(new, options)
    other, other_upgraded = _as_upgraded(other, other_options) if is_compared else (new, upgraded)
    probe, logged = _probe(new if new.is_loaded else other, request)
    if not is_compared:
        explanation, scope, about_log = _explained(LoadedSite(new), probe, logged)
        refused = refused_htaccess(explanation)
        if refused is not None:
            written, about_file = _as_upgraded(new, options, refused)
            after = _explained(LoadedSite(written), probe, logged) if about_file else None
            if after is not None and has_lines_of_24(new):  # its server answers 500
                upgraded = f"{about_file.partition(': ')[0]}: {_after_upgrade(after[0])}"
            elif after is not None:
                new = written
                upgraded = about_file
                explanation, scope, about_log = after
        scope = scope.with_items(choice.unknown_texts(scope.files_read, explanation))
        site = LoadedSite(new)
        about_tls = connection_notice(new, probe)
        about_tls = about_tls or certificate_notice(new, probe, explanation, lambda one: site.explain(one)[0])
        if output.as_json:
            notice = "; ".join(filter(None, (upgraded, logged.taken_for, about_log, about_tls)))
            document = {
                **explanation.as_dict(),
                "because": cause_of(explanation).as_dict(),
                **({"notice": notice} if notice else {}),
                "knowledge": as_json_scope(scope, options.server_root),
            }
            typer.echo(json.dumps(document, indent=1))
        else:
            notice = version_notice(new, options.server_root) if choice.is_default else ""
            notices = list(filter(None, (upgraded or notice, logged.taken_for, about_log, about_tls)))
            named = choice.named
            is_of_machine = not (named.paths or named.root or named.file)
            _print_one(
                explanation,
                scope,
                new.options,
                output,
                notices,
                logged.code,
                is_of_machine=is_of_machine,
                upgrade_hint=choice.upgrade_hint(
                    is_of_24=is_of_24 and not explanation.errors, is_stopped=_is_stopped(explanation)
                ),
            )
        if explanation.errors:
            return EXIT_FINDINGS
        return EXIT_REVIEW if explanation.status is None else scope.exit_code(EXIT_OK)
    new, upgraded = _with_htaccess(new, options, probe, upgraded)
    other, other_upgraded = _with_htaccess(other, other_options, probe, other_upgraded)
    if is_reversed(choice.dialect, other_dialect):
        return _print_both(new, other, probe, logged, output, (upgraded, other_upgraded), documents, choice)
    return _print_both(other, new, probe, logged, output, (other_upgraded, upgraded), documents, choice)


def _with_same_documents(
    own: tuple[LoadOptions, str], other: tuple[LoadOptions, str], *, is_compared: bool
) -> tuple[LoadOptions, LoadOptions, str]:
    """Return the options of both sides, each given with its dialect, and the sentence about the documents."""
    from whimbrel.verify.loading import as_copy
    from whimbrel.verify.same_documents import as_copies

    if not is_compared:
        return as_copy(own[0], own[0]), other[0], ""
    if is_reversed(own[1], other[1]):
        return as_copies(own[0], other[0], own[1])
    found = as_copies(other[0], own[0], other[1])
    return found.new, found.old, found.documents


def _as_upgraded(side: Side, options: LoadOptions, refused: Origin | None = None) -> tuple[Side, str]:
    """Return *side* with the text that `upgrade` would write if 2.4 does not load the text of 2.2 that it
    has, or refuses the line *refused* of a .htaccess file, and the sentence about it; else *side* and "".
    """
    from whimbrel.api.checking import upgrade_sources
    from whimbrel.config.origins import Origin
    from whimbrel.explain.text import place_of
    from whimbrel.explain.version_notice import is_of_22
    from whimbrel.upgrade.check.check import Selection
    from whimbrel.upgrade.model import UpgradeOptions
    from whimbrel.upgrade.source.reading import Sources
    from whimbrel.verify.loading import load_side
    from whimbrel.verify.upgraded import both_texts

    is_stopped = not side.is_loaded and is_of_22(side)
    if side.dialect.name == V22.name or not (is_stopped or refused is not None):
        return side, ""
    result, _ = upgrade_sources(Sources(options=options), UpgradeOptions(), Selection(), is_verified=False)
    written = load_side(both_texts(result, options)[1], side.dialect)
    if not written.is_loaded:
        return side, ""
    if refused is not None:
        if os.path.realpath(refused.place.path) not in map(os.path.realpath, result.files):
            return side, ""
        what = "answers 500 with"
        line: Origin | None = refused
    else:
        place = side.errors[0].place
        what = "does not start with"
        line = Origin(place, "") if place is not None else None
    where = f" ({place_of(line, options.server_root)})" if line is not None else ""
    return written, (
        f"2.4 {what} this text{where}: answered with the text that `whimbrel upgrade` writes, whose lines "
        "are counted below"
    )


def _with_htaccess(side: Side, options: LoadOptions, probe: Probe, upgraded: str) -> tuple[Side, str]:
    """Return *side* with the text that `upgrade` would write if 2.4 refuses a .htaccess file for *probe* and
    no line of the text is of 2.4, and the sentence about it; else *side* and *upgraded*.
    """
    from whimbrel.api.loaded_site import LoadedSite
    from whimbrel.explain.version_notice import has_lines_of_24, refused_htaccess

    if upgraded or not side.is_loaded or side.dialect.name == V22.name or has_lines_of_24(side):
        return side, upgraded
    refused = refused_htaccess(LoadedSite(side).explain(probe)[0])
    return _as_upgraded(side, options, refused) if refused is not None else (side, upgraded)


def _after_upgrade(explanation: RequestExplanation) -> str:
    """Return the answer to the text that `upgrade` writes, with the line that decides it, as a clause."""
    from whimbrel.explain.cause import cause_of

    line = next(iter(cause_of(explanation).lines), None)
    because = f", because of `{line.text}`" if line is not None and line.text else ""
    return f"with the text that `whimbrel upgrade` writes it is {explanation.status}{because}"


def _explained(
    site: LoadedSite, probe: Probe, logged: LoggedOutcome
) -> tuple[RequestExplanation, KnowledgeScope, str]:
    """Return the explanation with what is not known, and a sentence about an answer that a log has."""
    from whimbrel.explain.client_names import with_local_name
    from whimbrel.explain.logged_answers import notice_of, probes_of

    probe = with_local_name(probe, lambda one: site.explain(one)[0])
    probes = probes_of(probe, logged, site.knowledge.has_user)
    explained = [site.explain(one) for one in probes]
    shown = next((n for n, (found, _) in enumerate(explained) if logged.agrees(found)), 0)
    explanation, scope = explained[shown]
    explanation = logged.named(explanation, probe.client)
    return explanation, scope, notice_of(logged, probes[shown], explained[0][0], explanation)


def is_reversed(dialect: str, other: str) -> bool:
    """Return True if the side of --diff is the new one: the other one alone answers as 2.2."""
    return dialect == V22.name != other


def _both_options(choice: ConfigurationChoice, diff: str) -> tuple[LoadOptions, LoadOptions, str]:
    """Return what is read for the answer, what it is compared with, and the dialect of that; without a
    comparison both are one configuration.
    """
    options = choice.options()
    if not choice.has_backups:
        return options, *_other_side(choice, options, diff)
    from whimbrel.cli.explain_backups import before_upgrade

    if diff:
        raise UsageError("--backups takes no --diff: it compares with what the upgrade replaced")
    old = before_upgrade(options, choice.directory)
    return (old if choice.dialect == V22.name else options), old, V22.name


def _other_side(choice: ConfigurationChoice, options: LoadOptions, diff: str) -> tuple[LoadOptions, str]:
    """Return what is read for --diff, and its dialect: another dialect, or a main file or directory. Without
    --diff it is the same configuration.
    """
    if diff in DIALECTS or not diff:
        return options, diff or choice.dialect
    path, _, dialect = (
        diff.rpartition("@") if diff.endswith(tuple(f"@{d}" for d in DIALECTS)) else (diff, "", "")
    )
    below = Path(options.server_root, path)  # as -f, which is relative to -d
    named = below if below.exists() and not Path(path).exists() else Path(path)
    return choice.options(named), dialect or choice.dialect


def _names(old: Side, new: Side, upgraded: tuple[str, str]) -> tuple[str, str]:
    """Return what tells both sides apart: the versions, or the main files with their versions.

    *upgraded*: the sentence of `_as_upgraded` about each side.
    """
    paths = [os.path.join(side.options.server_root, side.options.file) for side in (old, new)]
    names = [
        f"{side.dialect.name} after upgrade" if sentence else side.dialect.name
        for side, sentence in zip((old, new), upgraded, strict=True)
    ]
    if paths[0] == paths[1]:
        return names[0], names[1]
    return f"{paths[0]} ({names[0]})", f"{paths[1]} ({names[1]})"


def _print_one(
    explanation: RequestExplanation,
    scope: KnowledgeScope,
    options: LoadOptions,
    output: OutputChoice,
    notices: Iterable[str],
    code: str,
    *,
    is_of_machine: bool,
    upgrade_hint: str,
) -> None:
    """Print the explanation below *notices*, and the meaning of the message with *code* that asked for it.

    *is_of_machine*: no configuration was named. *upgrade_hint*: see `OutputStyle`.
    """
    from whimbrel.explain.text import OutputStyle, TextRow, notice_lines, short_lines
    from whimbrel.upgrade.documents.explain import meaning_of

    root = options.server_root
    place = os.path.join(root, options.file)
    configuration = f"{place} (of this machine: -d names another)" if is_of_machine else place
    overlays = (options.overlay,)
    colored = is_colored(ColorMode.auto)
    style = OutputStyle(root, terminal_width(), colored, configuration, overlays, upgrade_hint)
    first = [line for notice in notices for line in notice_lines(notice, style)]
    if not output.is_verbose:
        meaning = meaning_of(code)
        rows = [TextRow(code, meaning)] if meaning else []
        _write((*first, *short_lines(explanation, scope, style, rows)), output)
        return
    from whimbrel.explain.trees import rendered, tree

    drawing = rendered(
        tree(explanation, root, is_folded=output.is_folded), style.width, is_colored=style.is_colored
    )
    _write((*first, drawing.rstrip("\n"), *_scope_lines(scope, root)), output)


def _print_both(
    old: Side,
    new: Side,
    probe: Probe,
    logged: LoggedOutcome,
    output: OutputChoice,
    upgraded: tuple[str, str],
    documents: str,
    choice: ConfigurationChoice,
) -> int:
    """Print both answers and what differs; *upgraded*: the sentence of `_as_upgraded` about each side.
    *documents*: see `same_documents.as_copies`.
    """
    from whimbrel.api.loaded_site import LoadedSite
    from whimbrel.explain.changes import changed_steps
    from whimbrel.explain.client_names import with_local_name
    from whimbrel.explain.response_differences import response_differences
    from whimbrel.explain.text import OutputStyle, difference_lines, have_equal_answers, notice_lines
    from whimbrel.report.knowledge import as_json as as_json_scope
    from whimbrel.verify.side import replaced_paths

    names = _names(old, new, upgraded)
    if choice.has_backups:
        names = f"{names[0]} before the upgrade", names[1]
    notices = list(dict.fromkeys(filter(None, (documents, *upgraded))))
    old_site = LoadedSite(old)
    new_site = LoadedSite(new)
    for site in (old_site, new_site):
        probe = with_local_name(probe, lambda one, site=site: site.explain(one)[0])  # type: ignore[misc]
    before, old_scope = old_site.explain(probe)
    after, new_scope = new_site.explain(probe)
    before, after = (logged.named(found, probe.client) for found in (before, after))
    scope = old_scope.merge_version(new_scope, replaced_paths(old, new))
    scope = scope.with_items(choice.unknown_texts(scope.files_read, before, after))
    changes = list(changed_steps(before, after))
    parts = response_differences(old, new, probe)
    if output.as_json:
        steps = [
            {
                "old": change.old.as_dict() if change.old is not None else None,
                "new": change.new.as_dict() if change.new is not None else None,
            }
            for change in changes
        ]
        document = {
            **({"notice": "; ".join(notices)} if notices else {}),
            "old": before.as_dict(),
            "new": after.as_dict(),
            "changes": steps,
            "differences": [{"name": part.name, "old": part.old, "new": part.new} for part in parts],
            "knowledge": as_json_scope(scope, new.options.server_root),
        }
        typer.echo(json.dumps(document, indent=1))
    else:
        root = new.options.server_root
        overlays = tuple(side.options.overlay for side in (old, new))
        hint = choice.upgrade_hint(is_of_24=False, is_stopped=_is_stopped(before))
        style = OutputStyle(
            root,
            terminal_width(),
            is_colored(ColorMode.auto),
            overlays=overlays,
            upgrade_hint="" if choice.has_backups else hint,
        )
        first = [line for notice in (*notices, logged.taken_for) for line in notice_lines(notice, style)]
        if output.is_verbose:
            from whimbrel.explain.trees import rendered, side_by_side

            both = side_by_side(before, after, names, root, is_folded=output.is_folded)
            drawing = rendered(both, style.width, is_colored=style.is_colored)
            _write((*first, drawing.rstrip("\n"), *_scope_lines(scope, root)), output)
        else:
            found = difference_lines((before, after), changes, parts, names, scope, style)
            _write((*first, *found), output)
    is_same = have_equal_answers(before, after, changes) and not parts
    if not is_same:
        return EXIT_FINDINGS
    return EXIT_REVIEW if after.status is None else scope.exit_code(EXIT_OK)


def _is_stopped(explanation: RequestExplanation) -> bool:
    """Return True if 2.2 does not load the text."""
    return bool(explanation.errors) and explanation.dialect == V22.name


def _scope_lines(scope: KnowledgeScope, root: str) -> Iterator[str]:
    from whimbrel.report.knowledge import text_lines

    return map(shown, text_lines(scope, root))


def _write(lines: Iterable[str], output: OutputChoice) -> None:
    write_text("".join(f"{line}\n" for line in lines), may_page=output.may_page)


def _probe(side: Side, request: RequestChoice) -> tuple[Probe, LoggedOutcome]:
    """Return the probe of the command line or of a log line, and the answer that the line has."""
    from whimbrel.explain.error_lines import read_error_line, url_of_file
    from whimbrel.explain.logged_answers import LoggedOutcome, of_error_line
    from whimbrel.explain.request_description import BadRequest, origin_of, probe_of
    from whimbrel.replay.log_format import split_host

    described = request.described
    try:
        if request.access_line:
            described, outcome = _of_access_line(side, request)
            return probe_of(described, side.configuration, has_file_users=True), outcome
        if not request.error_line:
            return probe_of(described, side.configuration, has_file_users=True), LoggedOutcome()
        logged = read_error_line(from_system(request.error_line))
        name, port = split_host(described.host)
        found = url_of_file(side.configuration, logged.path, name)
        host = found.host
        is_tls = described.tls or found.is_tls
        taken_for = ""
        if not host and side.configuration is not None:
            line = to_bytes(from_system(request.error_line)).rstrip(b"\r\n")
            owners = _owner_of_line(side, line, None)
            host = "".join(owners.names)
            if owners.host is not None:
                described, taken_for = _with_owner(described, owners.host, side)
                host = owners.host.name
                port = owners.host.port
                is_tls = is_tls or owners.host.is_tls
        origin = origin_of(side.configuration, host, port, is_tls) if host else ""
        described = replace(
            described,
            url=f"{origin}{found.path}",
            host="",
            client=described.client or logged.client,
            tls=is_tls,
        )
        probe = probe_of(described, side.configuration, has_file_users=True)
        if logged.user is not None and not described.user:
            probe = replace(probe, user=logged.user)
        outcome = of_error_line(logged, is_located=side.configuration is not None)
        return probe, replace(outcome, taken_for=taken_for)
    except BadRequest as problem:
        raise UsageError(str(problem)) from None


def _owner_of_line(side: Side, line: bytes, form: LineFormat | None) -> LogOwners:
    """Return the virtual host that logged *line*, which names none: an access line in *form*, or one of the
    error log.  It has no host and no name without virtual hosts; raises HostWantedError for several.
    """
    from whimbrel.replay.host_logs import ACCESS, ERROR, HostLogs, LogOwners

    if not side.is_loaded:
        return LogOwners()
    logs = HostLogs(side)
    kinds = ACCESS if form is not None else ERROR
    owners = logs.owners_of_line(line, kinds)
    if form is not None and owners == LogOwners():
        owners = logs.owners(form)
    if owners.host is not None:
        return owners
    every = tuple(dict.fromkeys(name for names in logs.hosts.values() for name in names))
    names = owners.names or every
    if len(names) > 1:
        files = logs.log_names(kinds)
        what = owners.what if owners.names else "may have logged it"
        listed = [f"--host {name}" + (f" (log {files[name]})" if name in files else "") for name in names]
        shown = ", ".join(listed[:MAX_HOSTS]) + (", ..." if len(names) > MAX_HOSTS else "")
        raise HostWantedError(
            f"the line names no host, and {len(names)} virtual hosts {what}; add the one that logged it: "
            f"{shown}"
        )
    return owners


def _with_owner(
    described: RequestDescription, owner: LoggingHost, side: Side
) -> tuple[RequestDescription, str]:
    """Return *described* as a request to the virtual host *owner*, and the sentence about it."""
    at_owner = replace(described, address=described.address or owner.address)
    return at_owner, f"the line names no host: {owner.sentence(side.options.server_root)}"


def _of_access_line(side: Side, request: RequestChoice) -> tuple[RequestDescription, LoggedOutcome]:
    """Return the request of an access line with what it has of the answer."""
    from whimbrel.explain.logged_answers import LoggedOutcome
    from whimbrel.explain.request_description import origin_of
    from whimbrel.replay.configured_formats import formats_of
    from whimbrel.replay.log_format import best_format, split_host

    line = to_bytes(from_system(request.access_line)).rstrip(b"\r\n")
    try:
        form = best_format(formats_of(side, given=request.log_format), [line])
    except ValueError as problem:
        raise UsageError(f"--log-format: {problem}") from None
    logged = form.parse(line) if form is not None else None
    if form is None or logged is None:
        named = f"not the format {request.log_format} of --log-format"
        others = "none of the formats of the configuration; name its format with --log-format"
        raise UsageError(f"--access-log-line: the line has {named if request.log_format else others}")
    described = request.described
    is_tls = described.tls or logged.port == 443
    origin = ""
    taken_for = ""
    name, port = split_host(described.host) if described.host else (logged.host, logged.port)
    host_field = "" if described.host else logged.host_field
    owner = None
    if logged.target.startswith("/") and not name:
        owners = _owner_of_line(side, line, form)
        owner = owners.host
        name = "".join(owners.names)
    if owner is not None:
        described, taken_for = _with_owner(described, owner, side)
        origin = owner.origin
        is_tls = is_tls or owner.is_tls
    elif logged.target.startswith("/") and name:
        origin = origin_of(side.configuration, name, port, is_tls)
        described = replace(described, host=host_field)
    found = replace(
        described,
        url=f"{origin}{logged.target}",
        client=described.client or logged.client,
        user=described.user or logged.user,
        method=logged.method,
        fields=(*logged.fields, *described.fields),
        tls=is_tls,
    )
    return found, LoggedOutcome(logged.status, taken_for=taken_for)
