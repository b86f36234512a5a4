"""mod_status: what the workers are doing, as a page and as ``key: value`` lines.

Manual: mod/mod_status.html.  The data come from the runtime's scoreboard; a key that isn't there counts as nothing, and without a scoreboard the page
shows this one request.

`rows()`: one dictionary for each worker, in the order of the scoreboard:
    process, generation, pid      numbers
    state                         one letter of the key on the page (``_SRWKDCLGI`` or ``.``)
    accesses                      (this connection, this child, this slot)
    bytes                         the same three, in bytes
    cpu                           seconds of processor time
    since                         seconds since the beginning of the most recent request
    took, duration                milliseconds: of the most recent request, of all
    client, protocol, vhost, request    texts of the most recent request
`totals()`:
    started                       seconds since the epoch; restarted: of the last restart
    config_generation, generation numbers
    accesses, bytes, duration     of all workers; duration in milliseconds
    cpu                           (user, system, children's user, children's system) in seconds
    slots                         size of the scoreboard
    processes                     dictionaries with slot, pid, stopping, connections, accepting, wait_io, writing, keep_alive, closing, workers: states
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

from whimbrel.config.core import CoreServer
from whimbrel.directives.spec import Args, Directive, Record, Versions, Where
from whimbrel.http.url import escape_html
from whimbrel.modules.setters import global_only, set_flag
from whimbrel.registry.module import Hook, Made, Module, Order, Reads, Scope
from whimbrel.registry.phases import DECLINED, HANDLER, OK, Answer
from whimbrel.registry.settings import setting

HANDLER_NAME = "server-status"
TYPE = "application/x-httpd-status"
TEXT = {"": "text/html; charset=ISO-8859-1", "auto": "text/plain; charset=ISO-8859-1"}


@dataclass(slots=True)
class StatusServer:
    """Per-server settings (2.2, where they are this module's; in 2.4 they are the core's)."""

    extended: bool = setting(False)
    tail: bool = setting(False)


# Numbers --------------------------------------------------------------------------------------------------------------------------------------------
def number(value: float, digits: int = 6) -> str:
    """``%g`` as APR prints it: no zero before the point."""
    text = f"{value:.{digits}g}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def size(count: float) -> str:
    """Bytes with a unit."""
    if count < 5 * 1024:
        return f"{int(count)} B"
    if count < 1024 * 1024 / 2:
        return f"{count / 1024:.1f} kB"
    if count < 1024 * 1024 * 1024 / 2:
        return f"{count / 1024 / 1024:.1f} MB"
    return f"{count / 1024 / 1024 / 1024:.1f} GB"


def kilo(kbytes: int) -> str:
    """Kilobytes with a unit."""
    if kbytes < 1024:
        return f"{kbytes} kB"
    if kbytes < 1024 * 1024:
        return f"{kbytes / 1024:.1f} MB"
    return f"{kbytes / 1024 / 1024:.1f} GB"


def span(seconds: int) -> str:
    """A time as `` 1 day 2 hours 3 minutes 4 seconds``; "" for none."""
    out = ""
    for name, length in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        count, seconds = divmod(seconds, length)
        if count:
            out += f" {count} {name}{'' if count == 1 else 's'}"
    return out


def when(seconds: float) -> str:
    """``Saturday, 21-Nov-2026 12:07:51 UTC``."""
    return time.strftime("%A, %d-%b-%Y %H:%M:%S %Z", time.localtime(seconds))


# Data -----------------------------------------------------------------------------------------------------------------------------------------------
class State:
    """The scoreboard's answers, completed."""

    def __init__(self, r: Any, extended: bool) -> None:
        board = getattr(r.engine.runtime, "scoreboard", None)
        self.rows: list[dict[str, Any]] = list(board.rows()) if board is not None else []
        self.totals: dict[str, Any] = dict(board.totals()) if board is not None else {}
        self.now: float = r.engine.runtime.now()
        self.extended = extended
        if not self.rows:
            self.rows = [{"pid": os.getpid(), "state": "W", "request": r.the_request, "client": r.connection.client_ip}]
        self.slots = max(int(self.totals.get("slots", 0)), len(self.rows))
        self.board = "".join(row.get("state", "_") for row in self.rows).ljust(self.slots, ".")
        self.uptime = max(0, int(self.now - self.totals.get("started", self.now)))
        self.idle = self.board.count("_")
        self.graceful = self.board.count("G")
        self.busy = sum(1 for state in self.board if state in "RWKLDC") + self.graceful
        self.accesses = int(self.totals.get("accesses", 0))
        self.bytes = int(self.totals.get("bytes", 0))
        self.duration = int(self.totals.get("duration", 0))
        self.cpu: tuple[float, ...] = tuple(self.totals.get("cpu", (0, 0, 0, 0)))
        self.processes: list[dict[str, Any]] = self.totals.get("processes", [])

    def connections(self, key: str) -> int:
        """The sum of a count over all processes."""
        return sum(int(p.get(key, 0)) for p in self.processes)

    def rates(self) -> list[tuple[str, str, float]]:
        """(key of ?auto, unit of the page, value) of what can be told after this time and these accesses."""
        out = []
        if self.uptime:
            out += [("ReqPerSec", "requests/sec", self.accesses / self.uptime), ("BytesPerSec", "/second", self.bytes / self.uptime)]
        if self.accesses:
            out += [("BytesPerReq", "/request", self.bytes / self.accesses), ("DurationPerReq", " ms/request", self.duration / self.accesses)]
        return out


