"""What holds for every test: the garbage collector leaves alone what earlier tests keep, and doubles of own
functions accept the calls of the original alone.
"""

from __future__ import annotations

import gc

import pytest

from tests.support import doubles

doubles.install()


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
