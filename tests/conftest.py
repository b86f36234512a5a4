"""What holds for every test: engines may start programs, as in a server; doubles of own functions accept the
calls of the original alone; the garbage collector leaves alone what earlier tests keep; no thread goes on
working; a private key is checked once.
"""

from __future__ import annotations

import gc
import os
import signal
import tempfile
import threading
from collections.abc import Generator, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.support import doubles
from tests.support.busy_threads import BusyThreads
from tests.support.samples import SEED, seed_of_the_run
from whimbrel.base.programs import permit_programs

FEW_OBJECTS = 50_000
"""Objects since the last collection that are left to the next one: most modules leave fewer."""
TOGETHER = "tests/meta/"
"""Tests of one worker: each worker that runs one of them would read all files of the repository."""

_THREADS = BusyThreads()

gc.disable()  # until all tests are collected, whose objects stay
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    and threading.current_thread() is threading.main_thread()
):
    # a shell starts what runs in the background so, and programs that tests start would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
permit_programs()
doubles.install()
seed_of_the_run()  # workers inherit it: they agree even at midnight
_STATE = tempfile.TemporaryDirectory(prefix="whimbrel-state-")
os.environ["XDG_STATE_HOME"] = _STATE.name  # of upgrades that tests write, in place of the user's


def pytest_configure() -> None:
    """No property test fails because the machine is slow: only tests of tests/performance judge speed."""
    if find_spec("hypothesis") is not None:
        from hypothesis import HealthCheck, settings

        settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
        settings.load_profile("any machine")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give a worker whole files, and one of them all of `TOGETHER`."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return TOGETHER if nodeid.startswith(TOGETHER) else super()._split_scope(nodeid)

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"searches began at the seed {SEED}={seed_of_the_run()}")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
    gc.set_threshold(200_000, 20, 100)  # the usual 700 objects cost a tenth of the time


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """Freeze what is left after a module; no thread of it may use the processor.

    Recorded cases, configurations and engines stay in caches: millions of objects by the end. A collection
    that visits them takes seconds, and it comes at any moment of a later test.
    """
    yield
    if nextitem is None or nextitem.path != item.path:
        youngest, *older = gc.get_count()
        if youngest > FEW_OBJECTS or any(older):
            gc.collect()
            gc.freeze()
        assert not (found := _THREADS.found()), f"threads that are left use the processor: {found}"


@pytest.fixture(scope="session", autouse=True)
def checked_keys() -> Iterator[None]:
    """Check each private key once: cryptography tests the primes of a key of RSA, 60 ms of 2,048 bits.

    Sites with TLS have the same few keys, those of the recorded cases; a key is immutable.
    """
    if find_spec("cryptography") is None:
        yield
        return
    from whimbrel.modules.ssl.mod_ssl import key_files

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_files, "load_pem_private_key", cache(key_files.load_pem_private_key))
        yield


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A directory that every user may enter, for servers whose processes give up the rights of root.

    The directory `tmp_path` is none, with any mode: each pytest that starts on the machine closes the
    directory above it, and a server answers 403 from then on.
    """
    with tempfile.TemporaryDirectory(prefix="whimbrel-test-") as name:
        found = Path(name).resolve()
        found.chmod(0o755)
        yield found
