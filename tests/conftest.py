"""What holds for every test: engines may start programs, as in a server; doubles of own functions accept the
calls of the original alone; the garbage collector leaves alone what earlier tests keep.
"""

from __future__ import annotations

import gc
import os
import tempfile

import pytest

from tests.support import doubles
from whimbrel.base.programs import permit_programs

permit_programs()
doubles.install()
_STATE = tempfile.TemporaryDirectory(prefix="whimbrel-state-")
os.environ["XDG_STATE_HOME"] = _STATE.name  # of upgrades that tests write, in place of the user's


def pytest_collection_finish() -> None:
    gc.freeze()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Freeze what is left after a module.

    Recorded cases, configurations and engines stay in caches: millions of objects by the end. A collection
    that visits them takes seconds, and it comes at any moment of a later test.
    """
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()
