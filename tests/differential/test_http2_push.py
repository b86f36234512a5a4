"""Pushes, early hints, refused heads and log counts of HTTP/2 on apache2 and on Whimbrel, frame by frame."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

import pytest

pytest.importorskip("hpack", reason="the optional package hpack is not installed")

from tests.differential.http2_client import PATIENCE, Exchange, Http2Exchange, Report
from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.differential.site import GeneratedSite, ServerProcess, documents, htaccess

SCRIPTS: Final = {
    "link": "printf 'Content-Type: text/plain\\nLink: </a.txt>;rel=preload, </b>;rel=preload;nopush\\n"
    'Link: <dir/b.txt>;rel="x preload"\\n\\nhello\\n\'',
    "missing": "printf 'Status: 404\\nContent-Type: text/plain\\nLink: </a.txt>;rel=preload\\n\\nno'",
    "value": "printf 'Content-Type: text/plain\\nX-A: a\\001b\\n\\nhello\\n'",
    "name": "printf 'Content-Type: text/plain\\nX\\001A: b\\n\\nhello\\n'",
    "long": "printf 'Content-Type: text/plain\\nX-A: '; printf 'a%.0s' $(seq $QUERY_STRING); "
    "printf '\\n\\nhi\\n'",
    "hint": "printf 'Status: 103\\nLink: </a.txt>;rel=preload\\n\\n'; sleep 0.2; printf 'x\\n'",
    "echo": "printf 'Content-Type: text/plain\\n\\n'; cat",
    "slow": "printf 'Content-Type: text/plain\\n\\n'; echo one; sleep 0.1; echo two",
}
TEXT: Final = """\
LoadModule http2_module %MODULES%/mod_http2.so
LoadModule cgid_module %MODULES%/mod_cgid.so
ScriptSock %LOGS%/cgisock
ScriptAlias /cgi/ %BASE%/cgi/
Protocols h2c http/1.1
LogFormat "%{H2_STREAM_ID}e|%r|%>s|%b|%B|%I|%O|%{H2PUSH}e|%{H2_PUSHED}e|%{H2_PUSHED_ON}e" frames
CustomLog %LOGS%/frames frames
<Directory "%BASE%">
Require all granted
</Directory>
AliasMatch "^/(?:in|off|head|eh|one)/(.*)" "%ROOT%/$1"
<Location /in>
H2PushResource add /a.txt critical
H2PushResource "/dir/b.txt?x=1"
</Location>
<Location /off>
H2Push off
H2PushResource /a.txt
</Location>
<Location /head>
Header add Link "</a.txt>;rel=preload"
Header add Link "</a.html>;rel=preload; critical"
Header add Link "<http://localhost/list/one.txt>;rel=preload"
Header add Link "<http://LOCALHOST/list/two.html>;rel=preload"
</Location>
<Location /eh>
H2EarlyHint Link "</a.txt>;rel=preload"
H2EarlyHint X-Foo bar
</Location>
<Location /one>
Header set X-Bad "a\x01b"
</Location>
"""
SITES: Final = {
    "default": TEXT,
    "hints": TEXT + 'H2EarlyHints on\nH2EarlyHint X-Server "1 2"\n'
    "ErrorDocument 404 /in/a.txt\nH2PushDiarySize 2\n",
    "off": TEXT + "H2Push off\nH2MaxHeaderBlockLen 1000\n",
}
# With few streams at a time, httpd mixes up interim and final heads; a reset may overtake an interim head.
UNSTABLE: Final = {("hints", "one at a time"), ("hints", "control characters")}
# httpd begins requests whose responses the client never takes, and logs them.
UNLOGGED: Final = {"none at a time"}
LINELESS: Final = {"a long method"}  # its stream is reset before there is a request to log
UA: Final = (("user-agent", "ua"), ("accept", "*/*"), ("cookie", "a=b"), ("accept-language", "en"))
SINCE: Final = (("if-modified-since", "Fri, 01 Jan 2038 00:00:00 GMT"),)
PLAIN: Final = (
    Exchange("script", ("/cgi/link", "/cgi/link"), fields=UA),
    Exchange("resources", ("/in/a.html", "/in/dir/", "/in/none")),
    Exchange("a missing file", ("/in/none", "/cgi/missing", "/head/none")),
    Exchange("location", ("/off/a.txt", "/head/a.txt")),
    Exchange("fields", ("/head/a.txt", "/head/a.html"), fields=UA, authority="localhost"),
    Exchange("another authority", ("/head/a.txt",), authority="LOCALHOST"),
    Exchange("HEAD", ("/head/a.txt", "/in/a.txt"), method="HEAD"),
    Exchange("POST", ("/head/a.txt", "/in/a.txt"), method="POST"),
    Exchange("no push", ("/head/a.txt", "/in/a.txt"), settings=((2, 0),)),
    Exchange("one at a time", ("/head/a.txt",), settings=((3, 1),)),
    Exchange("none at a time", ("/head/a.txt",), settings=((3, 0),), ends=False),
    Exchange("not modified", ("/in/a.txt", "/head/a.html"), fields=SINCE),
    Exchange("policy none", ("/head/a.txt", "/in/a.txt"), fields=(("accept-push-policy", "none"),)),
    Exchange("policy none before another", ("/head/a.html",), fields=(("accept-push-policy", "none"),)),
    Exchange("policy default after none", ("/head/a.html",), fields=(("accept-push-policy", "default"),)),
    Exchange("policy head", ("/head/a.txt",), fields=(("accept-push-policy", "head"),)),
    Exchange("policy fast-load", ("/head/a.txt",), fields=(("accept-push-policy", "fast-load"),)),
    Exchange("policy unknown", ("/head/a.txt",), fields=(("accept-push-policy", "fly"),)),
    Exchange("expectation", ("/in/a.txt",), fields=(("expect", "100-continue"),)),
    Exchange("hints", ("/eh/a.html", "/eh/dir/")),
    Exchange("control characters", ("/cgi/value", "/cgi/name", "/one/a.txt", "/a.txt")),
    Exchange("a long method", ("/a.txt",), method="G" * 8191),
    Exchange("a method", ("/a.html",), method="G" * 8000),
    Exchange("a script's 103", ("/cgi/hint",)),
    Exchange("long heads", ("/cgi/long?600", "/cgi/long?1100", "/a.txt")),
)
COUNTED: Final = (
    Exchange("a body", ("/cgi/echo",), method="POST", body=(b"12345", b"67890")),
    Exchange("a body that is not read", ("/a.txt",), method="POST", body=(b"12345",)),
    Exchange("parts", ("/cgi/slow",)),
    Exchange("repeated", ("/a.txt",) * 4),
    Exchange("repeated HEAD", ("/a.txt",) * 3, method="HEAD"),
    Exchange("repeated 404", ("/none",) * 4),
    Exchange("repeated 304", ("/a.html",) * 3, fields=SINCE),
    Exchange("a range", ("/dir/b.txt",) * 2, fields=(("range", "bytes=1-5"),)),
    Exchange("a long field", ("/a.txt",), fields=(("x", "y" * 8300),)),
    Exchange("a long path", ("/" + "p" * 8200,)),
)


RESPONDED: Final = {
    (":status", status) for status in ("200", "404", "304", "206", "103", "400", "414", "431")
}


class Line(NamedTuple):
    """A line of the log; the sizes of Whimbrel's and httpd's heads differ."""

    stream: str
    rest: tuple[str, ...]
    sent: int


def serve(
    program: Program, text: str, exchanges: tuple[Exchange, ...]
) -> dict[str, tuple[Report, list[Line]]]:
    """Return the frames, and the log lines, of each exchange with *program*."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        os.chmod(base, 0o755)
        documents(base)
        for script, body in SCRIPTS.items():
            path = base / "cgi" / script
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"#!/bin/bash\n{body}\n")
        htaccess(base, {})
        for path in (base / "cgi").iterdir():
            path.chmod(0o755)
        logs = base / "logs"
        logs.mkdir()
        conf = text.replace("%LOGS%", str(logs)).replace("%MODULES%", program.module_dir)
        out = {}
        with ServerProcess(program, GeneratedSite(conf), base) as server:
            assert server.started, server.output
            Http2Exchange(server.port, Exchange("first", ("/a.txt",))).run()  # the server is warm
            lines = read_log(logs / "frames", 0, 1)
            for exchange in exchanges:
                report = Http2Exchange(server.port, exchange).run()
                known = len(lines)
                more = 0 if exchange.name in LINELESS else sum(map(has_line, report.streams.values()))
                lines += read_log(logs / "frames", known, more)
                out[exchange.name] = (report, lines[known:])
        return out


