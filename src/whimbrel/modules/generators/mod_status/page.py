"""Responses of mod_status: ``?auto`` and the page."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from typing import Any

from whimbrel.base.numbers import strip
from whimbrel.base.product import server_description
from whimbrel.engine.identity import server_name
from whimbrel.engine.request import Request
from whimbrel.engine.runtime import ScoreboardRow, ScoreboardWorker
from whimbrel.http.syntax.url import escape_html
from whimbrel.modules.generators.mod_status.state import (
    State,
    counts_of,
    kilo,
    letter_counts,
    normalized,
    number,
    seconds,
    size,
    span,
    when,
)


class Names:
    """Properties of the server that are the same for all responses to one request.

    `cached` is a text of the last second, with the facts that it was built of.
    """

    __slots__ = ("_facts", "_text", "address", "product", "server", "signature")

    def __init__(self, r: Request) -> None:
        self.server = server_name(r)
        self.address = r.connection.local_ip
        self.product = server_description("2.2" if r.plan.dialect.pages_22 else "2.4")
        self.signature = r.engine.signature(r)
        self._facts: tuple[Any, ...] = ()
        self._text = ""

    def cached(self, build: Callable[[Names, State], str], s: State) -> str:
        """Return *build* of this and *s*, built once in a second of facts that stay the same."""
        t = s.totals
        facts = build, int(s.now), s.uptime, t.get("started"), t.get("restarted"), t.get("generation")
        if facts != self._facts:
            self._facts, self._text = facts, build(self, s)
        return self._text


# ?auto ------------------------------------------------------------------------------------------
def facts_24(names: Names, s: State) -> list[tuple[str, Any]]:
    """Return the first lines of 2.4, which are the same for a second."""
    load = s.load
    return [
        ("ServerVersion", names.product),
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


def auto_24(s: State) -> list[tuple[str, Any]]:
    """Return the lines of 2.4 between `facts_24` and the scoreboard."""
    out: list[tuple[str, Any]] = []
    if s.extended:
        out = [
            ("Total Accesses", s.accesses),
            ("Total kBytes", s.bytes // 1024),
            ("Total Duration", s.duration),
        ]
        out += zip(
            ("CPUUser", "CPUSystem", "CPUChildrenUser", "CPUChildrenSystem"),
            map(seconds, s.cpu),
            strict=False,
        )
        if s.uptime and s.cpu_time:
            out.append(("CPULoad", number(s.cpu_time / s.uptime * 100)))
        out.append(("Uptime", s.uptime))
        out += [(key, number(value)) for key, value in s.rates()]
    counts = s.counts
    out += [
        ("BusyWorkers", s.busy),
        ("GracefulWorkers", s.graceful),
        ("IdleWorkers", s.idle),
        ("Processes", len(s.processes) or 1),
        ("Stopping", f"{counts.stopping:d}"),
        ("ConnsTotal", counts.connections),
        ("ConnsAsyncWaitIO", counts.wait_io),
        ("ConnsAsyncWriting", counts.writing),
        ("ConnsAsyncKeepAlive", counts.keep_alive),
        ("ConnsAsyncClosing", counts.closing),
    ]
    return out


def auto_22(s: State) -> list[tuple[str, Any]]:
    """Return the lines of 2.2, before the scoreboard."""
    out: list[tuple[str, Any]] = []
    if s.extended:
        out += [("Total Accesses", s.accesses), ("Total kBytes", s.bytes // 1024)]
        if s.uptime and s.cpu_time:
            out.append(("CPULoad", number(s.cpu_time / s.uptime * 100)))
        out.append(("Uptime", s.uptime))
        out += [(key, number(value)) for key, value in s.rates() if key != "DurationPerReq"]
    return [*out, ("BusyWorkers", s.busy), ("IdleWorkers", s.idle)]


def auto(names: Names, s: State, new: bool) -> str:
    """Return the response to ?auto."""
    head, lines = (names.cached(_auto_head, s), auto_24(s)) if new else ("", auto_22(s))
    text = "".join([f"{key}: {value}\n" for key, value in lines])
    return f"{head}{text}Scoreboard: {s.board}\n"


def _auto_head(names: Names, s: State) -> str:
    lines = [
        f"{key}: {value}\n" if value != "" or key != "ServerUptime" else f"{key}:\n"
        for key, value in facts_24(names, s)
    ]
    return f"{names.server}\n{''.join(lines)}"


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
_KEY_AFTER = "</pre>\n" + KEY
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


def page(names: Names, s: State, new: bool, table: bool, more: str = "") -> str:
    """Return the page; *more*: sections of other modules."""
    out = [_head(names, s, new), f"<dt>{s.busy} requests currently being processed, "]
    out.append(
        f"{s.graceful} workers gracefully restarting, {s.idle} idle workers</dt>\n</dl>\n"
        if new
        else f"{s.idle} idle workers</dt>\n</dl>"
    )
    if new:
        out.append(_process_table(s))
    board = s.board
    lines = [board[i : i + 64] for i in range(0, len(board), 64)]
    out.append("<pre>" + "\n".join(lines) + _KEY_AFTER)
    if not s.extended:
        out.append(_pid_key(s))
    elif table:
        out.append(_table(s, new))
    else:
        out.append(
            "<hr /><h2>Server Details</h2>\n\n" + "".join(_details(row) for row in s.rows() if _shown(row))
        )
    out += [more, names.signature, "</body></html>\n"]
    return "".join(out)


def _head(names: Names, s: State, new: bool) -> str:
    facts = names.cached(_facts_24 if new else _facts_22, s)
    return facts + (_extended(s, new) if s.extended else "")


def _facts_24(names: Names, s: State) -> str:
    t = s.totals
    load = s.load
    return _facts(
        '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">\n',
        f"{escape_html(names.server)} (via {names.address})",
        [f"Server Version: {names.product}", f"Server MPM: {t.get('mpm', 'event')}"],
        [
            f"Parent Server Config. Generation: {t.get('config_generation', 1)}",
            f"Parent Server MPM Generation: {t.get('generation', 0)}",
            f"Server uptime: {span(s.uptime)}",
            f"Server load: {load[0]:.2f} {load[1]:.2f} {load[2]:.2f}",
        ],
        s,
    )


def _facts_22(names: Names, s: State) -> str:
    return _facts(
        '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">\n',
        escape_html(names.server),
        [f"Server Version: {names.product}"],
        [
            f"Parent Server Generation: {s.totals.get('generation', 0)}",
            f"Server uptime: {span(s.uptime)}",
        ],
        s,
    )


def _facts(doctype: str, title: str, facts: list[str], more: list[str], s: State) -> str:
    """Return the part that is the same for a second: server, start time, load."""
    t = s.totals
    times = [
        f"Current Time: {when(s.now)}",
        f"Restart Time: {when(t.get('restarted', t.get('started', s.now)))}",
        *more,
    ]
    return (
        f"{doctype}<html><head>\n<title>Apache Status</title>\n</head><body>\n<h1>Apache Server Status for "
        f"{title}</h1>\n\n<dl>"
        + "".join(f"<dt>{fact}</dt>\n" for fact in facts)
        + f"<dt>Server Built: {t.get('built', '')}\n</dt></dl><hr /><dl>\n"
        + "".join(f"<dt>{fact}</dt>\n" for fact in times)
    )


def _extended(s: State, new: bool) -> str:
    duration = f" - Total Duration: {s.duration}" if new else ""
    user, system, child_user, child_system = map(seconds, s.cpu)
    load = f" - {number(s.cpu_time / s.uptime * 100, 3)}% CPU load" if s.uptime and s.cpu_time else ""
    rates = []
    if s.uptime:
        rates = [f"{number(s.accesses / s.uptime, 3)} requests/sec", f"{size(s.bytes / s.uptime)}/second"]
    if s.accesses:
        rates.append(f"{size(s.bytes / s.accesses)}/request")
        if new:
            rates.append(f"{number(s.duration / s.accesses)} ms/request")
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


def _process_table(s: State) -> str:
    rows = [worker.shown.get(_PROCESSES) or _process_row(worker) for worker in s.processes]
    idle, graceful, busy, stopping, connections, *more = s.counts
    return (
        f"{_PROCESSES}{''.join(rows)}<tr><td>Sum</td><td>{len(rows) or 1}</td><td>{stopping:d}</td><td>"
        f"{connections}</td><td>&nbsp;</td><td>{busy}</td><td>{graceful}</td><td>{idle}</td>"
        f"{_CELLS % tuple(more)}</tr>\n</table>\n"
    )


_CELLS = "<td>%d</td><td>%d</td><td>%d</td><td>%d</td>"
_of_process = itemgetter("slot", "pid", "accepting", "workers")


def _process_row(worker: ScoreboardWorker) -> str:
    idle, graceful, busy, stopping, connections, *more = counts_of(worker)
    slot, pid, accepting, letters = _of_process(worker.process or {})
    if letters is not worker.letters:
        idle, graceful, busy = letter_counts(letters)
    row = (
        f"<tr><td>{slot}</td><td>{pid}</td><td>{'yes' if stopping else 'no'}</td><td>{connections}</td>"
        f"<td>{'yes' if accepting else 'no'}</td><td>{busy}</td><td>{graceful}</td><td>"
        f"{idle}</td>{_CELLS % tuple(more)}</tr>\n"
    )
    worker.shown[_PROCESSES] = row
    return row


def _pid_key(s: State) -> str:
    cells = [
        f"   {row.get('pid', 0)} in state: {row.get('state', '_')} "
        for row in s.rows()
        if row.get("state", "_") != "."
    ]
    lines = [",".join(cells[i : i + 3]) + "\n" for i in range(0, len(cells), 3)]
    return f"PID Key: <br />\n<pre>\n{''.join(lines)}</pre>\n"


def _shown(row: dict[str, Any]) -> bool:
    return row.get("state", "_") not in "_." or bool("accesses" in row and row["accesses"][2])


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
    out = [head]
    for worker in s.workers:
        rows = worker.shown.get(new)
        if rows is None:
            rows = _rows(worker, new)
            worker.shown[new] = rows
        out.append(rows)
    out.append(tail)
    return "".join(out)


def _rows(worker: ScoreboardWorker, new: bool) -> str:
    """Return the rows of one worker."""
    common = worker.common
    out = []
    if common is None:
        return "".join([_row(row, new) for row in worker.rows if _shown(row)])
    before, middles = _shared(common, new)
    has_served = common["requests"] > 0
    for row in worker.rows:
        begin, key, state, end = row.shown or _own(row, before, new)
        if key is not before:
            begin, _, state, end = _own(row, before, new)
        if has_served or state != "_":
            out.append(f"{begin}{middles[state]}{end}")
    if worker.waiting not in "_.":
        out += [_row(normalized({"state": worker.waiting}, common), new)] * worker.idle
    return "".join(out)


_MODES = {state: f"<b>{state}</b>" if state in "SRWKDLCG" else state for state in "_SRWKDLCG.I"}


class _Middles(dict[str, str]):
    """Cells between a connection's accesses and its client, by state; all rows of a worker share them."""

    def __init__(self, begin: str, end: str) -> None:
        self.begin = begin
        self.end = end

    def __missing__(self, state: str) -> str:
        cells = f"{self.begin}{_MODES[state]}{self.end}"
        self[state] = cells
        return cells


