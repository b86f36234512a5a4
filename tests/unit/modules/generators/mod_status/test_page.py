"""server-status. Names, order and framing are those of httpd 2.4.71 and 2.2.34."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.engine.runtime import ScoreboardRow, ScoreboardWorker
from whimbrel.modules.generators.mod_status.page import _frame, _row, _table
from whimbrel.modules.generators.mod_status.state import normalized

SHOWN = "<Location /server-status>\nSetHandler server-status\n</Location>\n"
ROW = {
    "process": 0,
    "generation": 0,
    "pid": 3619,
    "state": "_",
    "accesses": (0, 1, 1),
    "bytes": (0, 4828, 4828),
    "cpu": 0.0,
    "client": "127.0.0.1",
    "protocol": "http/1.1",
    "vhost": "localhost:80",
    "request": "GET /server-status?a<b HTTP/1.1",
}
FIELDS_24 = (
    "ServerVersion ServerMPM|Server Built|CurrentTime RestartTime ParentServerConfigGeneration "
    "ParentServerMPMGeneration "
    "ServerUptimeSeconds ServerUptime Load1 Load5 Load15"
)
EXTENDED_24 = (
    "|Total Accesses|Total kBytes|Total Duration|CPUUser CPUSystem CPUChildrenUser CPUChildrenSystem Uptime"
)
LAST_24 = (
    "|BusyWorkers GracefulWorkers IdleWorkers Processes Stopping ConnsTotal ConnsAsyncWaitIO "
    "ConnsAsyncWriting "
    "ConnsAsyncKeepAlive ConnsAsyncClosing"
)


def names(text: str) -> list[str]:
    """Return the field names of a list in which ``|`` surrounds names with blanks."""
    return [
        name
        for part in text.split("|")
        for name in (
            [part]
            if part in ("Server Built", "Total Accesses", "Total kBytes", "Total Duration")
            else part.split()
        )
        if name
    ]


class Board:
    """A scoreboard with one idle worker that has served."""

    def workers(self) -> list[ScoreboardWorker]:
        return [ScoreboardWorker([ROW])]

    def totals(self) -> dict[str, Any]:
        return {"slots": 4, "accesses": 1, "bytes": 4828, "duration": 3}


@pytest.mark.parametrize(
    ("conf", "version", "want"),
    [
        ("", "2.4", FIELDS_24 + EXTENDED_24 + LAST_24),
        ("ExtendedStatus Off\n", "2.4", FIELDS_24 + LAST_24),
        ("", "2.2", "BusyWorkers IdleWorkers"),
        ("ExtendedStatus On\n", "2.2", "Total Accesses|Total kBytes|Uptime BusyWorkers IdleWorkers"),
    ],
)
def test_fields(tmp_path: Path, conf: str, version: str, want: str) -> None:
    reply = fetch(build_engine(tmp_path, conf + SHOWN, version=version), "/server-status?auto")
    lines = reply.body.splitlines()
    assert reply.get("Content-Type") == "text/plain; charset=ISO-8859-1"
    assert (lines[0] == "localhost") is (version == "2.4")
    assert [line.partition(":")[0] for line in lines if ":" in line] == [*names(want), "Scoreboard"]
    assert lines[-1] == "Scoreboard: W"


def test_page(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, SHOWN)
    serving.runtime.scoreboard = Board()
    reply = fetch(serving, "/server-status?refresh=3")
    assert (reply.get("Refresh"), reply.get("Content-Type")) == ("3", "text/html; charset=ISO-8859-1")
    assert "<title>Apache Status</title>" in reply.body
    assert "<pre>_...</pre>\n" in reply.body
    assert "<dt>Total accesses: 1 - Total Traffic: 4 kB - Total Duration: 3</dt>\n" in reply.body
    assert (
        "<tr><td><b>0-0</b></td><td>3619</td><td>0/1/1</td><td>_\n</td><td>0.00</td><td>0</td><td>0</td><td>"
        "0</td><td>0.0</td>"
        "<td>0.00</td><td>0.00\n</td><td>127.0.0.1</td><td>http/1.1</td><td nowrap>localhost:80</td>"
        "<td nowrap>GET /server-status?a&lt;b HTTP/1.1</td></tr>\n\n"
    ) in reply.body


def test_details(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, SHOWN)
    serving.runtime.scoreboard = Board()
    assert (
        "<b>Server 0-0</b> (3619): 0|1|1 [Ready] u0 s0 cu0 cs0\n 0 0 0(0 B|4828 B|4828 B)\n"
        " <i>127.0.0.1 {GET /server-status?a&lt;b HTTP/1.1}</i> <i>(http/1.1)</i> <b>[localhost:80]</b><br "
        "/>\n\n"
    ) in fetch(serving, "/server-status?notable").body


@pytest.mark.parametrize(
    ("query", "refresh"),
    [
        ("refresh", "10"),
        ("refresh=99999999999999", "99999999999999"),
        ("refresh=0,auto", "10"),
        ("notable&refresh=x", "10"),
        ("refresh=7", "7"),
        ("auto", None),
    ],
)
def test_refresh(tmp_path: Path, query: str, refresh: str | None) -> None:
    assert fetch(build_engine(tmp_path, SHOWN), f"/server-status?{query}").get("Refresh") == refresh


def test_other_methods(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, SHOWN)
    assert fetch(serving, "/server-status", method="POST", body="x").status == 404
    head = fetch(serving, "/server-status?notable", method="HEAD")
    assert (head.body, head.get("Content-Length"), head.get("Transfer-Encoding")) == ("", None, None)
    head = fetch(serving, "/server-status?auto", method="HEAD")
    assert head.body == "" and int(head.get("Content-Length") or 0) > 100


@pytest.mark.parametrize("version", ["2.4", "2.2"])
def test_rows_that_stay_the_same_are_shown_as_others(version: str) -> None:
    """A connection's row is cached with its HTML: after any change the table equals that of complete rows."""
    new = version == "2.4"
    worker = {
        "process": 3,
        "generation": 1,
        "pid": 77,
        "requests": 0,
        "sent": 1 << 21,
        "cpu": 0.25,
        "duration": 12.5,
    }
    said = {"client": "192.0.2.1", "protocol": "http/1.1", "vhost": "a<b", "request": "GET /?a=<b> HTTP/1.1"}
    rows = [
        ScoreboardRow(said, state="K", served=4),
        ScoreboardRow(said, state="W", served=1),
        ScoreboardRow(said, state="_", served=0),
    ]
    state: Any = types.SimpleNamespace()
    for change in ({}, {"requests": 5}, {"sent": 9 << 20, "cpu": 1.5}, {"pid": 78}, {"generation": 2}):
        worker.update(change)
        one = dict(worker)
        state.workers = [ScoreboardWorker(rows, one, 3)]
        for dialect in (new, not new, new):
            shown = _table(state, dialect)
            whole_rows = [normalized(row, one) for row in rows if row["state"] != "_" or one["requests"]]
            head, tail = _frame(dialect)
            assert shown == head + "".join(_row(row, dialect) for row in whole_rows) + tail
