"""Violations of RFC 9113 (sections 3.4, 4 to 6, 8.1 to 8.2), as pieces after the preface and the settings.

A case begins with the number of the section. http2_answers.tsv has the verdicts of 2.4.71 with nghttp2 1.52,
and Whimbrel's where they differ, with the reason. `test_http2.py` runs the real server again where it is
installed.
"""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tests.hostile.http2_frames import (
    ACK,
    CONTINUATION,
    DATA,
    ECHO,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    MAX_WINDOW,
    PADDED,
    PING,
    PRIORITY,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    WITH_PRIORITY,
    block,
    exchange,
    frame,
    literal,
    request,
    settings,
    window,
)
from tests.hostile.server import HostileSite, Program, ServerProcess

SLOW = b"#!/bin/sh\nsleep 1\necho Content-Type: text/plain\necho\necho\n"
SITE: Final = HostileSite(
    "Protocols h2c http/1.1\nTimeout 3\n",
    {"index.html": b"front\n", "a.txt": b"plain a\n", "echo.cgi": ECHO, "slow.cgi": SLOW},
)

GET, POST = request(), request(1, method="POST", path="/echo.cgi", end=False)
RST_CANCEL = frame(RST_STREAM, 0, 1, b"\0\0\0\x08")
PSEUDO = ((":method", "GET"), (":scheme", "http"), (":authority", "localhost"), (":path", "/a.txt"))


def _head(*fields: tuple[str, str], end: bool = True) -> bytes:
    return frame(HEADERS, END_HEADERS | END_STREAM * end, 1, literal(*fields))


def _post(length: int) -> bytes:
    return request(1, ("content-length", str(length)), method="POST", path="/echo.cgi", end=False)


