"""Directories that are not here: modules that read their entries find none, and refuse nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.api.loaded_site import LoadedSite
from whimbrel.upgrade.knowledge.scope import UnknownKind
from whimbrel.upgrade.source.named_sources import ConfigArguments, sources
from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.loading import load_side
from whimbrel.verify.missing_directories import assume_directories
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


def test_a_directory_outside_of_a_copy_has_its_name(tmp_path: Path) -> None:
    """A copy of ServerRoot alone has no place for documents elsewhere: the path is that of the text."""
    (tmp_path / "copy").mkdir()
    text = (
        'ServerRoot /no/such/root\nListen 80\n<Directory "/no/such/documents">\nOptions None\n</Directory>\n'
    )
    (tmp_path / "copy" / "httpd.conf").write_text(text)
    what, _directory = sources(ConfigArguments([tmp_path / "copy"]))
    assert what.options is not None and what.options.is_copy
    items = assume_directories([SideLines(load_side(what.options, "2.4"))])
    assert "directory /no/such/documents/ is not here" in [item.subject for item in items.values()]
