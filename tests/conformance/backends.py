"""The programs that run beside the server of a case: origin servers, FastCGI and SCGI applications."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.conformance.site import RecordedSite

START_TIMEOUT = 5.0


def is_listening(port: int) -> bool:
    """Return True if a socket of this machine listens on *port* (proc(5), /proc/net/tcp)."""
    suffix = f":{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = [line.split() for line in Path(table).read_text().splitlines()[1:]]
        except OSError:
            continue
        if any(row[3] == "0A" and row[1].endswith(suffix) for row in rows):
            return True
    return False


@contextmanager
def running_backends(site: RecordedSite) -> Iterator[None]:
    """Run the backends of the case; each listens on its port before the next one starts."""
    with ExitStack() as stack:
        for backend in site.case.backends:
            argv = [site.expand(word) for word in backend.argv]
            output = stack.enter_context(open(site.path("var/backend.out"), "ab"))
            process = subprocess.Popen(
                argv,
                cwd=site.root,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            stack.callback(_stop, process)
            if backend.port:
                _wait_for(int(site.expand(backend.port)))
        yield


def _wait_for(port: int) -> None:
    end = time.monotonic() + START_TIMEOUT
    while time.monotonic() < end and not is_listening(port):
        time.sleep(0.03)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(5)
