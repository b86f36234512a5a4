"""Mutated HTTP/2 frames: the server closes with apache2's error or continues, without traceback."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.hostile.http2_cases import BEGINNINGS, CASES, SITE
from tests.hostile.http2_frames import ACK, PREFACE, SETTINGS, Outcome, exchange, frame, read_frames, settings
from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.server import APACHE, WHIMBREL, Server

AT_ONE_TIME: Final = 32
COMPARED: Final = 4  # one of this many is sent to apache2 as well
SLOW: Final = (b"slow.cgi", b"echo.cgi")
SEEDS: Final = tuple(
    data
    for name, data in ((name, b"".join(pieces)) for name, pieces in CASES.items())
    if name[:3] != "4.2" and not any(path in data for path in SLOW)
)
OPEN: Final = PREFACE + settings() + frame(SETTINGS, ACK)
VALUES: Final = (0, 1, 2, 3, 5, 7, 100, 127, 128, 255)
IN_PIECES: Final = (("PROTOCOL_ERROR", "COMPRESSION_ERROR"), ("ENHANCE_YOUR_CALM", "COMPRESSION_ERROR"))
Frames = list[tuple[int, int, int, bytes]]


def mutate(data: bytes, choice: random.Random) -> bytes:
    """Apply one to four changes to the frames of *data*: kind, flags, stream, payload, order, length, or any
    byte.
    """
    frames: Frames = list(read_frames(data))
    for _ in range(choice.randint(1, 4)):
        frames = _changed(frames, choice)
    out = bytearray(b"".join([frame(*one) for one in frames]))
    if out and choice.random() < 0.1:
        out[choice.randrange(len(out))] = choice.randrange(256)
    if choice.random() < 0.05:
        del out[choice.randrange(len(out) + 1) :]
    return bytes(out)


def _changed(frames: Frames, choice: random.Random) -> Frames:
    if not frames or choice.random() < 0.2:
        return frames + list(read_frames(choice.choice(SEEDS)))
    at, kind = choice.randrange(len(frames)), choice.randrange(8)
    name, flags, stream, payload = frames[at]
    if kind == 0:
        frames[at] = (choice.randrange(11), flags, stream, payload)
    elif kind == 1:
        frames[at] = (name, flags ^ (1 << choice.randrange(8)), stream, payload)
    elif kind == 2:
        frames[at] = (name, flags, choice.choice((0, 1, 2, 3, 5, 7, (1 << 31) - 1, 1 << 31)), payload)
    elif kind == 3:
        cut = choice.randrange(len(payload) + 1)
        frames[at] = (
            name,
            flags,
            stream,
            payload[:cut] + bytes([choice.choice(VALUES)]) + payload[cut + choice.randrange(2) :],
        )
    elif kind == 4:
        frames[at] = (name, flags, stream, payload[: choice.randrange(len(payload) + 1)])
    elif kind == 5:
        frames.insert(choice.randrange(len(frames) + 1), frames[at])
    elif kind == 6:
        del frames[at]
    else:
        frames.insert(choice.randrange(len(frames)), frames.pop(at))
    return frames


def _differs(ours: Outcome, theirs: Outcome) -> bool:
    """Return True if apache2 closes the connection with an error and Whimbrel does not, or with another one.

    STREAM_CLOSED is not compared: apache2 responds a moment later, so it finds streams open that Whimbrel has
    finished. Nor is a field block that is both broken and interrupted or endless, since nghttp2 decodes each
    piece on arrival; nor a number without error code.
    """
    if theirs.goaway in ("", "NO_ERROR", "STREAM_CLOSED") or theirs.goaway.isdecimal():
        return False
    return ours.goaway != theirs.goaway and (ours.goaway, theirs.goaway) not in IN_PIECES


def _ask(server: Server, data: bytes) -> Outcome:
    return exchange(server, data, seconds=8.0, begin=b"", pause=0.0)


def run(budget: Budget) -> Result:
    """Send mutated sequences in groups, and a share of them to apache2."""
    result, sent, compared = Result(), 0, 0
    theirs = Server(APACHE, SITE).__enter__() if APACHE.is_present else None
    try:
        with Server(WHIMBREL, SITE) as server, ThreadPoolExecutor(AT_ONE_TIME) as pool:
            workers = server.workers()
            while sent < budget.cases and not budget.is_spent:
                group = [
                    OPEN + mutate(budget.random.choice(SEEDS), budget.random) for _ in range(AT_ONE_TIME * 4)
                ]
                group[0] = mutate(
                    budget.random.choice(tuple(BEGINNINGS.values()))[len(PREFACE) :], budget.random
                )
                outcomes = list(pool.map(lambda data: _ask(server, data), group))
                sent += len(group)
                result.failures += [
                    f"neither answered nor closed: {data!r}"
                    for data, found in zip(group, outcomes, strict=True)
                    if not (found.lives or found.closed or found.goaway or _is_cut(data))
                ]
                if theirs is not None:
                    pairs = list(zip(group, outcomes, strict=True))[::COMPARED]
                    asked = list(pool.map(lambda pair: _ask(theirs, pair[0]), pairs))
                    compared += len(pairs)
                    result.failures += [
                        f"{ours.verdict}, apache2 {found.verdict}: {data[len(OPEN) :]!r}"
                        for (data, ours), found in zip(pairs, asked, strict=True)
                        if _differs(ours, found) and not _is_cut(data)
                    ]
            time.sleep(0.3)
            if "Traceback" in server.output:
                result.failures.append(
                    f"a traceback: {server.output[server.output.find('Traceback') :][:3000]}"
                )
            if server.workers() != workers:
                result.failures.append("a worker has been replaced")
            result.figures = {
                "sequences": sent,
                "compared with apache2": compared,
                "peak MB": round(server.peak_memory(), 1),
            }
    finally:
        if theirs is not None:
            theirs.__exit__(None, None, None)
    return result


def _is_cut(data: bytes) -> bool:
    """Return True if *data* ends inside a frame, which then includes the final PING, or is not HTTP/2."""
    frames = read_frames(data[len(PREFACE) :])
    size = len(PREFACE) + sum(9 + len(payload) for _kind, _flags, _stream, payload in frames)
    return size != len(data) or not data.startswith(PREFACE)


PROMISE: Final = (
    "No mutated sequence of HTTP/2 frames ends in a traceback or a hang, and each violation ends in "
    "apache2's error."
)
MEASURES = (Measure("mutations-http2", PROMISE, run, 20_000, 600),)
