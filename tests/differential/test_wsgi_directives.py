"""Arguments and contexts of mod_wsgi's directives, judged by `apache2 -t` with mod_wsgi and by Whimbrel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.config_verdicts import assert_verdicts
from tests.differential.servers import APACHE, MODULE_DIR

BLOCKS = (Path(__file__).parent / "wsgi_checks.txt").read_text().split("----\n")
STEP = 60

pytestmark = pytest.mark.skipif(
    not Path(APACHE.argv[0]).exists() or not Path(MODULE_DIR, "mod_wsgi.so").exists(),
    reason="mod_wsgi.so of libapache2-mod-wsgi-py3 is not installed",
)


@pytest.mark.parametrize("first", range(0, len(BLOCKS), STEP))
def test_verdicts(first: int, tmp_path: Path) -> None:
    assert_verdicts(tmp_path, BLOCKS[first : first + STEP])
