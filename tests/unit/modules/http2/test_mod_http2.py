"""mod_http2: messages of 2.4.71, and the protocols of a configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine
from tests.support.site import Site

from whimbrel.engine.connection import Connection
from whimbrel.modules.http.protocols import announced
from whimbrel.modules.http2.mod_http2 import NOTE_ID, NOTE_PUSH_OFF, NOTE_TAG, settings_of
from whimbrel.testing.client import TestClient

LOAD = "LoadModule http2_module m/mod_http2.so\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("H2Direct maybe", "value must be On or Off"),
        ("H2Push ON", "Syntax OK"),
        ("H2MaxSessionStreams 0", "value must be > 0"),
        ("H2WindowSize 1023", "value must be >= 1024"),
        ("H2WindowSize 1024", "Syntax OK"),
        ("H2Padding 9", "number of bits must be <= 8"),
        ("H2Padding -1", "number of bits must be >= 0"),
        ("H2StreamTimeout x", "Invalid timeout value"),
        ("H2StreamTimeout 5s", "Syntax OK"),
        ("H2PushDiarySize 3", "value must a power of 2"),
        ("H2PushPriority text/css During", "dependency must be one of 'After', 'Before' or 'Interleaved'"),
        ("H2PushPriority text/css before 3", "dependency 'Before' does not allow a weight"),
        ("H2PushResource /a /b", "unknown last parameter"),
        ("H2MaxDataFrameLen -1", "value must be 0 or larger"),
        ("H2MaxHeaderBlockLen -1", "value must be 0 or larger"),
        ("H2MaxHeaderBlockLen x", "Syntax OK"),
        ("H2MaxStreamErrors -1", "value must be 0 or larger"),
        ("H2EarlyHints maybe", "value must be On or Off"),
        ('H2EarlyHint Link "  "', "Early Hint header value must not be empty/only space"),
        ('H2EarlyHint Link "a\x01b"', "Early Hint header value contains invalid characters"),
        ('H2EarlyHint "a b" x', "Syntax OK"),
        ("H2PushResource /x critical y", "too many parameter"),
        ("H2PushResource ADD /x CRITICAL", "Syntax OK"),
        ("H2PushDiarySize 65536", "value must <= 65536"),
        ("H2PushPriority * 0", "weight must be a number >= 1"),
        ("<Location /x>\nH2EarlyHints on\n</Location>", "H2EarlyHints not allowed in <Location> context"),
        ("<Location /x>\nH2Push maybe\n</Location>", "value must be On or Off"),
        ("H2MaxWorkers 0", "value must be > 0"),
        ("H2Direct", "H2Direct takes one argument, on to enable direct HTTP/2 mode"),
    ],
)
def test_arguments(tmp_path: Path, line: str, said: str) -> None:
    assert Site(tmp_path, LOAD + line + "\n").check().splitlines()[-1] == said


def test_settings_are_the_servers_own(tmp_path: Path) -> None:
    site = Site(
        tmp_path,
        LOAD + "H2MaxSessionStreams 7\n<VirtualHost *:81>\nH2Push Off\nH2Direct On\n</VirtualHost>\n",
    )
    configuration = site.load()
    main, host = (settings_of(configuration, server) for server in configuration.servers())
    assert main is not None and host is not None
    assert (main.max_streams, main.push, main.direct) == (7, True, None)
    assert (host.max_streams, host.push, host.direct) == (7, False, True)


@pytest.mark.parametrize(
    ("protocols", "names"),
    [
        ([], ""),
        (["http/1.1"], ""),
        (["http/1.1", "h2c"], ""),
        (["h2", "h2c", "http/1.1"], "h2,h2c"),
        (["h2c"], "h2c"),
        (["foo", "http/1.1"], "foo"),
    ],
)
def test_protocols_before_http_1_1_are_announced(protocols: list[str], names: str) -> None:
    assert announced(protocols) == names


CHOSEN = [
    "AH03155: select protocol from h2c,http/1.1, choices={0} for server localhost",
    "AH03156: select protocol, proposals=h2c preferences={1} configured=h2c,http/1.1",
    "AH03157: selected protocol=h2c",
    "AH02909: Upgrade selects 'h2c'",
]
NOT_CHOSEN = [CHOSEN[0], "AH03157: selected protocol=(none)"]
WRONG = "AH02910: parsing Upgrade header: Encountered illegal "


@pytest.mark.parametrize("honor", ["On", "Off"])
@pytest.mark.parametrize(
    ("offers", "status", "lines"),
    [
        ("h2c", 101, CHOSEN),
        ("h2c,", 101, CHOSEN),
        (", h2c", 101, CHOSEN),
        ("h2c , foo", 101, CHOSEN),
        ("h2c,,foo", 101, CHOSEN),
        ("foo", 200, NOT_CHOSEN),
        ("H2C", 200, NOT_CHOSEN),
        ("foo bar, h2c", 200, [f"{WRONG}whitespace in token"]),
        ("foo@x, h2c", 200, [f"{WRONG}separator '\\\\x40'"]),
        ("http/1.1, h2c", 200, [f"{WRONG}separator '\\\\x2f'"]),
        ("h2c, http/1.1", 200, [f"{WRONG}separator '\\\\x2f'"]),
    ],
)
def test_which_protocol_is_chosen(
    tmp_path: Path, honor: str, offers: str, status: int, lines: list[str]
) -> None:
    """Statuses and lines of apache2 2.4.71; a name with a version is no token."""
    conf = f"{LOAD}LogLevel core:debug\nProtocols h2c http/1.1\nProtocolsHonorOrder {honor}\n"
    engine = build_engine(tmp_path, conf, {"htdocs/a.txt": "a"})
    fields = ("Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA")
    assert fetch(engine, "/a.txt", f"Upgrade: {offers}", *fields).status == status
    logs = engine.runtime.logs  # type: ignore[attr-defined]
    written = b"".join(line for each in logs.values() for line in each).decode().splitlines()
    found = [line[line.index("AH") :] for line in written if "core:debug" in line]
    names = ",".join(name.strip() for name in offers.split(",") if name.strip())
    preferences = "h2c,http/1.1" if honor == "On" else names
    assert found == [line.format(names, preferences) for line in lines]


def test_resources_of_a_section_replace_those_of_the_server(tmp_path: Path) -> None:
    conf = (
        "H2PushResource /s\nH2EarlyHint X 1\nH2PushPriority text/css before\nH2PushPriority * 32\n"
        "<Location /c>\nH2PushResource add /a critical\nH2Push off\n</Location>\n"
        "<Location /b>\nH2PushResource /b\nH2EarlyHint Y 2\n</Location>\n"
    )
    engine = build_engine(tmp_path, LOAD + conf, {"htdocs/a.txt": "a", "htdocs/b/a.txt": "b"})
    settings = settings_of(engine.configuration, engine.main)
    assert settings is not None
    assert settings.priorities == {"text/css": "before", "*": "after"}
    found, notes = [], []
    for uri in ("/a.txt", "/b/a.txt", "/c/a.txt"):
        connection = Connection("127.0.0.1", 5000, "127.0.0.1", 80, notes={NOTE_ID: "1", NOTE_TAG: "t"})
        connection.send_interim = lambda status, fields, _reason: found.append((status, list(fields)))
        TestClient(engine, connection).send(f"GET {uri} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        notes.append(NOTE_PUSH_OFF in connection.notes)
    assert found == [
        (103, [("Link", "</s>; rel=preload"), ("X", "1")]),
        (103, [("Link", "</b>; rel=preload"), ("Y", "2")]),
        (103, [("Link", "</a>; rel=preload; critical"), ("X", "1")]),
    ]
    assert notes == [False, False, True]
