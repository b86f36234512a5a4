"""Replies and log lines of apache2 with mod_wsgi and of Whimbrel, without what differs between servers."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.differential.raw_exchange import exchange, masked
from tests.differential.servers import MODULE_DIR
from tests.differential.site import ServerProcess

PYTHON = Path("/usr/bin/python3")
needs_mod_wsgi = pytest.mark.skipif(
    not Path(MODULE_DIR, "mod_wsgi.so").exists() or not PYTHON.exists(),
    reason="mod_wsgi.so of libapache2-mod-wsgi-py3 is not installed",
)
LINE = re.compile(r"\[wsgi:(?:error|warn)\] \[pid \d+:tid \d+\] (\[(?:client|remote) )?")
ADDRESS = re.compile(r"^127\.0\.0\.1:\d+\] ")
PID = re.compile(r"(?<=pid=)\d+")
OBJECT = re.compile(r"0x[0-9a-f]+")
NUMBER = re.compile(r"(?<=PORT=')\d+(?=')")


def joined(reply: str) -> str:
    """Return a reply with its chunks joined, as their sizes depend on time; <cut> is a missing end."""
    head, gap, body = reply.partition("\r\n\r\n")
    if "Transfer-Encoding: chunked" not in head:
        return reply
    out = ""
    while body:
        size, _, body = body.partition("\r\n")
        if not int(size, 16):
            return head + gap + out
        out += body[: int(size, 16)]
        body = body[int(size, 16) + 2 :]
    return f"{head}{gap}{out}<cut>"


def shown(server: ServerProcess, text: str) -> str:
    """Return the reply to a request without what differs between servers."""
    reply = joined(masked(exchange(server.port, text.encode("latin-1")), server.port))
    return NUMBER.sub("N", OBJECT.sub("0x", reply)).replace(str(server.logs), "LOGS")


def lines(server: ServerProcess) -> Counter[str]:
    """Return the lines of the error log that mod_wsgi writes, with the number of each."""
    out: Counter[str] = Counter()
    for line in (server.logs / "error_log").read_text("latin-1").splitlines():
        match = LINE.search(line)
        if match is not None:
            kind = match[1] or ""
            text = PID.sub("N", ADDRESS.sub("", line[match.end() :]))
            out[kind + OBJECT.sub("0x", text)] += 1
    return out
