"""A file that is upgraded without its server is never left broken in silence: what apache2 without
mod_access_compat refuses afterwards is marked "breaks start-up".

WHIMBREL_CASES=N takes 200 generated files and all files of the larger set.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.corpus.configurations import CONFIGURATIONS, LARGER_SET
from tests.corpus.httpd_check import needs_apache
from tests.support.samples import amount
from tests.upgrade.lone_files import Lone, refusals, upgraded
from tests.upgrade.lone_texts import generated
from whimbrel.upgrade.model import UpgradeOptions

CASES = int(os.environ.get("WHIMBREL_CASES") or 0)
GENERATED = 200 if CASES else amount(8, 60)
EVERY = 1 if CASES else amount(120, 12)
ASSUMED = UpgradeOptions(no_outer_password=True)


@pytest.fixture
def where() -> Iterator[Path]:
    """A directory that the user of apache2 may enter."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def unmarked(lones: list[Lone], where: Path) -> list[tuple[str, str]]:
    """Return what apache2 refuses without a finding that says so."""
    return [(lone.new.decode("latin-1"), message) for lone, message in refusals(lones, where)]


def written(where: Path, options: UpgradeOptions) -> list[Lone]:
    """Return the generated files after their upgrade."""
    lones = []
    for number, (name, text) in enumerate(generated(GENERATED)):
        path = where / f"{number}" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
        lones.append(upgraded(path, options))
    return lones


@needs_apache
def test_generated_files(where: Path) -> None:
    lones = written(where / "unknown", UpgradeOptions())
    assert sum(lone.is_htaccess for lone in lones) == GENERATED // 2
    assert not unmarked(lones, where / "served")
    assumed = written(where / "assumed", ASSUMED)
    assert not unmarked(assumed, where / "served-assumed")
    assert sum(lone.is_broken for lone in assumed) < sum(lone.is_broken for lone in lones)


@needs_apache
def test_files_of_the_corpus(where: Path) -> None:
    """The configurations of the repository; and some files of a larger set, where one is present."""
    own = [path for path in sorted(CONFIGURATIONS.rglob("*")) if not path.is_symlink()]
    larger = [path for part in ("files", "rewrite") for path in sorted((LARGER_SET / part).rglob("*"))]
    configurations = [path for path in larger if path.suffix not in (".txt", ".csv", ".md")]
    lones = [upgraded(path) for path in (*own, *configurations[::EVERY]) if path.is_file()]
    assert len(lones) > 20
    assert not unmarked(lones, where)
