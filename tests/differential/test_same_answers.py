"""Generated configurations and requests: Whimbrel must respond as Debian's apache2 does, and apache2 as
itself.

Without WHIMBREL_DIFF_SECONDS a few fixed examples; with it, random ones for that many seconds, and a
difference is shrunk.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.differential.ask import Request, ask
from tests.differential.guarded import guarded_requests, guarded_sites
from tests.differential.rewritten import rewritten_requests, rewritten_sites
from tests.differential.site import APACHE, WHIMBREL, Program, Running, Site, documents, htaccess
from tests.differential.strategies import requests, sites

SECONDS = float(os.environ.get("WHIMBREL_DIFF_SECONDS", "0"))
EXAMPLES = 30


def check_same(first: Program, second: Program, site: Site, questions: list[Request]) -> None:
    """Start both on one document root and compare start-up and every response."""
    with tempfile.TemporaryDirectory(prefix="whimbrel-diff-") as folder, ExitStack() as stack:
        os.chmod(folder, 0o755)
        root = Path(folder, "site")
        documents(root)
        htaccess(root, site.htaccess)
        one, other = (stack.enter_context(Running(program, site, root)) for program in (first, second))
        shown = (
            f"\n{site.conf}\n{site.htaccess}\n{first.name} said: {one.said}\n{second.name} said: {other.said}"
        )
        assert one.started == other.started, shown
        if not one.started:
            assert one.said == other.said, shown
            return
        for request in questions:
            want, got = ask(one.port, request), ask(other.port, request)
            assert want == got, f"\n{request}\n{first.name}: {want}\n{second.name}: {got}{shown}"


def bounded(examples: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Hypothesis' settings: some fixed examples, or as many random ones as the time allows."""
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    if SECONDS:
        return settings(
            max_examples=int(SECONDS * 3) + 1, deadline=None, suppress_health_check=quiet, database=None
        )
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=quiet,
        database=None,
        derandomize=True,
        phases=(Phase.generate,),
    )


class Clock:
    """Says when the time of a test is over; it runs from the first question on."""

    def __init__(self) -> None:
        self.end = 0.0

    def over(self) -> bool:
        self.end = self.end or time.monotonic() + SECONDS
        return bool(SECONDS) and time.monotonic() > self.end


@pytest.fixture(scope="module", autouse=True)
def _apache() -> None:
    if not APACHE.present:
        pytest.skip("no apache2 on this machine: nothing to compare with")


general = st.tuples(sites(), st.lists(requests(), min_size=15, max_size=25))
guarded = st.tuples(guarded_sites(), st.lists(guarded_requests(), min_size=20, max_size=35))
rewritten = st.tuples(
    rewritten_sites(), st.lists(rewritten_requests(), min_size=8, max_size=13, unique_by=lambda r: r.path)
)
either = st.one_of(general, guarded, guarded, rewritten)
whimbrel_clock, apache_clock = Clock(), Clock()


@bounded(EXAMPLES)
@given(either)
def test_whimbrel_answers_as_apache(example: tuple[Site, list[Request]]) -> None:
    if not whimbrel_clock.over():
        check_same(APACHE, WHIMBREL, *example)


@bounded(EXAMPLES // 3)
@given(either)
def test_apache_answers_as_itself(example: tuple[Site, list[Request]]) -> None:
    if not apache_clock.over():
        check_same(APACHE, APACHE, *example)