def has_line(events: list[object]) -> bool:
    """Return True for a stream that responded, or whose response was refused."""
    return any(
        isinstance(event, tuple) and (event in (("reset", 1), ("reset", 2)) or event[0] in RESPONDED)
        for event in events
    )


def read_log(path: Path, known: int, more: int) -> list[Line]:
    """Return the lines behind the first *known*, once there are *more*."""
    end, lines = time.monotonic() + PATIENCE, list[str]()
    while time.monotonic() < end and len(lines) < known + more:
        time.sleep(0.05)
        lines = path.read_text("latin-1").splitlines() if path.exists() else []
    time.sleep(0.1)
    lines = path.read_text("latin-1").splitlines() if path.exists() else []
    out = []
    for line in lines[known:]:
        words = line.split("|")
        out.append(Line(words[0], (*words[1:6], *words[7:]), int(words[6])))
    return sorted(out)


@pytest.fixture(scope="module")
def answers() -> Iterator[dict[tuple[str, str], dict[str, tuple[Report, list[Line]]]]]:
    if not APACHE.present:
        pytest.skip("apache2 is not installed")
    with ThreadPoolExecutor(8) as pool:  # most of the time is waiting for log lines
        served = {
            (program.name, site): pool.submit(
                serve, program, text, PLAIN + (COUNTED if site == "default" else ())
            )
            for program in (APACHE, WHIMBREL)
            for site, text in SITES.items()
        }
        yield {key: one.result() for key, one in served.items()}


