"""Requests explained in this process, for the tests of decision trees."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator

from tests.support.access_site import AccessSite

from whimbrel.engine.explain.decisions import Decision
from whimbrel.engine.explain.explainer import Explained, Explainer
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.request import Connection
from whimbrel.http.syntax.head import read_head
from whimbrel.http.syntax.line_reader import HeadLimits, ParserOptions
from whimbrel.testing.fake_runtime import run_sync


def explain(
    site: AccessSite,
    path: str = "/f.html",
    *,
    user: str = "",
    source: str = "127.0.0.1",
    method: str = "GET",
    headers: str = "",
) -> Explained:
    """Return the explanation of the request that `Site.fetch` would send."""
    auth = f"Authorization: Basic {b64encode(user.encode()).decode()}\r\n" if user else ""
    host = "" if "Host:" in headers else "Host: localhost\r\n"
    head = read_head(
        f"{method} {path} HTTP/1.1\r\n{host}{auth}{headers}\r\n".encode("latin-1"),
        HeadLimits(),
        ParserOptions(),
    )
    assert head is not None
    explainer = Explainer(site.engine.configuration, site.runtime)
    told: Explained = run_sync(
        explainer.explain(Connection(source, 5000, "127.0.0.1", 8080), head, RequestBody(0))
    )
    return told


def steps(decision: Decision | None) -> Iterator[Decision]:
    """The decision and all below it, outer ones first."""
    if decision is not None:
        yield decision
        for child in decision.children:
            yield from steps(child)


def shown(decision: Decision | None, indent: int = 0) -> list[str]:
    """The tree as indented lines: what, verdict, line number."""
    if decision is None:
        return []
    line = (
        f"{' ' * indent}{decision.what}: "
        f"{decision.verdict}{f' ({decision.detail})' if decision.detail else ''}"
    )
    place = f" @{decision.place.line}" if decision.place is not None else ""
    return [line + place, *(text for child in decision.children for text in shown(child, indent + 1))]