# ?auto ----------------------------------------------------------------------------------------------------------------------------------------------
def auto_24(r: Any, s: State) -> list[tuple[str, str]]:
    """The lines of 2.4, before the scoreboard."""
    load = os.getloadavg()
    out = [
        ("ServerVersion", r.engine.server_field(r)), ("ServerMPM", s.totals.get("mpm", "event")), ("Server Built", s.totals.get("built", "")),
        ("CurrentTime", when(s.now)), ("RestartTime", when(s.totals.get("restarted", s.totals.get("started", s.now)))),
        ("ParentServerConfigGeneration", s.totals.get("config_generation", 1)), ("ParentServerMPMGeneration", s.totals.get("generation", 0)),
        ("ServerUptimeSeconds", s.uptime), ("ServerUptime", span(s.uptime).strip()), ("Load1", number(load[0], 3)), ("Load5", number(load[1], 3)),
        ("Load15", number(load[2], 3)),
    ]
    if s.extended:
        out += [("Total Accesses", s.accesses), ("Total kBytes", s.bytes // 1024), ("Total Duration", s.duration)]
        out += zip(("CPUUser", "CPUSystem", "CPUChildrenUser", "CPUChildrenSystem"), map(number, s.cpu), strict=False)
        if s.uptime and sum(s.cpu):
            out.append(("CPULoad", number(sum(s.cpu) / s.uptime * 100)))
        out.append(("Uptime", s.uptime))
        out += [(key, number(value)) for key, _unit, value in s.rates()]
    out += [("BusyWorkers", s.busy), ("GracefulWorkers", s.graceful), ("IdleWorkers", s.idle), ("Processes", len(s.processes) or 1),
            ("Stopping", sum(1 for p in s.processes if p.get("stopping"))), ("ConnsTotal", s.connections("connections")),
            ("ConnsAsyncWaitIO", s.connections("wait_io")), ("ConnsAsyncWriting", s.connections("writing")),
            ("ConnsAsyncKeepAlive", s.connections("keep_alive")), ("ConnsAsyncClosing", s.connections("closing"))]
    return out


def auto_22(_r: Any, s: State) -> list[tuple[str, str]]:
    """The lines of 2.2, before the scoreboard."""
    out: list[tuple[str, Any]] = []
    if s.extended:
        out += [("Total Accesses", s.accesses), ("Total kBytes", s.bytes // 1024)]
        if s.uptime and sum(s.cpu):
            out.append(("CPULoad", number(sum(s.cpu) / s.uptime * 100)))
        out.append(("Uptime", s.uptime))
        out += [(key, number(value)) for key, _unit, value in s.rates() if key != "DurationPerReq"]
    return [*out, ("BusyWorkers", s.busy), ("IdleWorkers", s.idle)]


def auto(r: Any, s: State, new: bool) -> str:
    """The whole answer to ?auto."""
    lines = auto_24(r, s) if new else auto_22(r, s)
    head = f"{r.engine.server_name(r)}\n" if new else ""
    text = "".join(f"{key}: {value}\n" if value != "" or key != "ServerUptime" else f"{key}:\n" for key, value in lines)
    return f"{head}{text}Scoreboard: {s.board}\n"


# The page -------------------------------------------------------------------------------------------------------------------------------------------
KEY = """<p>Scoreboard Key:<br />
"<b><code>_</code></b>" Waiting for Connection,\x20
"<b><code>S</code></b>" Starting up,\x20
"<b><code>R</code></b>" Reading Request,<br />
"<b><code>W</code></b>" Sending Reply,\x20
"<b><code>K</code></b>" Keepalive (read),\x20
"<b><code>D</code></b>" DNS Lookup,<br />
"<b><code>C</code></b>" Closing connection,\x20
"<b><code>L</code></b>" Logging,\x20
"<b><code>G</code></b>" Gracefully finishing,<br />\x20
"<b><code>I</code></b>" Idle cleanup of worker,\x20
"<b><code>.</code></b>" Open slot with no current process<br />
</p>
"""
_COLUMNS = (
    ("Srv", "Child Server number - generation"), ("PID", "OS process ID"), ("Acc", "Number of accesses this connection / this child / this slot"),
    ("M", "Mode of operation"), ("CPU", "CPU usage, number of seconds"), ("SS", "Seconds since beginning of most recent request"),
    ("Req", "Milliseconds required to process most recent request"), ("Dur", "Sum of milliseconds required to process all requests"),
    ("Conn", "Kilobytes transferred this connection"), ("Child", "Megabytes transferred this child"), ("Slot", "Total megabytes transferred this slot"),
)
_WORDS = {"_": "Ready", "S": "Starting", "R": "<b>Read</b>", "W": "<b>Write</b>", "K": "<b>Keepalive</b>", "L": "<b>Logging</b>",
          "D": "<b>DNS lookup</b>", "C": "<b>Closing</b>", ".": "Dead", "G": "Graceful", "I": "Dying"}
_SILENT_22 = ("Dur",)


def page(r: Any, s: State, new: bool, table: bool) -> str:
    """The whole page."""
    out = [_head(r, s, new), f"<dt>{s.busy} requests currently being processed, "]
    out.append(f"{s.graceful} workers gracefully restarting, {s.idle} idle workers</dt>\n</dl>\n" if new else f"{s.idle} idle workers</dt>\n</dl>")
    if new:
        out.append(_process_table(s))
    lines = [s.board[i:i + 64] for i in range(0, len(s.board), 64)]
    out += ["<pre>", "\n".join(lines), "</pre>\n", KEY]
    if not s.extended:
        out.append(_pid_key(s))
    elif table:
        out.append(_table(s, new))
    else:
        out.append("<hr /><h2>Server Details</h2>\n\n" + "".join(_details(row) for row in s.rows if _shown(row)))
    out += [r.engine.signature(r), "</body></html>\n"]
    return "".join(out)


def _head(r: Any, s: State, new: bool) -> str:
    if new:
        doctype = '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">\n'
        name = f"{escape_html(r.engine.server_name(r))} (via {r.connection.local_ip})"
    else:
        doctype, name = '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">\n', escape_html(r.engine.server_name(r))
    load = os.getloadavg()
    facts = [f"Server Version: {r.engine.server_field(r)}"]
    if new:
        facts.append(f"Server MPM: {s.totals.get('mpm', 'event')}")
    times = [f"Current Time: {when(s.now)}", f"Restart Time: {when(s.totals.get('restarted', s.totals.get('started', s.now)))}"]
    if new:
        times += [f"Parent Server Config. Generation: {s.totals.get('config_generation', 1)}",
                  f"Parent Server MPM Generation: {s.totals.get('generation', 0)}", f"Server uptime: {span(s.uptime)}",
                  f"Server load: {load[0]:.2f} {load[1]:.2f} {load[2]:.2f}"]
    else:
        times += [f"Parent Server Generation: {s.totals.get('generation', 0)}", f"Server uptime: {span(s.uptime)}"]
    top = f"<html><head>\n<title>Apache Status</title>\n</head><body>\n<h1>Apache Server Status for {name}</h1>\n\n<dl>"
    top += "".join(f"<dt>{fact}</dt>\n" for fact in facts) + f"<dt>Server Built: {s.totals.get('built', '')}\n</dt></dl><hr /><dl>\n"
    return doctype + top + "".join(f"<dt>{fact}</dt>\n" for fact in times) + (_extended(s, new) if s.extended else "")


def _extended(s: State, new: bool) -> str:
    duration = f" - Total Duration: {s.duration}" if new else ""
    user, system, child_user, child_system = map(number, s.cpu)
    load = f" - {number(sum(s.cpu) / s.uptime * 100, 3)}% CPU load" if s.uptime and sum(s.cpu) else ""
    rates = []
    for key, unit, value in s.rates():
        if key == "ReqPerSec":
            rates.append(f"{number(value, 3)} {unit}")
        elif key == "DurationPerReq":
            rates += [number(value) + unit] if new else []
        else:
            rates.append(size(value) + unit)
    return (f"<dt>Total accesses: {s.accesses} - Total Traffic: {kilo(s.bytes // 1024)}{duration}</dt>\n"
            f"<dt>CPU Usage: u{user} s{system} cu{child_user} cs{child_system}{load}</dt>\n<dt>{' - '.join(rates)}</dt>\n")


def _process_table(s: State) -> str:
    out = ('\n<table rules="all" cellpadding="1%">\n<tr><th rowspan="2">Slot</th><th rowspan="2">PID</th><th rowspan="2">Stopping</th>'
           '<th colspan="2">Connections</th>\n<th colspan="3">Threads</th><th colspan="4">Async connections</th></tr>\n<tr><th>total</th>'
           "<th>accepting</th><th>busy</th><th>graceful</th><th>idle</th><th>wait-io</th><th>writing</th><th>keep-alive</th><th>closing</th></tr>\n")
    for p in s.processes:
        workers = p.get("workers", "")
        cells = [p.get("slot", 0), p.get("pid", 0), "yes" if p.get("stopping") else "no", p.get("connections", 0),
                 "yes" if p.get("accepting", True) else "no", sum(1 for w in workers if w in "RWKLDC"), workers.count("G"), workers.count("_"),
                 *(p.get(k, 0) for k in ("wait_io", "writing", "keep_alive", "closing"))]
        out += "<tr>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>\n"
    total = [len(s.processes) or 1, sum(1 for p in s.processes if p.get("stopping")), s.connections("connections"), "&nbsp;", s.busy - s.graceful,
             s.graceful, s.idle, *(s.connections(k) for k in ("wait_io", "writing", "keep_alive", "closing"))]
    return out + "<tr><td>Sum</td>" + "".join(f"<td>{c}</td>" for c in total) + "</tr>\n</table>\n"


def _pid_key(s: State) -> str:
    cells = [f"   {row.get('pid', 0)} in state: {row.get('state', '_')} " for row in s.rows if row.get("state", "_") != "."]
    lines = [",".join(cells[i:i + 3]) + "\n" for i in range(0, len(cells), 3)]
    return f"PID Key: <br />\n<pre>\n{''.join(lines)}</pre>\n"


def _shown(row: dict[str, Any]) -> bool:
    return bool(row.get("accesses", (0, 0, 0))[2]) or row.get("state", "_") not in "_."


def _table(s: State, new: bool) -> str:
    columns = [(n, text) for n, text in _COLUMNS if new or n not in _SILENT_22]
    names = [n + ("\n" if n == "CPU" else "") for n, _ in columns] + ["Client", *(["Protocol"] if new else []), "VHost", "Request"]
    out = '\n\n<table border="0"><tr>' + "".join(f"<th>{n}</th>" for n in names) + "</tr>\n\n"
    out += "".join(_row(row, new) for row in s.rows if _shown(row))
    legend = ["<tr><th>{}</th><td>{}</td></tr>\n".format(*column) for column in columns]
    return out + "</table>\n <hr /> <table>\n " + " ".join(legend).replace(" <tr><th>CPU", "<tr><th>CPU") + " </table>\n"


def _row(row: dict[str, Any], new: bool) -> str:
    state, (connection, child, slot) = row.get("state", "_"), row.get("bytes", (0, 0, 0))
    mode = "_" if state == "_" else f"<b>{state}</b>" if state in "SRWKLDCG" else state
    cells = [f"<b>{row.get('process', 0)}-{row.get('generation', 0)}</b>", row.get("pid", "-"), "/".join(map(str, row.get("accesses", (0, 0, 0)))),
             f"{mode}\n", f"{row.get('cpu', 0):.2f}", int(row.get("since", 0)), int(row.get("took", 0)), *([int(row.get("duration", 0))] if new else []),
             f"{connection / 1024:.1f}", f"{child / 1048576:.2f}", f"{slot / 1048576:.2f}\n", escape_html(row.get("client", "")),
             *([escape_html(row.get("protocol", ""))] if new else [])]
    last = "".join(f"<td nowrap>{escape_html(row.get(k, ''))}</td>" for k in ("vhost", "request"))
    return "<tr>" + "".join(f"<td>{c}</td>" for c in cells) + f"{last}</tr>\n\n"


def _details(row: dict[str, Any]) -> str:
    accesses, sizes = "|".join(map(str, row.get("accesses", (0, 0, 0)))), "|".join(size(b) for b in row.get("bytes", (0, 0, 0)))
    return (f"<b>Server {row.get('process', 0)}-{row.get('generation', 0)}</b> ({row.get('pid', 0)}): {accesses} "
            f"[{_WORDS.get(row.get('state', '_'), '?STATE?')}] u{number(row.get('cpu', 0))} s0 cu0 cs0\n {int(row.get('since', 0))} "
            f"{int(row.get('took', 0))} {int(row.get('duration', 0))}({sizes})\n <i>{escape_html(row.get('client', ''))} "
            f"{{{escape_html(row.get('request', ''))}}}</i> <i>({escape_html(row.get('protocol', ''))})</i> "
            f"<b>[{escape_html(row.get('vhost', ''))}]</b><br />\n\n")


# Hook -----------------------------------------------------------------------------------------------------------------------------------------------
def options(args: str | None) -> tuple[int | None, bool, bool]:
    """(seconds of ``refresh`` or None, whether a table is wanted, ``auto``) of a query; the words may stand anywhere in it."""
    text = args or ""
    refresh = None
    at = text.find("refresh")
    if at >= 0:
        digits = ""
        if text[at + 7:at + 8] == "=":
            for char in text[at + 8:]:
                if not char.isdigit():
                    break
                digits += char
        refresh = int(digits) if digits and int(digits) > 0 else 10
    return refresh, "notable" not in text, "auto" in text


def make_handler(scope: Scope) -> Made | None:
    """Answer requests whose handler is server-status."""
    new = scope.dialect.version >= (2, 4)
    extended = new or scope.server(StatusServer).extended
    settings = scope.server(CoreServer)

    def handle(r: Any) -> Answer:
        if r.handler != HANDLER_NAME and r.handler != TYPE:
            return DECLINED
        r.allowed |= 1
        if r.method_number != 0:
            return DECLINED
        r.outside()
        own = getattr(settings, "extended_status", None)
        state = State(r, extended if own is None else bool(own))
        refresh, table, plain = options(r.args)
        if refresh is not None:
            r.headers_out.set("Refresh", str(refresh))
        r.content_type = TEXT["auto" if plain else ""]
        if not r.header_only:
            r.write(auto(r, state, new) if plain else page(r, state, new, table))
        return OK

    return Made(handle, Reads.HEAD)


def _row22(name: str, field: str, text: str) -> Directive[Any]:
    return Directive(name=name, args=Args.FLAG, where=Where.RSRC_CONF, apply=global_only(set_flag(field)), help=text, record=Record.SERVER,
                     versions=Versions.V22)


MODULE = Module(
    name="status_module",
    source="mod_status.c",
    server_settings=StatusServer,
    directives=(
        _row22("ExtendedStatus", "extended", '"On" to track extended status information, "Off" to disable'),
        _row22("SeeRequestTail", "tail",
               'For extended status, "On" to see the last 63 chars of the request line, "Off" (default) to see the first 63'),
    ),
    hooks=(Hook(HANDLER, make_handler, Order.MIDDLE),),
)
