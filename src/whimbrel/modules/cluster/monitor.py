"""The listener of mod_heartmonitor, and its handler ``heartbeat``."""

from __future__ import annotations

import asyncio
from typing import Final

from whimbrel.base.numbers import atoi, strtol_exact
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.request import Request, RequestEngine, worker_object
from whimbrel.modules.cluster.multicast import listener
from whimbrel.modules.cluster.settings import HeartmonitorServerConfig
from whimbrel.modules.support.heartbeats import (
    DEFAULT_PORT,
    NAME,
    Heartbeat,
    fields_of,
    forget,
    parse_report,
    read_file,
    store,
    write_file,
)
from whimbrel.registry.methods import NAMES
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, HookStatus

HANDLER_NAME: Final = "heartbeat"
MAX_PORT: Final = 65_535
MAX_MESSAGE: Final = 1000  # bytes of a report
UPDATE: Final = 5.0  # seconds between two writes
SEEN_TIMEOUT: Final = 30  # seconds after which a server is forgotten
MAX_SERVERS: Final = 4096  # that one listener remembers for the file
_MODULE: Final = "heartmonitor"
_POST: Final = NAMES.index("POST")


class Monitor:
    """What is known of the servers; all but the file and the memory is that of this worker."""

    def __init__(self, engine: RequestEngine) -> None:
        conf = engine.configuration.main.config(HeartmonitorServerConfig)
        self.engine = engine
        self.address = conf.address
        self.path = conf.path or f"{engine.configuration.root}/logs/hb.dat"
        self.memory = engine.runtime.segment(NAME) if conf.most else None
        self.servers: dict[str, Heartbeat] = {}
        self._transport: asyncio.DatagramTransport | None = None

    def received(self, address: str, text: str, port: int = 0) -> None:
        """Take a report over; *port* is the sender's."""
        now = self.engine.runtime.now()
        report = parse_report(address, text, now)
        if report is None:
            self._log("crit", "AH02087", f"malformed message from {_shown(address, port)}")
            return
        fields = fields_of(text)
        words = f"busy={fields['busy']} ready={fields['ready']}"
        self._log("debug", "AH02086", f"{_shown(address, port)} {words}")
        if address in self.servers or len(self.servers) < MAX_SERVERS:
            self.servers[address] = report

    def store(self) -> None:
        """Store all reports; servers that are silent are forgotten."""
        now = self.engine.runtime.now()
        self.servers = {a: each for a, each in self.servers.items() if now - each.seen <= SEEN_TIMEOUT}
        if self.memory is not None:
            forget(self.memory, now - SEEN_TIMEOUT)
            for report in self.servers.values():
                store(self.memory, report)
            return
        try:
            write_file(self.path, self.servers.values(), now)
        except OSError as problem:
            self._log("crit", "AH02081", f"Unable to open tmp file: {self.path}", problem)

    def add(self, report: Heartbeat) -> None:
        """Store one report that came by HTTP (hm_update_stat)."""
        if self.memory is not None:
            store(self.memory, report)
            return
        now = report.seen
        try:
            known = read_file(self.path)
        except OSError:
            known = {}
        reports = {address: each._replace(seen=now - each.seen) for address, each in known.items()}
        reports[report.address] = report
        try:
            write_file(self.path, list(reports.values())[-MAX_SERVERS:], now)
        except OSError as problem:
            self._log("crit", "AH02074", f"Unable to open tmp file: {self.path}", problem)

    async def run(self) -> None:
        """Listen from the first call on; store the reports at each."""
        if self._transport is None:
            assert self.address is not None
            try:
                sock = listener(self.address)
            except OSError as problem:
                self._log("crit", "AH02071", "Failed to bind on socket.", problem)
                return
            make = asyncio.get_running_loop().create_datagram_endpoint
            self._transport, _ = await make(lambda: _Receiver(self), sock=sock)
        self.store()

    def _log(self, level: str, code: str, text: str, problem: OSError | None = None) -> None:
        cause = "" if problem is None else f"({problem.errno}){problem.strerror}"
        line = LogLine(level, text, code, "heartmonitor", cause)
        self.engine.error_log.about_server(self.engine.main, line)


def _shown(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


class _Receiver(asyncio.DatagramProtocol):
    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        self.monitor.received(str(address[0]), data[:MAX_MESSAGE].decode("latin-1"), address[1])


def monitor_of(engine: RequestEngine) -> Monitor:
    """Return the monitor of this worker."""
    return worker_object(engine, NAME, lambda: Monitor(engine))


def start(engine: RequestEngine) -> None:
    """Listen in one worker."""
    engine.runtime.every(NAME, UPDATE, monitor_of(engine).run)


def _posted(r: Request, fields: dict[str, str]) -> Heartbeat | None:
    """Return the report of a request, None without its two counts; wrong numbers are logged."""
    if not {"busy", "ready"} <= fields.keys():
        return None
    port = DEFAULT_PORT
    if "port" in fields:
        given = strtol_exact(fields["port"]) if fields["port"] else None
        if given is not None and 0 < given <= MAX_PORT:
            port = given
        else:
            line = f"Invalid port value: {fields['port']}, using default {DEFAULT_PORT}"
            r.log("warn", line, code="AH10564", module=_MODULE)
    counts = {}
    for name, code in (("busy", "AH10565"), ("ready", "AH10566")):
        is_number = not fields[name] or strtol_exact(fields[name]) is not None
        counts[name] = atoi(fields[name]) if is_number else 0
        if not is_number:
            line = f"Invalid {name} value: {fields[name]}, using 0"
            r.log("warn", line, code=code, module=_MODULE)
    now = r.engine.runtime.now()
    return Heartbeat(r.connection.client_ip, counts["ready"], counts["busy"], now, port)


def make_handler(scope: Scope) -> CompiledHook:
    """Make the handler of reports by POST."""

    async def handle(r: Request) -> HookStatus:
        if r.handler != HANDLER_NAME:
            return DECLINED
        r.set_uncacheable()
        if r.method_number != _POST:
            return 405
        data = b""
        while len(data) < MAX_MESSAGE and (piece := await r.body_in.read()):
            data += piece
        monitor = monitor_of(r.engine)
        if monitor.address is None:
            r.log("error", "Heartbeat monitoring not active", code="AH10561", module=_MODULE)
            return 503
        report = _posted(r, fields_of(data[:MAX_MESSAGE].decode("latin-1")))
        if report is None:
            line = "Missing required parameters: busy and/or ready"
            r.log("error", line, code="AH10563", module=_MODULE)
            return 400
        monitor.add(report)
        r.content_type = "text/plain"
        r.write("OK")
        return OK

    return CompiledHook(handle, Reads.UNCACHEABLE, is_async=True, handlers=frozenset((HANDLER_NAME,)))
