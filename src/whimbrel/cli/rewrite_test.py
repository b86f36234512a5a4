"""`whimbrel rewrite-test`: test a table of redirects against a configuration or .htaccess file, without a
server.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import from_system, to_text
from whimbrel.base.lazy_dataclasses import dataclass, field, replace
from whimbrel.base.programs import programs_permitted
from whimbrel.cli.help import HelpCommand, epilog
from whimbrel.cli.options import EXIT_FINDINGS, EXIT_OK, EXIT_USAGE, echo_line, encoded
from whimbrel.cli.rewrite_cases import BadTable, RewriteCase, read_cases
from whimbrel.utilities.usage_error import UsageError

if TYPE_CHECKING:
    from whimbrel.api.loaded_site import LoadedSite
    from whimbrel.base.errors import SourceLocation
    from whimbrel.config.options import LoadOptions
    from whimbrel.engine.engine import Engine
    from whimbrel.verify.probe import Probe

NOTE: Final = (
    "A line of CASES is a path or a whole URL, header fields in brackets, the expected status, and the "
    "expected Location: /old/x [Accept: text/html] 301 /new/x. The Location may be left out. A # begins a "
    "comment. CSV has a line of names first: request_url, request_header_NAME, response_statuscode and "
    "response_url, or path, status and target."
)
EPILOG: Final = epilog(
    {0: "every case has its answer", 1: "a case has another answer", 2: "wrong usage or unreadable input"},
    (
        "whimbrel rewrite-test htdocs/.htaccess cases.csv",
        "whimbrel rewrite-test site cases.txt --host www.example.com -v",
    ),
    NOTE,
)
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

TEXT_WIDTH: Final = 100
"""Columns of what decided an answer."""

LOOPS: Final = {
    "AH00124": "loops: it exceeds the limit of internal redirects",
    "AH02596": "loops: it exceeds the limit of [N] rounds",
}


@dataclass(slots=True)
class CaseResult:
    """Result of one case; *reasons* is empty if it passed. *probe* is its request."""

    case: RewriteCase
    probe: Probe
    status: int
    location: str
    reasons: list[str] = field(default_factory=list)
    steps: list[Any] = field(default_factory=list)


@app.command(cls=HelpCommand, epilog=EPILOG)
def rewrite_test(
    conf: Annotated[
        Path, typer.Argument(metavar="CONF", help="Configuration file, server root or .htaccess file.")
    ],
    cases: Annotated[Path, typer.Argument(metavar="CASES", help="Lines of URL STATUS [TARGET], or CSV.")],
    root: Annotated[
        Path | None, typer.Option("-d", help="Use this server root. Default: of the file.")
    ] = None,
    at: Annotated[
        str, typer.Option(help="Place the .htaccess file at this URL path. Example: --at /shop/")
    ] = "/",
    host: Annotated[
        str,
        typer.Option(
            help="Send this Host field for paths. Default: ServerName of the main server. "
            "Example: --host www.example.com"
        ),
    ] = "",
    defines: Annotated[
        list[str] | None, typer.Option("-D", help="Define NAME for <IfDefine>. Example: -D SSL")
    ] = None,
    dialect: Annotated[
        str, typer.Option(help="Answer as 2.4, 2.2 or guide (the upgrade guide). Example: --dialect 2.2")
    ] = "2.4",
    verbose: Annotated[
        bool,
        typer.Option("-v", help="Print the rules or the lines that decided each failing case. Default: off."),
    ] = False,
) -> None:
    """Request every URL of a table; report differences, unused rules, loops and rules that shadow others.

    A client of a whole URL connects where its host and port lead to, one of a path to the place that the text
    listens to.
    """
    try:
        table = read_cases(to_text(read_regular(bytes(cases))))
        with _server(conf, root, at, dialect) as found:
            options = replace(found, defines=tuple(map(from_system, defines or [])), check_only=True)
            site = _site(options, dialect)
            serving = _engine(site)
            outcomes = [run_case(serving, case, from_system(host)) for case in table]
            _print_report(outcomes, _rules(serving), site if verbose else None)
    except UsageError as problem:
        typer.echo(encoded(problem.message), err=True)
        raise typer.Exit(EXIT_USAGE) from None
    except (OSError, BadTable, NotLoaded) as problem:
        text = from_system(str(problem)) if isinstance(problem, OSError) else str(problem)
        typer.echo(encoded(text), err=True)
        raise typer.Exit(EXIT_USAGE) from None
    raise typer.Exit(EXIT_FINDINGS if any(outcome.reasons for outcome in outcomes) else EXIT_OK)


@contextmanager
def _server(conf: Path, root: Path | None, at: str, dialect: str) -> Iterator[LoadOptions]:
    """Return the server; that of a .htaccess file exists for the duration of the context."""
    from whimbrel.api.htaccess_server import HtaccessServer
    from whimbrel.base.dialect import DIALECTS
    from whimbrel.cli.serve import root_and_file
    from whimbrel.config.servers import why_no_server
    from whimbrel.upgrade.source.named_sources import ConfigArguments, sources

    if dialect not in DIALECTS:
        raise typer.BadParameter("the dialect must be 2.2, 2.4 or guide", param_hint="--dialect")
    if conf.is_dir():
        if root is not None:
            raise typer.BadParameter("belongs to a file; CONF is a directory", param_hint="-d")
        options = sources(ConfigArguments(paths=[conf], as_server=True))[0].options
        if options is None:
            raise NotLoaded(why_no_server(str(conf)))
        yield options
        return
    if not conf.name.endswith("htaccess"):
        yield _options(*root_and_file(conf, root))
        return
    with programs_permitted():
        read_regular(bytes(conf))
        server = HtaccessServer(str(conf), at, dialect)
    try:
        yield _options(server.root, server.file)
    finally:
        with programs_permitted():
            server.close()


class NotLoaded(Exception):
    """The configuration does not load; the text is httpd's message, with the faults of the file."""


