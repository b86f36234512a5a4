"""`whimbrel rewrite-test`: test a table of redirects against a configuration or .htaccess file, without a
server.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import from_system, to_text
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.programs import programs_permitted
from whimbrel.cli.help import HelpCommand, epilog
from whimbrel.cli.options import EXIT_FINDINGS, EXIT_OK, EXIT_USAGE, echo_line, encoded
from whimbrel.cli.rewrite_cases import BadTable, RewriteCase, read_cases

if TYPE_CHECKING:
    from whimbrel.base.errors import SourceLocation
    from whimbrel.engine.engine import Engine

EPILOG: Final = epilog(
    {0: "every case has its answer", 1: "a case has another answer", 2: "wrong usage or unreadable input"},
    ("whimbrel rewrite-test htdocs/.htaccess cases.csv", "whimbrel rewrite-test httpd.conf cases.txt -v"),
)
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

LOOPS: Final = {
    "AH00124": "loops: it exceeds the limit of internal redirects",
    "AH02596": "loops: it exceeds the limit of [N] rounds",
}


@dataclass(slots=True)
class CaseResult:
    """Result of one case; *reasons* is empty if it passed."""

    case: RewriteCase
    status: int
    location: str
    reasons: list[str] = field(default_factory=list)
    steps: list[Any] = field(default_factory=list)


@app.command(cls=HelpCommand, epilog=EPILOG)
def rewrite_test(
    conf: Annotated[Path, typer.Argument(help="Configuration file or .htaccess file.")],
    cases: Annotated[Path, typer.Argument(help="Lines of PATH STATUS [TARGET], or CSV.")],
    root: Annotated[
        Path | None, typer.Option("-d", help="Use this server root. Default: of the file.")
    ] = None,
    at: Annotated[
        str, typer.Option(help="Place the .htaccess file at this URL path. Example: --at /shop/")
    ] = "/",
    defines: Annotated[
        list[str] | None, typer.Option("-D", help="Define NAME for <IfDefine>. Example: -D SSL")
    ] = None,
    dialect: Annotated[
        str, typer.Option(help="Answer as 2.4, 2.2 or guide (the upgrade guide). Example: --dialect 2.2")
    ] = "2.4",
    verbose: Annotated[
        bool, typer.Option("-v", help="Print the rules of each failing case. Default: off. Example: -v")
    ] = False,
) -> None:
    """Request every URL of a table; report differences, unused rules, loops and rules that shadow others."""
    try:
        table = read_cases(to_text(read_regular(bytes(cases))))
        with _server(conf, root, at, dialect) as (server_root, file):
            serving = _engine(server_root, file, defines or [], dialect)
            outcomes = [run_case(serving, case) for case in table]
            rules = _rules(serving)
    except (OSError, BadTable, NotLoaded) as problem:
        text = from_system(str(problem)) if isinstance(problem, OSError) else str(problem)
        typer.echo(encoded(text), err=True)
        raise typer.Exit(EXIT_USAGE) from None
    _print_report(outcomes, rules, verbose)
    raise typer.Exit(EXIT_FINDINGS if any(outcome.reasons for outcome in outcomes) else EXIT_OK)


@contextmanager
def _server(conf: Path, root: Path | None, at: str, dialect: str) -> Iterator[tuple[str, str]]:
    """Return server root and main file; those of a .htaccess file exist for the duration of the context."""
    from whimbrel.api.htaccess_server import HtaccessServer
    from whimbrel.base.dialect import DIALECTS
    from whimbrel.cli.serve import root_and_file

    if dialect not in DIALECTS:
        raise typer.BadParameter("the dialect must be 2.2, 2.4 or guide", param_hint="--dialect")
    if not conf.name.endswith("htaccess"):
        yield root_and_file(conf, root)
        return
    with programs_permitted():
        read_regular(bytes(conf))
        server = HtaccessServer(str(conf), at, dialect)
    try:
        yield server.root, server.file
    finally:
        with programs_permitted():
            server.close()


class NotLoaded(Exception):
    """The configuration does not load; the text is httpd's message, with the faults of the file."""


def _engine(server_root: str, file: str, defines: list[str], dialect: str) -> Engine:
    from whimbrel.base.dialect import DIALECTS
    from whimbrel.base.errors import ConfigError, StartError
    from whimbrel.config.load import load
    from whimbrel.config.options import LoadOptions
    from whimbrel.engine.engine import Engine
    from whimbrel.modules import ALL
    from whimbrel.testing.fake_runtime import FakeRuntime
    from whimbrel.verify.side import with_faults

    options = LoadOptions(
        server_root=from_system(server_root), file=from_system(file), defines=tuple(defines), check_only=True
    )
    runtime: Any = Recorder(FakeRuntime())
    try:
        return Engine(load(options, ALL, DIALECTS[dialect]), runtime)
    except (ConfigError, StartError) as problem:
        place = problem.place if isinstance(problem, ConfigError) else None
        raise NotLoaded(with_faults(str(problem), options, place)) from None


class Recorder:
    """Runtime that records what the rules did; cleared before each request."""

    def __init__(self, runtime: object) -> None:
        self._runtime = runtime
        self.rewriting: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)


# requests -----------------------------------------------------------------------------------------
def run_case(serving: Any, case: RewriteCase) -> CaseResult:
    """Request one case and compare."""
    from whimbrel.engine.request import Connection
    from whimbrel.testing.client import TestClient

    runtime = serving.runtime
    runtime.rewriting = []
    runtime.logs.clear()
    fields = {"Host": case.host or serving.main.name, "Connection": "close", **dict(case.headers)}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    client = TestClient(serving, Connection("127.0.0.1", 50000, "127.0.0.1", 80))
    top = (
        client.send(f"GET {case.path} HTTP/1.1\r\n{head}\r\n".encode("latin-1"))
        .decode("latin-1")
        .partition("\r\n\r\n")[0]
    )
    line, *rest = top.split("\r\n")
    location = next(
        (value.strip() for name, _, value in (f.partition(":") for f in rest) if name.lower() == "location"),
        "",
    )
    outcome = CaseResult(case, int(line.split()[1]), location, steps=runtime.rewriting)
    outcome.reasons += _differences(outcome, fields["Host"])
    log = b"".join(part for parts in runtime.logs.values() for part in parts).decode("latin-1")
    outcome.reasons += [text for code, text in LOOPS.items() if code in log]
    return outcome


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


def _print_report(outcomes: list[CaseResult], rules: list[str], verbose: bool) -> None:
    bad = [outcome for outcome in outcomes if outcome.reasons]
    for outcome in bad:
        text = f"line {outcome.case.line}: {outcome.case.path}: {'; '.join(outcome.reasons)}"
        echo_line(text)
        if verbose:
            _print_steps(outcome)
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
