"""Directories that are not here: modules that read their entries find none, and refuse nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.api.loaded_site import LoadedSite
from whimbrel.upgrade.knowledge.scope import UnknownKind
from whimbrel.verify.probe import Probe

TEXT = (
    'Alias /doc/ @ROOT@/none/\n<Directory "@ROOT@/none">\nOptions {}\nOrder allow,deny\n'
    "Allow from all\n</Directory>"
)


@pytest.mark.parametrize("is_here", [False, True])
@pytest.mark.parametrize(
    ("options", "target", "status"),
    [("MultiViews", "/doc/x", 404), ("Indexes", "/doc/", 200), ("None", "/doc/", 403)],
)
def test_the_answer_is_that_of_an_empty_directory(
    tmp_path: Path, options: str, target: str, status: int, *, is_here: bool
) -> None:
    make_root(tmp_path)
    if is_here:
        (tmp_path / "none").mkdir()
    old = side(tmp_path, "old", TEXT.format(options), "2.2", "negotiation")
    explanation, scope = LoadedSite(old).explain(Probe(target, host="localhost:8080", port=8080))
    assert explanation.status == status
    missing = [item for item in scope.items if item.kind is UnknownKind.MISSING and "/none/" in item.subject]
    assert bool(missing) is not is_here
