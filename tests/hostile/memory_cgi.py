"""CGI programs with endless output: a worker's memory stays bounded, and no process is left behind."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.server import WHIMBREL, Server, Site

MAX_GROWTH = 50.0  # MB that one worker may grow
PATIENCE = 30.0  # seconds after the last response within which every program has ended

# Writes *head*, then pieces of *body* up to the limits of seconds and bytes, which are the two %d.
_FLOOD = """#!/usr/bin/python3
import os, time
end, left = time.monotonic() + {seconds}, {size}
os.write({first}, {head!r})
piece = {piece!r} * (65536 // len({piece!r}))
try:
    while left > 0 and time.monotonic() < end:
        left -= os.write({handle}, piece)
except OSError:
    pass
{last}
"""


def flood(
    seconds: float, size: int, head: bytes, piece: bytes = b"x", handle: int = 1, last: str = ""
) -> bytes:
    """Return a program that writes *head*, then *piece* repeatedly to *handle*, up to *seconds* or *size*
    bytes.
    """
    first = 1 if head else handle
    return _FLOOD.format(
        seconds=seconds, size=size, head=head, piece=piece, handle=handle, first=first, last=last
    ).encode()


@dataclass(frozen=True)
class Bomb:
    """One request to a flooding program: *fields* are further lines of its head."""

    name: str
    method: str
    target: str
    fields: str = ""


BOMBS = (
    Bomb("HEAD", "HEAD", "/flood.cgi"),
    Bomb("304", "GET", "/etag.cgi", 'If-None-Match: "x"\r\n'),
    Bomb("no line end", "GET", "/line.cgi"),
    Bomb("malformed head", "GET", "/malformed.cgi"),
    Bomb("endless head", "GET", "/fields.cgi"),
    Bomb("Location", "GET", "/location.cgi"),
    Bomb("SSI virtual", "GET", "/virtual.shtml"),
    Bomb("SSI cmd", "GET", "/cmd.shtml"),
    Bomb("SSI HEAD", "HEAD", "/virtual.shtml"),
    Bomb("SSI of a flood", "GET", "/parsed/flood.cgi"),
    Bomb("SSI element", "GET", "/parsed/element.cgi"),
    Bomb("stderr", "GET", "/errors.cgi"),
    Bomb("ErrorDocument", "GET", "/missing"),
    Bomb("ErrorDocument HEAD", "HEAD", "/missing"),
    Bomb("nph", "GET", "/nph-flood.cgi"),
    Bomb("GET", "GET", "/flood.cgi"),
    Bomb("listing's header", "GET", "/list/"),
)
CONF = """
Timeout {timeout}
LogLevel error
ErrorDocument 404 /flood.cgi
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
ScriptLog {root}/logs/script_log
HeaderName /top.html
<Files top.html>
    SetHandler cgi-script
</Files>
<Directory "%ROOT%/htdocs/parsed">
    SetOutputFilter INCLUDES
</Directory>
"""


def documents(seconds: float, size: int) -> dict[str, bytes]:
    """Return the programs of `BOMBS`."""
    kind = b"Content-Type: text/html\n\n"
    return {
        "a.txt": b"plain a\n",
        "flood.cgi": flood(seconds, size, kind),
        "top.html.cgi": b"",
        "nph-flood.cgi": flood(seconds, size, b"HTTP/1.0 200 OK\r\n\r\n"),
        "etag.cgi": flood(seconds, size, b'ETag: "x"\n' + kind),
        "line.cgi": flood(seconds, size, b""),
        "malformed.cgi": flood(seconds, size, b"no colon\n", b"line\n"),
        "fields.cgi": flood(seconds, size, b"", b"X-Name: value\n"),
        "location.cgi": flood(seconds, size, b"Location: /a.txt\n\n"),
        "errors.cgi": flood(
            min(seconds, 3),
            size,
            b"",
            b"a line of complaint\n",
            2,
            'os.write(1, b"Content-Type: text/plain\\n\\nend")',
        ),
        "virtual.shtml": b'a<!--#include virtual="/flood.cgi" -->b<!--#include virtual="/a.txt" -->',
        "cmd.shtml": b'a<!--#exec cmd="./flood.cgi" -->b',
        "parsed/flood.cgi": flood(seconds, size, kind),
        "parsed/element.cgi": flood(seconds, size, kind + b"<!--#echo ", b'a="b" '),
        "list/x.txt": b"x\n",
    }


def _children(pid: int) -> list[str]:
    """Return the states of the children of *pid*, with their names."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    found = []
    for child in path.read_text().split() if path.exists() else ():
        try:
            name, _, rest = Path(f"/proc/{child}/stat").read_text().partition(")")
        except OSError:
            continue
        found.append(f"{name.partition('(')[2]} {rest.split()[0]}")
    return found


def _left_over(server: Server, seconds: float) -> list[str]:
    """Return the processes that the workers still have after *seconds*."""
    end = time.monotonic() + seconds
    while (
        left := [child for worker in server.workers() for child in _children(worker)]
    ) and time.monotonic() < end:
        time.sleep(0.1)
    return left


def _throw(server: Server, bomb: Bomb, seconds: float, result: Result) -> int:
    """Send the request and read for *seconds*; return the number of bytes received."""
    end, count = time.monotonic() + seconds, 0
    with server.connect(seconds) as wire:
        wire.sendall(
            (
                f"{bomb.method} {bomb.target} HTTP/1.1\r\nHost: localhost\r\n"
                f"Connection: close\r\n{bomb.fields}\r\n"
            ).encode()
        )
        try:
            while time.monotonic() < end and (data := wire.recv(1 << 20)):
                count += len(data)
        except OSError as problem:
            result.failures.append(f"{bomb.name}: {problem!r} after {count} bytes")
    if not count:
        result.failures.append(f"{bomb.name}: no response")
    return count


def measure(seconds: float, size: int, timeout: int) -> Result:
    """Send each of `BOMBS` to programs that write for *seconds*, at most *size* bytes, with TimeOut
    *timeout*.
    """
    result = Result()
    files = documents(seconds, size)
    files.pop("top.html.cgi")
    with Server(WHIMBREL, Site(CONF.format(timeout=timeout, root="%ROOT%"), files)) as server:
        top = server.write("top.html", files["flood.cgi"])
        top.chmod(0o755)
        server.get("/a.txt")
        before, workers = server.peak_memory(), server.workers()
        for bomb in BOMBS:
            server.reset_peak()
            count = _throw(server, bomb, seconds + 3 * timeout + 5, result)
            growth = server.peak_memory() - before
            result.figures[f"{bomb.name} MB"] = round(growth, 1)
            if growth > MAX_GROWTH:
                result.failures.append(f"{bomb.name}: {growth:.0f} MB for {count} bytes")
        left = _left_over(server, PATIENCE)
        if left:
            result.failures.append(f"processes left: {left}")
        if server.workers() != workers:
            result.failures.append("a worker has been replaced")
        if "Traceback" in server.output:
            result.failures.append(
                "a traceback in the log: " + server.output[server.output.find("Traceback") :][:2000]
            )
    return result


def run(budget: Budget) -> Result:
    """Run two seconds of flood, and of TimeOut, in each case."""
    return measure(min(2.0, budget.seconds / len(BOMBS) / 2), budget.cases << 20, 2)


MEASURES = (
    Measure(
        "memory-cgi",
        "A program that writes without end costs no worker more than 50 MB, and leaves no process.",
        run,
        4096,
        240,
    ),
)
