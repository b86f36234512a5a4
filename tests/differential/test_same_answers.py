"""Generated configurations and requests: Whimbrel must respond as Debian's apache2 does, and apache2 as
itself.

Without WHIMBREL_DIFF_SECONDS a few fixed examples; with it, random ones for that many seconds, and a
difference is shrunk.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.differential.exchange import Request, exchange
from tests.differential.guarded import guarded_requests, guarded_sites
from tests.differential.rewritten import rewritten_requests, rewritten_sites
from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.differential.site import GeneratedSite, ServerProcess, documents, htaccess
from tests.differential.strategies import requests, sites
from tests.differential.time_limit import TimeLimit, bounded
from tests.support.samples import amount

EXAMPLES = amount(8, 30)


def check_same(first: Program, second: Program, site: GeneratedSite, questions: list[Request]) -> None:
    """Start both on one document root and compare start-up and every response."""
    with tempfile.TemporaryDirectory(prefix="whimbrel-diff-") as folder, ExitStack() as stack:
        os.chmod(folder, 0o755)
        root = Path(folder, "site")
        documents(root)
        htaccess(root, site.htaccess)
        one, other = (stack.enter_context(ServerProcess(program, site, root)) for program in (first, second))
        outputs = f"{first.name} output: {one.output}\n{second.name} output: {other.output}"
        shown = f"\n{site.conf}\n{site.htaccess}\n{outputs}"
        assert one.started == other.started, shown
        if not one.started:
            assert one.output == other.output, shown
            return
        for request in questions:
            want, got = exchange(one.port, request), exchange(other.port, request)
            assert want == got, f"\n{request}\n{first.name}: {want}\n{second.name}: {got}{shown}"


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
whimbrel_clock, apache_clock = TimeLimit(), TimeLimit()


@bounded(EXAMPLES)
@given(either)
def test_whimbrel_answers_as_apache(example: tuple[GeneratedSite, list[Request]]) -> None:
    if not whimbrel_clock.over():
        check_same(APACHE, WHIMBREL, *example)


@bounded(EXAMPLES // 3)
@given(either)
def test_apache_answers_as_itself(example: tuple[GeneratedSite, list[Request]]) -> None:
    if not apache_clock.over():
        check_same(APACHE, APACHE, *example)