@pytest.mark.parametrize("site", SITES)
def test_frames_are_those_of_apache2(
    answers: dict[tuple[str, str], dict[str, tuple[Report, list[Line]]]], site: str
) -> None:
    expected, found = answers["apache2", site], answers["whimbrel", site]
    assert {name: report.goaway for name, (report, _) in found.items()} == {
        name: report.goaway for name, (report, _) in expected.items()
    }
    different = {
        (name, number): (found[name][0].streams.get(number), events)
        for name, (report, _lines) in expected.items()
        for number, events in report.streams.items()
        if found[name][0].streams.get(number) != events and (site, name) not in UNSTABLE
    }
    assert different == {}
    assert sum(len(report.streams) for report, _lines in found.values()) > 35


@pytest.mark.parametrize("site", SITES)
def test_log_lines_are_those_of_apache2(
    answers: dict[tuple[str, str], dict[str, tuple[Report, list[Line]]]], site: str
) -> None:
    different = {}
    for name, (report, lines) in answers["apache2", site].items():
        if name in UNLOGGED or (site, name) in UNSTABLE:
            continue
        expected = settled_lines(report, lines)
        found = settled_lines(report, answers["whimbrel", site][name][1])
        if found != expected:
            different[name] = (found, expected)
    assert different == {}


def settled_lines(report: Report, lines: list[Line]) -> list[tuple[str, tuple[str, ...]]]:
    """Return stream and rest of *lines*, without the body sizes of the streams that *report* has as reset:
    in httpd, chance decides whether the body comes before the reset.
    """
    out = []
    for line in lines:
        events = report.streams.get(int(line.stream) if line.stream.isdecimal() else 0, [])
        is_reset = any(isinstance(event, tuple) and event[0] == "reset" for event in events)
        out.append((line.stream, line.rest[:2] + line.rest[4:] if is_reset else line.rest))
    return out


@pytest.mark.parametrize("program", ["apache2", "whimbrel"])
def test_sent_bytes_are_those_of_the_frames(
    answers: dict[tuple[str, str], dict[str, tuple[Report, list[Line]]]], program: str
) -> None:
    count = 0
    for name, (report, lines) in answers[program, "default"].items():
        for line in lines:
            size = report.sizes.get(int(line.stream) if line.stream.isdecimal() else 0)
            if size is not None and name not in UNLOGGED:
                assert line.sent == size, (name, line)
                count += 1
    assert count > 40
