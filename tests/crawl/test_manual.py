"""A few pages of the packaged manual of httpd answer under Whimbrel as under apache2, in all variants."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("lxml", reason="the optional package lxml is not installed")

from tests.crawl.applications import APPLICATIONS
from tests.crawl.session import Excuse, Options, Session
from tests.differential.servers import APACHE

MANUAL = APPLICATIONS["apache2-doc"]
PAGES = 8
pytestmark = [
    pytest.mark.skipif(not APACHE.present, reason="apache2 is not installed"),
    pytest.mark.skipif(bool(MANUAL.missing), reason=MANUAL.missing or "present"),
    pytest.mark.skipif(os.getuid() != 0, reason="root starts apache2 as packaged"),
]


def test_the_manual_answers_alike() -> None:
    with Session(MANUAL) as session:
        outcomes = list(session.run(Options(limit=PAGES, jobs=2), lambda _done, _total: None))
    assert len(outcomes) > 60 * PAGES
    assert [o for o in outcomes if o.differences and o.excuse is Excuse.NONE] == []
    assert [o for o in outcomes if o.logs] == []
