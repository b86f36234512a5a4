"""Some cells of the table in a short form, and what an interrupted run leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("h2", reason="the optional package h2 is not installed")

from tests.faults.cell import Scene, failures
from tests.faults.interposer import library, remove_library
from tests.faults.loads import LOADS
from tests.faults.plan import FAULTS
from tests.faults.run import missing
from tests.faults.site import BackEnd
from tests.hostile.server import WHIMBREL

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())
SECONDS = 1.0


@pytest.fixture(scope="module", autouse=True)
def _library() -> Iterator[None]:
    yield
    remove_library()


def mounts(text: str) -> list[str]:
    """Return the mounted directories whose names have *text*."""
    return [
        place for line in Path("/proc/mounts").read_text().splitlines() if text in (place := line.split()[1])
    ]


@pytest.mark.parametrize(
    ("fault", "load"),
    [("full-disk", "dav-cache"), ("no-descriptors", "static"), ("killed-workers", "tls-h2")],
)
def test_a_promise_holds(fault: str, load: str) -> None:
    with BackEnd() as back_end:
        scene = Scene(WHIMBREL, FAULTS[fault], LOADS[load], SECONDS, back_end)
        found = scene.observe()
    assert failures(FAULTS[fault], LOADS[load], found) == []
    assert found.outcomes["right"] > 100
    assert mounts(str(scene.server.root)) == []
    assert not scene.server.root.exists()


def test_an_interrupted_run_leaves_nothing(open_path: Path) -> None:
    """Neither a mount, a process, a directory, nor the compiled library."""
    environment = {**os.environ, "TMPDIR": str(open_path)}
    command = [sys.executable, "-m", "tests.faults.run", "--only", "read-errors/static", "--seconds", "60"]
    run = subprocess.Popen(
        command,
        cwd=Path(__file__).parents[2],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    end = time.monotonic() + 60
    while not list(open_path.glob("*/logs/pid")) and time.monotonic() < end:
        time.sleep(0.05)
    assert len(mounts(str(open_path))) == 2
    time.sleep(0.5)
    run.send_signal(signal.SIGINT)
    _, progress = run.communicate(timeout=60)
    assert run.returncode == 130
    assert progress.startswith("1 of 1: read-errors/static\n")
    assert mounts(str(open_path)) == []
    assert list(open_path.iterdir()) == []
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [command for command in commands if str(open_path).encode() in command]


def test_the_library_needs_no_fault_to_be_loaded() -> None:
    """Without a control block it passes every call on."""
    environment = {**os.environ, "LD_PRELOAD": str(library())}
    code = "import os, time; print(os.stat('/').st_dev, int(time.time()))"
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    device, seconds = map(int, found.stdout.split())
    assert device == Path("/").stat().st_dev
    assert abs(seconds - time.time()) < 60
