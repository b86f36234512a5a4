"""Work of a fleet that ends its process, never ends, needs too much memory, or has a defect."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass

from whimbrel.fleet.model import RuleCount, ServerResult
from whimbrel.fleet.servers import FleetServer
from whimbrel.fleet.tasks import ReportWriting
from whimbrel.upgrade.model import Risk


@dataclass(frozen=True)
class HostileTask:
    """The name of a server says what happens; other servers have one finding.

    Attributes:
        log: a file that gets the name of each server that is worked on.
    """

    log: str = ""
    command: str = "check"
    writes: bool = False

    def run(self, server: FleetServer, report_writing: ReportWriting) -> ServerResult:
        """Return a result, or do what the name of the server says."""
        if self.log:
            with open(self.log, "a") as log:
                log.write(f"{server.name}\n")
        if server.name.startswith("killed"):
            os.kill(os.getpid(), signal.SIGKILL)
        if server.name.startswith("ended"):
            os._exit(7)
        if server.name.startswith("endless"):
            time.sleep(3600)
        if server.name.startswith("memory"):
            raise MemoryError
        if server.name.startswith("defect"):
            raise KeyError("a defect")
        if server.name.startswith("nested"):
            raise RecursionError
        if server.name.startswith("writing"):
            report_writing()
            time.sleep(3600)
        return ServerResult(server.name, server.path, "findings", 1, (RuleCount("C17", Risk.BREAKS, 1),))

    def rule_names(self) -> dict[str, str]:
        """Return the name of the one rule."""
        return {"C17": "order-allow-deny"}


def servers(*names: str) -> list[FleetServer]:
    """Return servers without trees."""
    return [FleetServer(name, f"/nowhere/{name}") for name in names]
