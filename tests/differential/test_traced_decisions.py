"""The decision tree of a generated request against the response without tracing: the same status, and
consistent verdicts.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, reject
from hypothesis import strategies as st

from tests.differential.exchange import Request
from tests.differential.guarded import guarded_requests, guarded_sites
from tests.differential.site import MODULES, GeneratedSite, documents, htaccess
from tests.differential.time_limit import TimeLimit, bounded
from tests.support.samples import amount
from tests.unit.engine.explain.explaining import steps
from whimbrel.base.dialect import DIALECTS
from whimbrel.base.errors import ConfigError, StartError
from whimbrel.config.configuration import Configuration
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.engine.engine import Engine
from whimbrel.engine.explain.decisions import NOT_EVALUATED, Decision
from whimbrel.engine.explain.explainer import Explained, Explainer
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.request import Connection
from whimbrel.http.syntax.head import read_head
from whimbrel.http.syntax.line_reader import HeadLimits, ParserOptions
from whimbrel.modules import ALL
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime, run_sync

NO_USER = "denied (no authenticated user yet)"
NEGATED = {"granted": "denied", "denied": "neutral", NO_USER: "neutral"}


def loaded(site: GeneratedSite, root: Path) -> Configuration:
    """The configuration of *site* without a server; raises ConfigError or StartError where it is refused."""
    documents(root)
    htaccess(root, site.htaccess)
    loads = "".join(f"LoadModule {m}_module modules/mod_{m}.so\n" for m in MODULES)
    head = (
        f'{loads}ServerRoot "{root}"\nServerName localhost\nListen 127.0.0.1:8080\nErrorLog error_log\n'
        f"TypesConfig mime.types\n"
    )
    head += f'DocumentRoot "{root}/htdocs"\n'
    text = (
        site.conf.replace("%ROOT%", str(root / "htdocs"))
        .replace("%BASE%", str(root))
        .replace("%PORT%", "8080")
    )
    (root / "httpd.conf").write_text(head + text)
    return load(LoadOptions(server_root=str(root), file=str(root / "httpd.conf")), ALL, DIALECTS["2.4"])


def plain(configuration: Configuration, request: Request) -> int:
    """Return the status of the response."""
    client = TestClient(
        Engine(configuration, FakeRuntime()), Connection(request.source, 5000, "127.0.0.1", 8080)
    )
    return int(client.send(request.octets()).split(b" ", 2)[1])


def explained(configuration: Configuration, request: Request) -> Explained:
    """The same request explained."""
    head = read_head(request.octets(), HeadLimits(), ParserOptions())
    assert head is not None
    explainer = Explainer(configuration, FakeRuntime())
    told: Explained = run_sync(
        explainer.explain(Connection(request.source, 5000, "127.0.0.1", 8080), head, RequestBody(0))
    )
    return told


def folded(step: Decision) -> str:
    """Return the result of a Require container, from the verdicts of its rules (manual: RequireAll,
    RequireAny, RequireNone).
    """
    found = {child.verdict for child in step.children} - {NOT_EVALUATED, "neutral"}
    every = step.what in ("<RequireAll>", "<RequireNotAll>", "AuthMerging All", "AuthMerging NotAll")
    order = ("denied", NO_USER, "granted") if every else ("granted", NO_USER, "denied")
    result = next((verdict for verdict in order if verdict in found), "neutral")
    return (
        NEGATED.get(result, result) if step.what.endswith(("None>", "NotAll>", "None", "NotAll")) else result
    )


def check_tree(root: Decision, status: int) -> None:
    """Check that the root has the status of the access phases, each container the result of its rules, and
    every evaluated line a location.
    """
    assert root.verdict == ("granted" if status == 0 else "denied")
    for step in steps(root):
        if (
            step.what.startswith(("<Require", "AuthMerging "))
            and step.verdict != NOT_EVALUATED
            and not step.detail
        ):
            if all(child.verdict != "general error" for child in step.children):
                assert step.verdict == folded(step), step
        if step.what.startswith("Require ") or " from " in step.what:
            assert step.place is not None and step.place.line > 0, step


told_clock = TimeLimit()


@bounded(amount(25, 60))
@given(guarded_sites(), st.lists(guarded_requests(), min_size=3, max_size=8))
def test_a_told_answer_is_the_plain_one(site: GeneratedSite, questions: list[Request]) -> None:
    if told_clock.over():
        return
    with tempfile.TemporaryDirectory(prefix="whimbrel-told-") as folder:
        try:
            configuration = loaded(site, Path(folder))
        except (ConfigError, StartError):
            reject()
        for request in questions:
            told = explained(configuration, request)
            assert told.answer.request.status == plain(configuration, request), request
            for one in told.requests:
                if one.status is None:  # TRACE, say: no access phase ran
                    assert one.decision is None
                    continue
                assert one.decision is not None
                check_tree(one.decision, one.status)
            if told.requests and told.requests[0].status:
                assert told.answer.request.status == told.requests[0].status, request