def _options(server_root: str, file: str) -> LoadOptions:
    from whimbrel.config.options import LoadOptions

    return LoadOptions(server_root=from_system(server_root), file=from_system(file))


def _site(options: LoadOptions, dialect: str) -> LoadedSite:
    """Return the configuration; what this machine lacks of it, such as a directory of logs, is left out."""
    from whimbrel.api.answering import load_error
    from whimbrel.api.loaded_site import LoadedSite
    from whimbrel.verify.loading import load_side

    side = load_side(options, dialect)
    if not side.is_loaded:
        raise NotLoaded(str(load_error(side.options, side.errors[0])))
    return LoadedSite(side)


def _engine(site: LoadedSite) -> Engine:
    """Return an engine whose runtime records what rules do."""
    from whimbrel.engine.engine import Engine
    from whimbrel.testing.fake_runtime import FakeRuntime

    runtime: Any = Recorder(FakeRuntime())
    return Engine(site.side.loaded, runtime)


class Recorder:
    """Runtime that records what the rules did; cleared before each request."""

    def __init__(self, runtime: object) -> None:
        self._runtime = runtime
        self.rewriting: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)


# requests -----------------------------------------------------------------------------------------
def run_case(serving: Any, case: RewriteCase, host: str = "") -> CaseResult:
    """Request one case and compare; *host* is the Host field for a path. Raises BadTable for no URL."""
    from whimbrel.testing.client import TestClient
    from whimbrel.verify.answering import connection_of

    runtime = serving.runtime
    runtime.rewriting = []
    runtime.logs.clear()
    probe = _probe(serving, case, host)
    client = TestClient(serving, connection_of(serving, probe))
    top = client.send(probe.head()).decode("latin-1").partition("\r\n\r\n")[0]
    line, *rest = top.split("\r\n")
    location = next(
        (value.strip() for name, _, value in (f.partition(":") for f in rest) if name.lower() == "location"),
        "",
    )
    outcome = CaseResult(case, probe, int(line.split()[1]), location, steps=runtime.rewriting)
    outcome.reasons += _differences(outcome, probe.host)
    log = b"".join(part for parts in runtime.logs.values() for part in parts).decode("latin-1")
    outcome.reasons += [text for code, text in LOOPS.items() if code in log]
    return outcome


