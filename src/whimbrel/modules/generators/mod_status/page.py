"""Responses of mod_status: ``?auto`` and the page."""

from __future__ import annotations

import os
from functools import lru_cache
from operator import add
from typing import Any

from whimbrel.base.numbers import strip
from whimbrel.engine.identity import server_name
from whimbrel.engine.runtime import ScoreboardRow
from whimbrel.http.syntax.url import escape_html
from whimbrel.modules.generators.mod_status.state import State, kilo, normalized, number, size, span, when


# ?auto ------------------------------------------------------------------------------------------
def auto_24(r: Any, s: State) -> list[tuple[str, Any]]:
    """Return the lines of 2.4, before the scoreboard."""
    load = os.getloadavg()
    out = [
        ("ServerVersion", r.engine.server_field(r)),
        ("ServerMPM", s.totals.get("mpm", "event")),
        ("Server Built", s.totals.get("built", "")),
        ("CurrentTime", when(s.now)),
        ("RestartTime", when(s.totals.get("restarted", s.totals.get("started", s.now)))),
        ("ParentServerConfigGeneration", s.totals.get("config_generation", 1)),
        ("ParentServerMPMGeneration", s.totals.get("generation", 0)),
        ("ServerUptimeSeconds", s.uptime),
        ("ServerUptime", strip(span(s.uptime))),
        ("Load1", f"{load[0]:.2f}"),
        ("Load5", f"{load[1]:.2f}"),
        ("Load15", f"{load[2]:.2f}"),
    ]
    if s.extended:
        out += [
            ("Total Accesses", s.accesses),
            ("Total kBytes", s.bytes // 1024),
            ("Total Duration", s.duration),
        ]
        out += zip(
            ("CPUUser", "CPUSystem", "CPUChildrenUser", "CPUChildrenSystem"), map(number, s.cpu), strict=False
        )
        if s.uptime and s.cpu_time:
            out.append(("CPULoad", number(s.cpu_time / s.uptime * 100)))
        out.append(("Uptime", s.uptime))
        out += [(key, number(value)) for key, _unit, value in s.rates()]
    out += [
        ("BusyWorkers", s.busy),
        ("GracefulWorkers", s.graceful),
        ("IdleWorkers", s.idle),
        ("Processes", len(s.processes) or 1),
        ("Stopping", sum(1 for p in s.processes if p.get("stopping"))),
        ("ConnsTotal", s.connections("connections")),
        ("ConnsAsyncWaitIO", s.connections("wait_io")),
        ("ConnsAsyncWriting", s.connections("writing")),
        ("ConnsAsyncKeepAlive", s.connections("keep_alive")),
        ("ConnsAsyncClosing", s.connections("closing")),
    ]
    return out


def auto_22(_r: Any, s: State) -> list[tuple[str, Any]]:
    """Return the lines of 2.2, before the scoreboard."""
    out: list[tuple[str, Any]] = []
    if s.extended:
        out += [("Total Accesses", s.accesses), ("Total kBytes", s.bytes // 1024)]
        if s.uptime and s.cpu_time:
            out.append(("CPULoad", number(s.cpu_time / s.uptime * 100)))
        out.append(("Uptime", s.uptime))
        out += [(key, number(value)) for key, _unit, value in s.rates() if key != "DurationPerReq"]
    return [*out, ("BusyWorkers", s.busy), ("IdleWorkers", s.idle)]


def auto(r: Any, s: State, new: bool) -> str:
    """Return the response to ?auto."""
    lines = auto_24(r, s) if new else auto_22(r, s)
    head = f"{server_name(r)}\n" if new else ""
    text = "".join(
        f"{key}: {value}\n" if value != "" or key != "ServerUptime" else f"{key}:\n" for key, value in lines
    )
    return f"{head}{text}Scoreboard: {s.board}\n"


# The page ---------------------------------------------------------------------------------------
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
    ("Srv", "Child Server number - generation"),
    ("PID", "OS process ID"),
    ("Acc", "Number of accesses this connection / this child / this slot"),
    ("M", "Mode of operation"),
    ("CPU", "CPU usage, number of seconds"),
    ("SS", "Seconds since beginning of most recent request"),
    ("Req", "Milliseconds required to process most recent request"),
    ("Dur", "Sum of milliseconds required to process all requests"),
    ("Conn", "Kilobytes transferred this connection"),
    ("Child", "Megabytes transferred this child"),
    ("Slot", "Total megabytes transferred this slot"),
)
_WORDS = {
    "_": "Ready",
    "S": "Starting",
    "R": "<b>Read</b>",
    "W": "<b>Write</b>",
    "K": "<b>Keepalive</b>",
    "L": "<b>Logging</b>",
    "D": "<b>DNS lookup</b>",
    "C": "<b>Closing</b>",
    ".": "Dead",
    "G": "Graceful",
    "I": "Dying",
}
_SILENT_22 = ("Dur",)


class Names:
    """Properties of the server that are the same for all responses to one request."""

    __slots__ = ("address", "product", "server", "signature")

    def __init__(self, r: Any) -> None:
        self.server, self.address = server_name(r), r.connection.local_ip
        self.product, self.signature = r.engine.server_field(r), r.engine.signature(r)


def page(names: Names, s: State, new: bool, table: bool) -> str:
    """Return the page."""
    out = [_head(names, s, new), f"<dt>{s.busy} requests currently being processed, "]
    out.append(
        f"{s.graceful} workers gracefully restarting, {s.idle} idle workers</dt>\n</dl>\n"
        if new
        else f"{s.idle} idle workers</dt>\n</dl>"
    )
    if new:
        out.append(_process_table(s))
    lines = [s.board[i : i + 64] for i in range(0, len(s.board), 64)]
    out += ["<pre>", "\n".join(lines), "</pre>\n", KEY]
    if not s.extended:
        out.append(_pid_key(s))
    elif table:
        out.append(_table(s, new))
    else:
        out.append(
            "<hr /><h2>Server Details</h2>\n\n"
            + "".join(_details(normalized(row)) for row in s.rows if _shown(row))
        )
    out += [names.signature, "</body></html>\n"]
    return "".join(out)


def _head(names: Names, s: State, new: bool) -> str:
    t = s.totals
    generations = t.get("config_generation", 1), t.get("generation", 0)
    facts = _facts(
        new,
        names.server,
        names.address,
        names.product,
        t.get("mpm", "event"),
        t.get("built", ""),
        int(s.now),
        int(t.get("restarted", t.get("started", s.now))),
        generations,
        s.uptime,
    )
    return facts + (_extended(s, new) if s.extended else "")


@lru_cache(maxsize=8)
def _facts(
    new: bool,
    name: str,
    address: str,
    product: str,
    mpm: str,
    built: str,
    now: int,
    restarted: int,
    generations: tuple[int, int],
    uptime: int,
) -> str:
    """Return the part that is the same for a second: server, start time, load."""
    facts = [f"Server Version: {product}"]
    times = [f"Current Time: {when(now)}", f"Restart Time: {when(restarted)}"]
    title = escape_html(name)
    if new:
        load = os.getloadavg()
        doctype = (
            '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">\n'
        )
        title += f" (via {address})"
        facts.append(f"Server MPM: {mpm}")
        times += [
            f"Parent Server Config. Generation: {generations[0]}",
            f"Parent Server MPM Generation: {generations[1]}",
            f"Server uptime: {span(uptime)}",
            f"Server load: {load[0]:.2f} {load[1]:.2f} {load[2]:.2f}",
        ]
    else:
        doctype = '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">\n'
        times += [f"Parent Server Generation: {generations[1]}", f"Server uptime: {span(uptime)}"]
    top = (
        "<html><head>\n<title>Apache Status</title>\n</head><body>\n<h1>Apache Server Status for "
        f"{title}</h1>\n\n<dl>"
    )
    top += (
        "".join(f"<dt>{fact}</dt>\n" for fact in facts) + f"<dt>Server Built: {built}\n</dt></dl><hr /><dl>\n"
    )
    return doctype + top + "".join(f"<dt>{fact}</dt>\n" for fact in times)


def _extended(s: State, new: bool) -> str:
    duration = f" - Total Duration: {s.duration}" if new else ""
    user, system, child_user, child_system = map(number, s.cpu)
    load = f" - {number(s.cpu_time / s.uptime * 100, 3)}% CPU load" if s.uptime and s.cpu_time else ""
    rates = []
    for key, unit, value in s.rates():
        if key == "ReqPerSec":
            rates.append(f"{number(value, 3)} {unit}")
        elif key == "DurationPerReq":
            rates += [number(value) + unit] if new else []
        else:
            rates.append(size(value) + unit)
    return (
        f"<dt>Total accesses: {s.accesses} - Total Traffic: {kilo(s.bytes // 1024)}{duration}</dt>\n"
        f"<dt>CPU Usage: u{user} s{system} cu{child_user} cs{child_system}{load}</dt>\n<dt>"
        f"{' - '.join(rates)}</dt>\n"
    )


_PROCESSES = (
    '\n<table rules="all" cellpadding="1%">\n<tr><th rowspan="2">Slot</th><th rowspan="2">PID</th><th '
    'rowspan="2">Stopping</th>'
    '<th colspan="2">Connections</th>\n<th colspan="3">Threads</th><th colspan="4">Async '
    "connections</th></tr>\n<tr><th>total</th>"
    "<th>accepting</th><th>busy</th><th>graceful</th><th>idle</th><th>wait-io</th><th>writing</th><th>"
    "keep-alive</th><th>closing</th></tr>\n"
)
_COUNTS = ("wait_io", "writing", "keep_alive", "closing")


def _process_table(s: State) -> str:
    out = [_PROCESSES]
    sums, stopping, connections = [0, 0, 0, 0], 0, 0
    for p in s.processes:
        workers = p.get("workers", "")
        ends, count = bool(p.get("stopping")), p.get("connections", 0)
        counts = [p.get(name, 0) for name in _COUNTS]
        sums = list(map(add, sums, counts))
        stopping, connections = stopping + ends, connections + count
        graceful, idle = workers.count("G"), workers.count("_")
        busy = sum(map(workers.count, "RWKLDC"))
        out.append(
            f"<tr><td>{p.get('slot', 0)}</td><td>{p.get('pid', 0)}</td><td>{'yes' if ends else 'no'}</td><td>"
            f"{count}</td>"
            f"<td>{'yes' if p.get('accepting', True) else 'no'}</td><td>{busy}</td><td>{graceful}</td><td>"
            f"{idle}</td>"
            f"{_cells(counts)}</tr>\n"
        )
    out.append(
        f"<tr><td>Sum</td><td>{len(s.processes) or 1}</td><td>{stopping}</td><td>{connections}</td><td>"
        "&nbsp;</td>"
        f"<td>{s.busy - s.graceful}</td><td>{s.graceful}</td><td>{s.idle}</td>{_cells(sums)}</tr>\n</table>\n"
    )
    return "".join(out)


def _cells(counts: list[int]) -> str:
    return "<td>%d</td><td>%d</td><td>%d</td><td>%d</td>" % tuple(counts)


def _pid_key(s: State) -> str:
    cells = [
        f"   {row.get('pid', 0)} in state: {row.get('state', '_')} "
        for row in map(normalized, s.rows)
        if row.get("state", "_") != "."
    ]
    lines = [",".join(cells[i : i + 3]) + "\n" for i in range(0, len(cells), 3)]
    return f"PID Key: <br />\n<pre>\n{''.join(lines)}</pre>\n"


def _shown(row: dict[str, Any]) -> bool:
    if row.get("state", "_") not in "_.":
        return True
    return (
        bool(row["accesses"][2]) if "accesses" in row else bool("served" in row and row["worker"]["requests"])
    )


@lru_cache(maxsize=2)
def _frame(new: bool) -> tuple[str, str]:
    """Return the table before and after its rows."""
    columns = [(n, text) for n, text in _COLUMNS if new or n not in _SILENT_22]
    names = [n + ("\n" if n == "CPU" else "") for n, _ in columns] + [
        "Client",
        *(["Protocol"] if new else []),
        "VHost",
        "Request",
    ]
    head = '\n\n<table border="0"><tr>' + "".join(f"<th>{n}</th>" for n in names) + "</tr>\n\n"
    legend = ["<tr><th>{}</th><td>{}</td></tr>\n".format(*column) for column in columns]
    return head, "</table>\n <hr /> <table>\n " + " ".join(legend).replace(
        " <tr><th>CPU", "<tr><th>CPU"
    ) + " </table>\n"


def _table(s: State, new: bool) -> str:
    head, tail = _frame(new)
    out, present, other, before = [head], None, None, ""
    middles: dict[str, str] = {}
    for row in s.rows:
        if row is other:
            continue  # one more idle worker
        if "served" in row:
            worker = row["worker"]
            if worker is not present:
                present, (before, middles) = worker, _shared(worker, new)
            begin, key, state, end = getattr(row, "shown", None) or _own(row, before, new)
            if key is not before:
                begin, _, state, end = _own(row, before, new)
            if state != "_" or worker["requests"]:
                out.append(f"{begin}{middles[state]}{end}")
        elif row.get("state", "_") not in "_." or "accesses" in row and _shown(row):
            out.append(_row(normalized(row), new))
        else:
            other = row
    out.append(tail)
    return "".join(out)


_MODES = {
    state: "_" if state == "_" else f"<b>{state}</b>" if state in "SRWKDLCG" else state
    for state in "_SRWKDLCG.I"
}


class _Middles(dict[str, str]):
    """Cells between a connection's accesses and its client, by state; all rows of a worker share them."""

    def __init__(self, begin: str, end: str) -> None:
        self.begin, self.end = begin, end

    def __missing__(self, state: str) -> str:
        cells = self[state] = f"{self.begin}{_MODES[state]}{self.end}"
        return cells


def _own(row: dict[str, Any], before: str, new: bool) -> tuple[str, str, str, str]:
    """Return the cells of one row around the shared ones, which begin with *before*; cached with unchanged
    rows.
    """
    end = _who(row["client"], row["protocol"], new) + _what(row["vhost"], row["request"])
    cells = (f"{before}{row['served']}", before, row["state"], end)
    if isinstance(row, ScoreboardRow):
        row.shown = cells
    return cells


@lru_cache(maxsize=64)
def _before(process: int, generation: int, pid: int, _new: bool) -> str:
    """Return the beginning of all rows of a worker; a separate object for each dialect."""
    return f"<tr><td><b>{process}-{generation}</b></td><td>{pid}</td><td>"


def _shared(worker: dict[str, Any], new: bool) -> tuple[str, _Middles]:
    """Return the cells before and after a row's own accesses, the same for all rows of a worker."""
    requests, megabytes = worker["requests"], f"{worker['sent'] / 1048576:.2f}"
    spent = f"<td>{int(worker.get('duration', 0))}</td>" if new else ""
    end = (
        f"\n</td><td>{worker['cpu']:.2f}</td><td>0</td><td>0</td>{spent}<td>0.0</td><td>{megabytes}</td><td>"
        f"{megabytes}\n</td>"
    )
    return _before(worker["process"], worker["generation"], worker["pid"], new), _Middles(
        f"/{requests}/{requests}</td><td>", end
    )


@lru_cache(maxsize=1024)
def _who(client: str, protocol: str, new: bool) -> str:
    return f"<td>{escape_html(client)}</td>" + (f"<td>{escape_html(protocol)}</td>" if new else "")


@lru_cache(maxsize=1024)
def _what(vhost: str, request: str) -> str:
    return f"<td nowrap>{escape_html(vhost)}</td><td nowrap>{escape_html(request)}</td></tr>\n\n"


def _row(row: dict[str, Any], new: bool) -> str:
    state, (connection, child, slot) = row.get("state", "_"), row.get("bytes", (0, 0, 0))
    cells = [
        f"<b>{row.get('process', 0)}-{row.get('generation', 0)}</b>",
        row.get("pid", "-"),
        "/".join(map(str, row.get("accesses", (0, 0, 0)))),
        f"{_MODES.get(state, state)}\n",
        f"{row.get('cpu', 0):.2f}",
        int(row.get("since", 0)),
        int(row.get("took", 0)),
        *([int(row.get("duration", 0))] if new else []),
        f"{connection / 1024:.1f}",
        f"{child / 1048576:.2f}",
        f"{slot / 1048576:.2f}\n",
    ]
    last = _who(row.get("client", ""), row.get("protocol", ""), new) + _what(
        row.get("vhost", ""), row.get("request", "")
    )
    return "<tr>" + "".join(f"<td>{c}</td>" for c in cells) + last


def _details(row: dict[str, Any]) -> str:
    accesses, sizes = (
        "|".join(map(str, row.get("accesses", (0, 0, 0)))),
        "|".join(size(b) for b in row.get("bytes", (0, 0, 0))),
    )
    return (
        f"<b>Server {row.get('process', 0)}-{row.get('generation', 0)}</b> ({row.get('pid', 0)}): {accesses} "
        f"[{_WORDS.get(row.get('state', '_'), '?STATE?')}] u{number(row.get('cpu', 0))} s0 cu0 cs0\n "
        f"{int(row.get('since', 0))} "
        f"{int(row.get('took', 0))} {int(row.get('duration', 0))}({sizes})\n "
        f"<i>{escape_html(row.get('client', ''))} "
        f"{{{escape_html(row.get('request', ''))}}}</i> <i>({escape_html(row.get('protocol', ''))})</i> "
        f"<b>[{escape_html(row.get('vhost', ''))}]</b><br />\n\n"
    )
