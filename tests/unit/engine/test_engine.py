"""What an engine caches, and when."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.access_site import AccessSite

from whimbrel.engine.cache.index import ResponseCache


@pytest.mark.parametrize(
    ("path", "offered"), [("/f.html", [1, 2]), ("/f.html?a=b", [1, 2]), ("/none", [0, 1]), ("/in?x", [0, 1])]
)
def test_answers_that_may_never_come_again_are_kept_from_the_second_time_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    offered: list[int],
) -> None:
    site = AccessSite(tmp_path, "<Directory @DOCROOT@>\nRequire all granted\n</Directory>\n")
    os.utime(tmp_path / "htdocs/f.html", (1000, 1000))
    offers: list[Any] = []
    monkeypatch.setattr(
        ResponseCache,
        "store",
        lambda _cache, *given, is_admitted: offers.append(given) if is_admitted else None,
    )
    seen = []
    for _ in range(2):
        site.fetch(path)
        seen.append(len(offers))
    assert seen == offered
