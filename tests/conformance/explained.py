"""The recorded cases asked of an engine in this process and explained: the status of the explanation must be
the one that is served.

    .venv/bin/python -m tests.conformance.explained [--every N] [--version 2.4] [--run] [FAMILY ...]

--run runs programs for explanations, too, where `whimbrel explain` stops.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import sys
from dataclasses import dataclass, field

from tests.conformance.case import Case, Request, Version
from tests.conformance.cases import families, load_cases
from tests.conformance.evaluate import evaluate_site
from tests.conformance.in_process import (
    CLIENT_PORT,
    EngineClient,
    EnginePipe,
    EngineServer,
    event_loop,
    is_possible,
    modules,
)
from tests.conformance.site import RecordedSite
from whimbrel.engine.body import release
from whimbrel.engine.engine import Engine
from whimbrel.engine.explain.explainer import Explained, Explainer
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.request import Connection
from whimbrel.engine.response import Response
from whimbrel.explain.explanation import explanation_of
from whimbrel.explain.step import RequestExplanation
from whimbrel.http.syntax.head import Head
from whimbrel.testing.client import TestClient


@dataclass
class Tally:
    """Requests by result; *different* has the id of the case, the request line and both statuses."""

    is_running: bool = False
    origins: bool = False
    request: int | None = None  # the only request to send
    same: int = 0
    not_run: int = 0
    different: list[tuple[str, str, int | None, int]] = field(default_factory=list)
    explanations: list[RequestExplanation] = field(default_factory=list)


class ExplainingClient(TestClient):
    """A client that explains each request before it is answered."""

    def __init__(
        self, engine: Engine, connection: Connection, explainer: Explainer, case: Case, tally: Tally
    ) -> None:
        super().__init__(engine, connection, event_loop())
        self.explainer, self.case, self.tally = explainer, case, tally

    def _cached_responses(self) -> bytes:
        return b""

    def _response(self, head: Head, body: RequestBody) -> bytes:
        explained = self.run(self._explain(copy.deepcopy(head), _copied(body)))
        out = super()._response(head, body)
        explanation = explanation_of(explained, head.line or "", "")
        self.tally.explanations.append(explanation)
        words = out.split(b" ", 2)
        if explanation.status is None:
            self.tally.not_run += 1
        elif not out.startswith(b"HTTP/") or int(words[1]) == explanation.status:
            self.tally.same += 1
        else:
            self.tally.different.append((self.case.id, head.line or "", explanation.status, int(words[1])))
        return out

    async def _explain(self, head: Head, body: RequestBody) -> Explained:
        connection = copy.copy(self.connection)
        connection.notes, connection._open_sources = dict(connection.notes), None
        result = self.explainer.explain(connection, head, body)
        explained = result if isinstance(result, Explained) else await result
        if isinstance(explained.answer, Response):
            for part in explained.answer.parts:
                release(part)
        return explained


def _copied(body: RequestBody) -> RequestBody:
    """Return a body with the same bytes, which stay in *body*, too."""
    made = RequestBody(body.length)
    data = body.take_buffered()
    for each in (body, made):
        if data:
            each.feed(data)
    made.trailers = body.trailers
    if body.failure is not None:
        made.fail(body.failure)
    elif body.ended:
        made.end()
    return made


class Client(EngineClient):
    """The client of the recorded requests, explaining."""

    def __init__(self, site: RecordedSite, tally: Tally) -> None:
        super().__init__(site)
        self.tally = tally
        self.explainer: Explainer | None = None

    def connect(self, request: Request) -> EnginePipe:
        assert self.engine is not None
        if self.explainer is None:
            configuration, runtime = self.engine.configuration, self.engine.runtime
            self.explainer = Explainer(configuration, runtime, is_dry=not self.tally.is_running)
        self.connections_opened += 1
        source, port = request.source or "127.0.0.1", CLIENT_PORT + self.connections_opened % 10000
        connection = Connection(source, port, request.addr, int(self.site.expand(request.port)))
        return EnginePipe(
            ExplainingClient(self.engine, connection, self.explainer, self.site.case, self.tally)
        )


def explain_case(case: Case, tally: Tally) -> None:
    """Add the requests of one case to *tally*."""
    with RecordedSite(case, modules(case.version)) as site, contextlib.chdir(site.root):
        explain_case_in(site, tally)


def explain_case_in(site: RecordedSite, tally: Tally) -> None:
    """Add the requests of the case of *site* to *tally*."""
    server = EngineServer(site, origins=tally.origins)
    server.client = Client(site, tally)
    if tally.request is None:
        evaluate_site(server)
    elif server.start():
        server.client.send(site.case.requests[tally.request])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("families", nargs="*")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--version", choices=("2.2", "2.4"), action="append")
    parser.add_argument("--run", action="store_true")
    given = parser.parse_args()
    bad = 0
    for family in given.families or families():
        for version in given.version or ("2.2", "2.4"):
            bad += _run(family, version, given.every, given.run)
    return 1 if bad else 0


def _run(family: str, version: Version, every: int, is_running: bool) -> int:
    tally = Tally(is_running)
    for case in [case for case in load_cases(family, version) if is_possible(case)][::every]:
        explain_case(case, tally)
        tally.explanations.clear()
    if tally.same or tally.not_run or tally.different:
        print(
            f"{family} {version}: {tally.same} same, {tally.not_run} not run, "
            f"{len(tally.different)} different",
            flush=True,
        )
    for line in tally.different[:5]:
        print("   ", *line)
    return len(tally.different)


if __name__ == "__main__":
    sys.exit(main())