CASES: Final[dict[str, tuple[bytes, ...]]] = {
    # 4.1, 4.2: frames
    "4.1 unknown frame": (frame(0xEE, 0xFF, 0, b"abc"), frame(0xEF, 0, 7, b"abc"), GET),
    "4.1 reserved bit": (frame(PING, 0, 1 << 31, b"abcdefgh"), GET),
    "4.2 DATA too large": (POST, frame(DATA, 0, 1, b"x" * 16385)),
    "4.2 HEADERS too large": (frame(HEADERS, END_HEADERS | END_STREAM, 1, block(("x", "y" * 16384))),),
    "4.2 unknown frame too large": (frame(0xEE, 0, 0, b"x" * 16385),),
    "4.2 only the head of a frame too large": (frame(DATA, 0, 1, b"x" * 70000)[:9],),
    # 4.3: HPACK
    "4.3 index 0": (frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x80"),),
    "4.3 index beyond the tables": (frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x82\xff\xff\x03"),),
    "4.3 integer too long": (
        frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
    ),
    "4.3 string cut": (frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\0\x05ab"),),
    "4.3 Huffman padding": (frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\0\x01a\x81\x00"),),
    "4.3 Huffman EOS": (frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\0\x01a\x84\xff\xff\xff\xff"),),
    "4.3 table size beyond the setting": (
        frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x3f\xe2\x1f" + block()),
    ),
    "4.3 table size behind a field": (frame(HEADERS, END_HEADERS | END_STREAM, 1, block() + b"\x20"),),
    "4.3 bad trailers": (POST, frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x80")),
    "4.3 bad block on a closed stream": (GET, frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x80")),
    "4.3 frame inside a block": (frame(HEADERS, END_STREAM, 1, block()), frame(PING, 0, 0, b"abcdefgh")),
    "4.3 unknown frame inside a block": (frame(HEADERS, END_STREAM, 1, block()), frame(0xEE, 0, 1, b"")),
    "4.3 block in pieces": (
        frame(HEADERS, END_STREAM, 1, block()[:9]),
        frame(CONTINUATION, 0, 1, block()[9:20]),
        frame(CONTINUATION, END_HEADERS, 1, block()[20:]),
    ),
    # 5.1: states of streams
    "5.1 DATA idle": (frame(DATA, END_STREAM, 1, b"x"),),
    "5.1 RST_STREAM idle": (RST_CANCEL,),
    "5.1 WINDOW_UPDATE idle": (window(1, 5),),
    "5.1 CONTINUATION idle": (frame(CONTINUATION, END_HEADERS, 1, block()),),
    "5.1 PRIORITY idle": (frame(PRIORITY, 0, 1, b"\0\0\0\0\x10"), GET),
    "5.1 DATA half-closed": (request(1, path="/slow.cgi"), frame(DATA, END_STREAM, 1, b"x")),
    "5.1 HEADERS half-closed": (request(1, path="/slow.cgi"), GET),
    "5.1 DATA closed": (GET, frame(DATA, END_STREAM, 1, b"x")),
    "5.1 HEADERS closed": (GET, GET),
    "5.1 CONTINUATION closed": (GET, frame(CONTINUATION, END_HEADERS, 1, block())),
    "5.1 WINDOW_UPDATE closed": (GET, window(1, 5)),
    "5.1 RST_STREAM closed": (GET, RST_CANCEL),
    "5.1 PRIORITY closed": (GET, frame(PRIORITY, 0, 1, b"\0\0\0\0\x10")),
    "5.1 DATA after RST_STREAM": (POST, RST_CANCEL, frame(DATA, END_STREAM, 1, b"x")),
    "5.1 HEADERS after RST_STREAM": (POST, RST_CANCEL, GET),
    "5.1.1 even stream": (request(2),),
    "5.1.1 number that decreases": (request(5), request(3)),
    "5.1.1 HEADERS on stream 0": (request(0),),
    "5.1.2 101 streams": (b"".join([request(n, path="/slow.cgi") for n in range(1, 203, 2)]),),
    "5.3 HEADERS that depend on themselves": (
        frame(HEADERS, END_HEADERS | END_STREAM | WITH_PRIORITY, 1, b"\0\0\0\1\x10" + block()),
    ),
    "5.3 PRIORITY that depends on itself": (frame(PRIORITY, 0, 1, b"\0\0\0\1\x10"), GET),
    # 6: frames
    "6.1 DATA on stream 0": (POST, frame(DATA, 0, 0, b"x")),
    "6.1 padding too long": (POST, frame(DATA, END_STREAM | PADDED, 1, b"\x05abcd")),
    "6.1 padding of all": (POST, frame(DATA, END_STREAM | PADDED, 1, b"\x04abcd")),
    "6.1 padded without a byte": (POST, frame(DATA, END_STREAM | PADDED, 1)),
    "6.2 padding too long": (frame(HEADERS, END_HEADERS | END_STREAM | PADDED, 1, b"\xff" + block()),),
    "6.2 priority cut": (frame(HEADERS, END_HEADERS | END_STREAM | WITH_PRIORITY, 1, b"\0\0"),),
    "6.2 padded, priority cut": (frame(HEADERS, END_HEADERS | PADDED | WITH_PRIORITY, 1, b"\0\0"),),
    "6.2 padding in the priority": (
        frame(HEADERS, END_HEADERS | PADDED | WITH_PRIORITY, 1, b"\3" + bytes(6)),
    ),
    "6.3 PRIORITY on stream 0": (frame(PRIORITY, 0, 0, b"\0\0\0\1\x10"),),
    "6.3 PRIORITY too short": (frame(PRIORITY, 0, 1, b"\0\0\0\0"), GET),
    "6.3 PRIORITY too long": (frame(PRIORITY, 0, 1, b"\0\0\0\0\0\0"), GET),
    "6.4 RST_STREAM on stream 0": (frame(RST_STREAM, 0, 0, b"\0\0\0\x08"),),
    "6.4 RST_STREAM too short": (POST, frame(RST_STREAM, 0, 1, b"\0\0\0")),
    "6.4 RST_STREAM with an unknown code": (POST, frame(RST_STREAM, 0, 1, b"\0\0\xff\xff"), request(3)),
    "6.5 SETTINGS with a stream": (frame(SETTINGS, 0, 1),),
    "6.5 SETTINGS of 5 bytes": (frame(SETTINGS, 0, 0, b"\0\1\0\0\0"),),
    "6.5 ACK with a payload": (frame(SETTINGS, ACK, 0, b"\0\1\0\0\0\0"),),
    "6.5 ACK too many": (frame(SETTINGS, ACK), frame(SETTINGS, ACK)),
    "6.5 33 settings": (settings(*[(0xFF, 1)] * 33),),
    "6.5.2 ENABLE_PUSH 2": (settings((2, 2)),),
    "6.5.2 INITIAL_WINDOW_SIZE too large": (settings((4, 1 << 31)),),
    "6.5.2 MAX_FRAME_SIZE too small": (settings((5, 16383)),),
    "6.5.2 MAX_FRAME_SIZE too large": (settings((5, 1 << 24)),),
    "6.5.2 unknown setting": (settings((0xFF, 1)), GET),
    "6.6 PUSH_PROMISE": (frame(PUSH_PROMISE, END_HEADERS, 1, b"\0\0\0\2" + block()),),
    "6.7 PING with a stream": (frame(PING, 0, 1, b"abcdefgh"),),
    "6.7 PING of 7 bytes": (frame(PING, 0, 0, b"abcdefg"),),
    "6.7 PING ACK unasked": (frame(PING, ACK, 0, b"abcdefgh"), GET),
    "6.8 GOAWAY with a stream": (frame(GOAWAY, 0, 1, bytes(8)),),
    "6.8 GOAWAY of 7 bytes": (frame(GOAWAY, 0, 0, bytes(7)),),
    "6.8 GOAWAY with a stream of the client": (frame(GOAWAY, 0, 0, b"\0\0\0\1" + bytes(4)),),
    "6.6 PUSH_PROMISE of 2 bytes": (frame(PUSH_PROMISE, 0, 1, b"\0\0"),),
    "6.6 PUSH_PROMISE of 2 bytes, padded": (frame(PUSH_PROMISE, PADDED, 1, b"\0\0"),),
    "6.8 HEADERS after GOAWAY": (frame(GOAWAY, 0, 0, bytes(8)), GET),
    "6.8 GOAWAY while a stream runs": (request(1, path="/slow.cgi"), frame(GOAWAY, 0, 0, bytes(8))),
    "6.8 RST_STREAM after GOAWAY": (request(1, path="/slow.cgi"), frame(GOAWAY, 0, 0, bytes(8)), RST_CANCEL),
    "6.9 WINDOW_UPDATE of 0": (window(0, 0),),
    "6.9 WINDOW_UPDATE of 0 for a stream": (POST, window(1, 0)),
    "6.9 WINDOW_UPDATE of 3 bytes": (frame(WINDOW_UPDATE, 0, 0, b"\0\0\1"),),
    "6.9.1 window of the connection too large": (window(0, MAX_WINDOW), window(0, MAX_WINDOW)),
    "6.9.1 window of a stream too large": (POST, window(1, MAX_WINDOW), window(1, MAX_WINDOW)),
    "6.9.2 settings make a window too large": (
        POST,
        window(1, MAX_WINDOW - 65535),
        settings((4, 65536)),
        request(3),
    ),
    "6.9.1 more DATA than the window": (
        request(1, path="/slow.cgi", method="POST", end=False),
        frame(DATA, 0, 1, b"x" * 16384) * 40,
    ),
    "6.10 CONTINUATION after a whole block": (POST, frame(CONTINUATION, END_HEADERS, 1, b"")),
    "6.10 CONTINUATION of another stream": (
        frame(HEADERS, END_STREAM, 1, block()),
        frame(CONTINUATION, END_HEADERS, 3, b""),
    ),
    "6.10 CONTINUATION on stream 0": (
        frame(HEADERS, END_STREAM, 1, block()),
        frame(CONTINUATION, END_HEADERS, 0, b""),
    ),
    "6.10 100 CONTINUATION": (
        frame(HEADERS, END_STREAM, 1, block()),
        frame(CONTINUATION, 0, 1, b"") * 100,
        frame(CONTINUATION, END_HEADERS, 1, b""),
    ),
    "6.10 block of 100 kB": (
        frame(HEADERS, END_STREAM, 1, block()),
        frame(CONTINUATION, 0, 1, literal(("x", "y" * 16000))) * 6,
        frame(CONTINUATION, END_HEADERS, 1, b""),
    ),
    # 8.1, 8.2: messages
    "8.1 trailers that do not end the stream": (POST, frame(HEADERS, END_HEADERS, 1, literal(("x", "y")))),
    "8.1 trailers": (
        POST,
        frame(DATA, 0, 1, b"abc"),
        frame(HEADERS, END_HEADERS | END_STREAM, 1, literal(("x", "y"))),
    ),
    "8.1 trailers with a pseudo-header field": (
        POST,
        frame(HEADERS, END_HEADERS | END_STREAM, 1, literal((":path", "/"))),
    ),
    "8.1.1 Content-Length too small": (_post(2), frame(DATA, END_STREAM, 1, b"abc")),
    "8.1.1 Content-Length too large": (_post(9), frame(DATA, END_STREAM, 1, b"abc")),
    "8.1.1 Content-Length without a body": (request(1, ("content-length", "9"), method="POST"),),
    "8.2 name in upper case": (_head(*PSEUDO, ("X-A", "1")),),
    "8.2.1 NUL in a value": (_head(*PSEUDO, ("x", "a\0b")),),
    "8.2.1 CR LF in a value": (_head(*PSEUDO, ("x", "a\r\nb")),),
    "8.2.1 blank in a name": (_head(*PSEUDO, ("x y", "a")),),
    "8.2.1 colon in a name": (_head(*PSEUDO, ("x:", "a")),),
    "8.2.1 empty name": (_head(*PSEUDO, ("", "a")),),
    "8.2.1 blanks around a value": (_head(*PSEUDO, ("x", " a ")),),
    **{
        f"8.2.2 {name}": (_head(*PSEUDO, (name, value)),)
        for name, value in (
            ("connection", "keep-alive"),
            ("keep-alive", "3"),
            ("proxy-connection", "close"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("te", "gzip"),
            ("te", "trailers"),
            ("http2-settings", "AAMAAABk"),
        )
    },
    "8.3 unknown pseudo-header field": (_head(*PSEUDO, (":x", "1")),),
    "8.3 pseudo-header field of a response": (_head(*PSEUDO, (":status", "200")),),
    "8.3 pseudo-header field after a field": (_head(PSEUDO[0], ("x", "y"), *PSEUDO[1:]),),
    "8.3 pseudo-header field twice": (_head(*PSEUDO, (":path", "/")),),
    "8.3.1 no :method": (_head(*PSEUDO[1:]),),
    "8.3.1 no :scheme": (_head(PSEUDO[0], *PSEUDO[2:]),),
    "8.3.1 no :path": (_head(*PSEUDO[:3]),),
    "8.3.1 no :authority": (_head(*PSEUDO[:2], PSEUDO[3]),),
    "8.3.1 empty :path": (_head(*PSEUDO[:3], (":path", "")),),
    "8.3.1 :path without a slash": (_head(*PSEUDO[:3], (":path", "a.txt")),),
    "8.3.1 :path with a blank": (_head(*PSEUDO[:3], (":path", "/a b")),),
    "8.3.1 :authority of 5,000 digits": (_head(*PSEUDO[:2], (":authority", "9" * 5000), PSEUDO[3]),),
    "8.3.1 port of 5,000 digits": (_head(*PSEUDO[:2], (":authority", "a:" + "9" * 5000), PSEUDO[3]),),
    "8.3.1 Host unlike :authority": (_head(*PSEUDO, ("host", "other")),),
    "8.3.1 Host with a blank": (_head(*PSEUDO, ("host", "a b")),),
    "8.3.1 Host twice": (_head(*PSEUDO, ("host", "localhost"), ("host", "localhost")),),
    "8.3.1 empty Host": (_head(*PSEUDO, ("host", "")),),
    "8.3.1 Host with a slash and no :authority": (_head(*PSEUDO[:2], PSEUDO[3], ("host", "a/b")),),
    "8.5 CONNECT with :path": (_head((":method", "CONNECT"), *PSEUDO[1:]),),
    "8.5 CONNECT": (_head((":method", "CONNECT"), (":authority", "localhost:80")),),
}
# sent in place of the preface and the settings
BEGINNINGS: Final[dict[str, bytes]] = {
    "3.4 no SETTINGS": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(PING, 0, 0, b"abcdefgh"),
    "3.4 a request before SETTINGS": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + GET,
    "3.4 ACK before SETTINGS": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, ACK),
    "3.4 bad settings": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings((4, 1 << 31)),
}


def recorded() -> dict[str, tuple[str, str]]:
    """Return the verdicts of 2.4.71 and of Whimbrel, by case."""
    rows = [
        line.split("\t")
        for line in Path(__file__).with_name("http2_answers.tsv").read_text().splitlines()
        if not line.startswith("#")
    ]
    return {row[0]: (row[1], row[2] if len(row) > 2 else row[1]) for row in rows}


def verdicts(program: Program, slowly: Collection[str] = ()) -> tuple[dict[str, str], str]:
    """Return the verdicts of a server on all cases, and its log.

    With *slowly* only these cases are run, one after the other with pauses of half a second: a frame about a
    closed stream meets an open one where the server had no time to answer.
    """
    with ServerProcess(program, SITE) as server, ThreadPoolExecutor(1 if slowly else 6) as pool:
        pause = 0.5 if slowly else 0.05
        exchanges = {
            name: pool.submit(exchange, server, *pieces, pause=pause)
            for name, pieces in CASES.items()
            if not slowly or name in slowly
        }
        exchanges |= {
            name: pool.submit(exchange, server, begin=begin, pause=pause)
            for name, begin in BEGINNINGS.items()
            if not slowly or name in slowly
        }
        return {name: outcome.result().verdict for name, outcome in exchanges.items()}, server.output
