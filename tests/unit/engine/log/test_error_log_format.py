"""ErrorLogFormat: each expected line was written by 2.4.71 under the same format."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from whimbrel.engine.log.error_log_format import LogRecord, error_time, log_id, render
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.modules.core.log_format import parse_format

DENIED = LogLine("error", "client denied: /no.txt", "AH01630", "authz_core", "", "mod_authz_core.c(879)")
DEBUG = LogLine("debug", "authorization result", "AH01626", "authz_core", "", "mod_authz_core.c(815)")
LOST = LogLine(
    "error", "Could not open", "AH01620", "authn_file", "(2)No such file or directory", "mod_authn_file.c(77)"
)


def message(line: LogLine, *, request: bool = True, **fields: str) -> LogRecord:
    connection: Any = SimpleNamespace(
        client_ip="127.0.0.1",
        client_port=4,
        useragent_ip="",
        useragent_port=4,
        local_ip="127.0.0.1",
        local_port=80,
        served=0,
        log_id="CCCCCCCCCCC",
    )
    server = SimpleNamespace(name="localhost")
    r: Any = SimpleNamespace(
        env={"FOO": "foo"},
        headers_in={name.replace("_", "-"): value for name, value in fields.items()},
        notes={"nn": "a note"},
        log_id="RRRRRRRRRRR",
    )
    return LogRecord(line, 0.0, 9, server, connection, r) if request else LogRecord(line, 0.0, 9, server)


def shown(form: str, line: LogLine, **fields: str) -> str | None:
    return render(parse_format(form), message(line, **fields))


@pytest.mark.parametrize(
    ("form", "line", "want"),
    [
        (
            "[%a] [%A] [%{c}a] %M",
            DENIED,
            "[127.0.0.1:4] [127.0.0.1:80] [127.0.0.1:4] AH01630: client denied: /no.txt",
        ),
        (
            "%F: %E: [client\\ %a] %M",
            DENIED,
            "mod_authz_core.c(879): [client 127.0.0.1:4] AH01630: client denied: /no.txt",
        ),
        ("%7F: %E: %M", LOST, " (2)No such file or directory: AH01620: Could not open"),
        ("<%E> %M", DENIED, " AH01630: client denied: /no.txt"),
        ("A %E B %M C", DENIED, "A B AH01630: client denied: /no.txt C"),
        ("A: %E: B %M: C", LOST, "A: (2)No such file or directory: B AH01620: Could not open: C"),
        ("A% %E% B% %M", LOST, "A(2)No such file or directoryBAH01620: Could not open"),
        ("A% %E% B% %M", DENIED, "ABAH01630: client denied: /no.txt"),
        ("{%7F} %M", DENIED, " AH01630: client denied: /no.txt"),
        ("{%7F} %M", DEBUG, "{mod_authz_core.c(815)} AH01626: authorization result"),
        ("%7F|%M", DENIED, "AH01630: client denied: /no.txt"),
        ("%-7F|%M", DENIED, "AH01630: client denied: /no.txt"),
        ("x(%{X-None}i)y %M", DENIED, " AH01630: client denied: /no.txt"),
        ("foo=%{X-None}i bar %M", DENIED, " bar AH01630: client denied: /no.txt"),
        ("%{X-None}i%M", DENIED, "AH01630: client denied: /no.txt"),
        ("z, %{X-None}i, %M", DENIED, "z, AH01630: client denied: /no.txt"),
        ("%M [%{X-None}i]", DENIED, "AH01630: client denied: /no.txt"),
        ("%M% , referer: %{Referer}i", DENIED, "AH01630: client denied: /no.txt, referer:"),
        ("%M% ,\\ referer\\ %{Referer}i", DENIED, "AH01630: client denied: /no.txt"),
        ("a   b  %{No}i   %M", DENIED, "a   b   AH01630: client denied: /no.txt"),
        ("100%% \\t x\\ y %M", DENIED, "100% \t x y AH01630: client denied: /no.txt"),
        (
            "%-{BAR}e|%{FOO}e|%-{X-A}i|%{nn}n|%-E|%-m|%-k|%l|%M",
            DENIED,
            "-|foo|-|a note|-|authz_core|0|error|AH01630: client denied: /no.txt",
        ),
        ("%L %{c}L %{C}L x %M", DENIED, "RRRRRRRRRRR CCCCCCCCCCC x AH01630: client denied: /no.txt"),
        ("%P %v %M", DENIED, "9 localhost AH01630: client denied: /no.txt"),
    ],
)
def test_lines(form: str, line: LogLine, want: str) -> None:
    assert shown(form, line) == want


def test_a_field_of_a_header() -> None:
    assert (
        shown("%M% ,\\ referer\\ %{Referer}i", DENIED, Referer="http://r/")
        == "AH01630: client denied: /no.txt, referer http://r/"
    )


def test_without_a_connection_nothing_is_said_of_one() -> None:
    assert (
        render(parse_format("[client %a] [%-A] %M"), message(DENIED, request=False))
        == "[client [-] AH01630: client denied: /no.txt"
    )


def test_an_empty_required_item_takes_the_whole_line() -> None:
    pieces = parse_format("[R:%L] UA:'%+{User-Agent}i'")
    assert render(pieces, message(DENIED)) is None
    assert render(pieces, message(DENIED, User_Agent="x")) == "[R:RRRRRRRRRRR] UA:'x'"


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ("", "Thu Jan 01 00:00:01 1970"),
        ("u", "Thu Jan 01 00:00:01.250000 1970"),
        ("uz", "Thu Jan 01 00:00:01.250000 1970 +0000"),
        ("cu", "1970-01-01 00:00:01.250000"),
        ("cuz", "1970-01-01 00:00:01.250000 +0000"),
        ("c", "1970-01-01 00:00:01"),
        ("x", "Thu Jan 01 00:00:01 1970"),
        ("UC", "Thu Jan 01 00:00:01 1970"),
        ("%Y-%m-%d", "1970-01-01"),
    ],
)
def test_the_time(options: str, want: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert error_time(1.25, options) == want


def test_a_log_id_has_eleven_characters() -> None:
    assert len(log_id()) == 11
    assert log_id() != log_id()
