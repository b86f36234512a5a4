"""Mutated requests: the server always responds or closes, logs a line, and prints no traceback."""

from __future__ import annotations

import socket
import time

from tests.differential.raw_requests import FRAMING, HEADS, LINES
from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.server import WHIMBREL, HostileSite, ServerProcess
from tests.support.mutation import mutate

SEEDS = tuple(text.encode("latin-1") for group in (FRAMING, HEADS, LINES) for text in group.values())
ALPHABET = (
    b"\0",
    b"\r\n",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b" ",
    b"\t",
    b":",
    b",",
    b";",
    b"=",
    b"%",
    b"%00",
    b"?",
    b"/",
    b"..",
    b"\x7f",
    b"\x80",
    b"\xb2",
    b"\xff",
    b"9" * 5000,
    b"0",
    b"-1",
    b"0x",
    b"chunked",
    b"Host: ",
    b"Range: bytes=",
    b"If-None-Match: ",
    b"Content-Length: ",
    b"Transfer-Encoding: ",
    b"Expect: 100-continue\r\n",
    b"Connection: close\r\n",
    b"Upgrade: h2c\r\n",
    b"HTTP/1.1",
    b"HTTP/1.0",
    b"GET ",
    b"HEAD ",
    b"POST ",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b'"',
    b"\\",
    b"<",
    b"*",
    b"@",
    b"[::",
    b"&",
    b"#",
    b"q=0.\xb2",
)
AT_ONE_TIME = 24  # connections


def _send(server: ServerProcess, data: bytes) -> socket.socket:
    wire = server.connect(20)
    try:
        wire.sendall(data)
        wire.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the server has refused the rest
    return wire


def _closes(wire: socket.socket) -> bool:
    """Read until the server closes; return False after a timeout."""
    try:
        while wire.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    finally:
        wire.close()
    return True


def run(budget: Budget) -> Result:
    """Send mutated requests in groups; each must be answered or closed."""
    result, sent = Result(), 0
    conf = (
        "HttpProtocolOptions Unsafe\nTimeout 5\nKeepAliveTimeout 1\nProtocols h2c http/1.1\nRewriteEngine "
        "on\nRewriteRule ^/r/(.*) /a.txt?$1\n"
    )
    documents = {
        "index.html": b"front\n",
        "a.txt": b"plain a\n",
        "page.shtml": b"x\n",
        "e.cgi": b"#!/bin/sh\necho Content-Type: text/plain\necho\nwc -c\n",
    }
    with ServerProcess(WHIMBREL, HostileSite(conf, documents)) as server:
        workers = set(server.workers())
        while sent < budget.cases and not budget.is_spent:
            group = [
                mutate(budget.random.choice(SEEDS), budget.random, ALPHABET, SEEDS)
                for _ in range(AT_ONE_TIME)
            ]
            wires = [_send(server, data) for data in group]
            sent += len(group)
            result.failures += [
                f"not closed within 20 s: {data!r}"
                for data, wire in zip(group, wires, strict=True)
                if not _closes(wire)
            ]
        time.sleep(0.3)
        output = server.output
        if "Traceback" in output or "Error:" in output:
            at = output.find("Traceback")
            result.failures.append(f"a traceback or an exception in the log: {output[max(at, 0) :][:3000]}")
        if set(server.workers()) != workers:
            result.failures.append("a worker has been replaced")
        result.figures = {
            "requests": sent,
            "access lines": len(server.access),
            "peak MB": round(server.peak_memory(), 1),
        }
    return result


MEASURES = (
    Measure(
        "mutated-requests", "No mutated request ends in a traceback or without an answer.", run, 200_000, 1200
    ),
)