def _own(row: ScoreboardRow, before: str, new: bool) -> tuple[str, str, str, str]:
    """Return the cells of a row around the shared ones after *before*; cached with equal rows."""
    end = _who(row["client"], row["protocol"], new) + _what(row["vhost"], row["request"])
    cells = (f"{before}{row['served']}", before, row["state"], end)
    row.shown = cells
    return cells


@lru_cache(maxsize=64)
def _before(process: int, generation: int, pid: int, _new: bool) -> str:
    """Return the beginning of all rows of a worker; a separate object for each dialect."""
    return f"<tr><td><b>{process}-{generation}</b></td><td>{pid}</td><td>"


def _shared(worker: dict[str, Any], new: bool) -> tuple[str, _Middles]:
    """Return the cells before and after a row's own accesses, the same for all rows of a worker."""
    requests = worker["requests"]
    megabytes = f"{worker['sent'] / 1048576:.2f}"
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
    state = row.get("state", "_")
    (connection, child, slot) = row.get("bytes", (0, 0, 0))
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
    accesses = "|".join(map(str, row.get("accesses", (0, 0, 0))))
    sizes = "|".join(size(b) for b in row.get("bytes", (0, 0, 0)))
    return (
        f"<b>Server {row.get('process', 0)}-{row.get('generation', 0)}</b> ({row.get('pid', 0)}): {accesses} "
        f"[{_WORDS.get(row.get('state', '_'), '?STATE?')}] u{number(row.get('cpu', 0))} s0 cu0 cs0\n "
        f"{int(row.get('since', 0))} "
        f"{int(row.get('took', 0))} {int(row.get('duration', 0))}({sizes})\n "
        f"<i>{escape_html(row.get('client', ''))} "
        f"{{{escape_html(row.get('request', ''))}}}</i> <i>({escape_html(row.get('protocol', ''))})</i> "
        f"<b>[{escape_html(row.get('vhost', ''))}]</b><br />\n\n"
    )