def _probe(serving: Any, case: RewriteCase, host: str) -> Probe:
    """Return the request of *case*, from this machine, to the address and port of its URL."""
    from whimbrel.explain.request_description import LOCAL, BadRequest, RequestDescription, probe_of

    given = next((value for name, value in case.headers if name.lower() == "host"), "")
    if not given and "://" not in case.url:
        given = host
    fields = tuple(field for field in case.headers if field[0].lower() != "host")
    described = RequestDescription(case.url, given, client=LOCAL, fields=fields)
    try:
        return probe_of(described, serving.configuration)
    except BadRequest as problem:
        raise BadTable(f"line {case.line}: {problem}") from None


def _differences(outcome: CaseResult, host: str) -> list[str]:
    case = outcome.case
    reasons = []
    if case.status and outcome.status != case.status:
        reasons.append(f"status {outcome.status}, expected {case.status}")
    if case.target and _absolute(outcome.location, host) != _absolute(case.target, host):
        reasons.append(f"goes to {outcome.location or 'nowhere'}, expected {case.target}")
    return reasons


def _absolute(url: str, host: str) -> str:
    """Return the URL without scheme and host if these are the server's own, as tables name it."""
    for own_prefix in (f"http://{host}", f"https://{host}"):
        if url.startswith(f"{own_prefix}/"):
            return url[len(own_prefix) :]
    return url


# report -------------------------------------------------------------------------------------------
def _rules(serving: Any) -> list[str]:
    """Return the locations of the rules that the cases could have used, in order."""
    from whimbrel.modules.mappers.mod_rewrite.settings import RewriteServerConfig
    from whimbrel.modules.mappers.mod_rewrite.trace import reached_rules

    places = {
        place
        for place in reached_rules(serving.configuration.servers(), RewriteServerConfig)
        if place is not None
    }
    return [_place(place) for place in sorted(places, key=lambda place: (place.path, place.line))]


def _deciding_lines(site: LoadedSite, probe: Probe) -> list[str]:
    """Return what decided the answer of *site* to *probe*, as `whimbrel explain` prints it."""
    from whimbrel.explain.text import OutputStyle, short_lines

    explanation, scope = site.explain(probe)
    style = OutputStyle(site.side.options.server_root, TEXT_WIDTH)
    return list(takewhile(bool, short_lines(explanation, scope, style)))


def _print_report(outcomes: list[CaseResult], rules: list[str], explained: LoadedSite | None) -> None:
    """Print the cases that differ, with what decided them if their site is to be *explained*."""
    bad = [outcome for outcome in outcomes if outcome.reasons]
    for outcome in bad:
        text = f"line {outcome.case.line}: {outcome.case.url}: {'; '.join(outcome.reasons)}"
        echo_line(text)
        if explained is None:
            continue
        if any(step.matches for step in outcome.steps):
            _print_steps(outcome)
        else:
            for line in _deciding_lines(explained, outcome.probe):
                echo_line(f"    {line}")
    for earlier, later in sorted(overlaps(outcomes)):
        echo_line(f"{later}: also fits URLs that {earlier} takes first")
    used = {_place(step.place) for outcome in outcomes for step in outcome.steps if step.applied}
    for rule in rules:
        if rule not in used:
            echo_line(f"{rule}: never used")
    typer.echo(f"{len(outcomes)} cases, {len(outcomes) - len(bad)} as expected, {len(bad)} different")


def _print_steps(outcome: CaseResult) -> None:
    for step in outcome.steps:
        if not step.matches:
            continue
        for condition in step.conditions:
            result = "holds" if condition.holds else "fails"
            echo_line(f"    condition '{condition.subject}' {condition.pattern}: {result}")
        result = f" -> {step.result}" if step.applied else ", not applied"
        if step.refused:
            result = f", refused: -> {step.refused}"
        echo_line(f"    {_place(step.place)}: '{step.pattern}' fits '{step.subject}'{result}")


def overlaps(outcomes: list[CaseResult]) -> set[tuple[str, str]]:
    """Return pairs of rules of which the first ended processing of a URL that the second matches, and the
    second was never applied.
    """
    used = {_place(step.place) for outcome in outcomes for step in outcome.steps if step.applied}
    pairs: set[tuple[str, str]] = set()
    for outcome in outcomes:
        for step in outcome.steps:
            if step.applied and step.result:
                pairs |= {
                    (_place(step.place), _place(later)) for later in step.also if _place(later) not in used
                }
    return pairs


def _place(place: SourceLocation | None) -> str:
    return f"{os.path.basename(place.path)}:{place.line}" if place is not None else "?"
