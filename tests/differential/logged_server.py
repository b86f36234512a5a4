"""One program on the site of logged_site: its access and error lines, by connection."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from tests.differential.logged_site import CONF, FORMAT, MODULES, Talk, run_talk
from tests.differential.servers import Program
from tests.differential.site import GeneratedSite, ServerProcess

_CLIENT = re.compile(r"\[(?:client|remote) [\d.]+:(\d+)\]")


class LoggedServer(ServerProcess):
    """Process of *program* on the site below *base*, with its logs; a context manager."""

    def __init__(self, program: Program, base: Path, level: str = "debug", trace: str = "on") -> None:
        text = CONF.replace("%FORMAT%", FORMAT).replace("%LEVEL%", level).replace("%TRACE%", trace)
        super().__init__(program, GeneratedSite(text), base)
        self.access: dict[str, list[str]] = {}

    def _preamble(self) -> str:
        text = super()._preamble()
        loads = "".join(f"LoadModule {m}_module {self.program.module_dir}/mod_{m}.so\n" for m in MODULES)
        kept = [line for line in text.splitlines(True) if not line.startswith(("LoadModule", "TypesConfig"))]
        return loads + "".join(kept)

    def __enter__(self) -> LoggedServer:
        text = self.conf.read_text().replace("%LOGS%", str(self.logs))
        self.conf.write_text(text)
        super().__enter__()
        return self

    def hold(self, talks: Mapping[str, Talk]) -> dict[str, tuple[int, bytes]]:
        """Hold every connection in turn; return the client's ports, and what it received."""
        return {name: run_talk(self.port, talk) for name, talk in talks.items()}

    def restart(self) -> None:
        """Restart gracefully."""
        self.process.send_signal(signal.SIGUSR1)
        time.sleep(1.5)

    def stop(self) -> None:
        """Stop the server; its logs stay until the end of the context."""
        self.process.terminate()
        self.process.wait(10)

    def access_lines(self) -> dict[int, list[str]]:
        """Return the access lines by the client's port, without it."""
        out: dict[int, list[str]] = {}
        for line in (self.logs / "access_log").read_text("latin-1").splitlines():
            port, _, rest = line.partition("|")
            out.setdefault(int(port), []).append(self.normal(rest))
        return out

    def error_lines(self) -> dict[int, list[str]]:
        """Return the error lines by the client's port, 0 for lines without."""
        out: dict[int, list[str]] = {}
        for line in (self.logs / "error_log").read_text("latin-1").splitlines():
            match = _CLIENT.search(line)
            out.setdefault(int(match[1]) if match is not None else 0, []).append(self.normal(line))
        return out

    def normal(self, line: str) -> str:
        """Return a line without what differs from run to run."""
        line = line.replace(str(self.logs), "%LOGS%").replace(str(self.root), "%BASE%")
        return re.sub(rf"(?<!\d){self.port}(?!\d)", "%PORT%", line)
