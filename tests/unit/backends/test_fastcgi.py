"""FastCGI: records as apache2 2.4.71 sends them, and what it made of each odd answer."""

from __future__ import annotations

import random
import re
import shutil
import socket
import struct
import subprocess
import time

import pytest

from whimbrel.backends.fastcgi import (
    ABORT_REQUEST,
    AUTHNZ_FCGI,
    END_STDIN,
    LINE_COST,
    MAX_CONTENT,
    FastcgiReader,
    FastcgiRole,
    begin_request,
    end_of_head,
    params,
    stdin,
)
from whimbrel.backends.script_lines import MAX_HEAD, MAX_LINE
from whimbrel.http.client.answer import BackendError

EOF = "(70014)End of file found"
EINVAL = "(22)Invalid argument"


def record(kind, content=b"", request=1, version=1, padding=0, size=None):
    header = struct.pack(
        ">BBHHBB", version, kind, request, len(content) if size is None else size, padding, 0
    )
    return header + content + b"P" * padding


END = record(3, bytes(8))
OUT = record(6, b"Content-Type: text/plain\r\n\r\nhi")
LINES = ("Content-Type: text/plain", "")


def read(data, cuts=(), reader=None):
    reader = reader or FastcgiReader()
    body = b""
    edges = [0, *cuts, len(data)]
    for start, end in zip(edges, edges[1:], strict=False):
        reader.feed(data[start:end])
        body += reader.take()
    if not reader.done:
        reader.eof()
        body += reader.take()
    return reader, body


def outcome(data, cuts=()):
    reader = FastcgiReader(keep=True)
    try:
        _, body = read(data, cuts, reader)
    except BackendError as problem:
        return problem.status, problem.reasons, reader.head, reader.errors, reader.messages
    return reader.head, body, reader.errors, reader.messages, reader.rest, reader.reusable


# requests
def test_begin_request():
    assert begin_request() == b"\1\1\0\1\0\x08\0\0" + b"\0\1\0\0\0\0\0\0"
    assert begin_request(keep=True) == b"\1\1\0\1\0\x08\0\0" + b"\0\1\1\0\0\0\0\0"
    assert begin_request(FastcgiRole.AUTHORIZER) == b"\1\1\0\1\0\x08\0\0" + b"\0\2\0\0\0\0\0\0"


def test_params():
    data, left_out = params([("A", "b"), ("N" * 127, "v" * 128)])
    content = b"\1\1Ab" + b"\x7f\x80\0\0\x80" + b"N" * 127 + b"v" * 128
    assert data == record(4, content) + record(4)
    assert left_out == []
    assert params([]) == (record(4), [])
    assert params([("A\0B", "c\0d")])[0] == record(4, b"\1\1Ac") + record(4)


def test_variables_do_not_span_records():
    pairs = [(f"V{number:02}", "x" * 7000) for number in range(12)]
    data, _ = params(pairs)
    sizes = []
    while data:
        (size,) = struct.unpack_from(">H", data, 4)
        sizes.append(size)
        data = data[8 + size :]
    assert sizes == [9 * 7008, 3 * 7008, 0]
    data, left_out = params([("A", "b"), ("BIG", "x" * MAX_CONTENT), ("C", "d")])
    assert (data, left_out) == (record(4, b"\1\1Ab\1\1Cd") + record(4), ["BIG"])


def test_stdin():
    assert stdin(b"") == b""
    assert stdin(b"abc") == record(5, b"abc")
    assert stdin(b"x" * (MAX_CONTENT + 1)) == record(5, b"x" * MAX_CONTENT) + record(5, b"x")
    assert END_STDIN == record(5)
    assert ABORT_REQUEST == record(2)


# answers
@pytest.mark.parametrize(
    ("data", "lines", "body"),
    [
        (OUT + record(6) + END, LINES, b"hi"),
        (OUT + END, LINES, b"hi"),
        (OUT + record(6, b"ho") + END, LINES, b"hiho"),
        (
            record(6, b"Content-Type: text/plain\r\n\r\nhi", padding=7) + record(3, bytes(8), padding=3),
            LINES,
            b"hi",
        ),
        (record(6, b"A:") + record(6, b" b\r\n\r") + record(6, b"\nhi") + END, ("A: b", ""), b"hi"),
        (OUT + record(3, struct.pack(">IB3x", 1, 0)), LINES, b"hi"),
        (OUT + record(3, b"ab"), LINES, b"hi"),
        (OUT + record(3), LINES, b"hi"),
        (END, None, b""),
        (record(6) + END, None, b""),
        (record(6, b"X: y\r\nZ: w") + record(6) + END, None, b"X: y\r\nZ: w"),
        (record(6, b"X: y\r\nZ: w") + END, None, b""),
        (record(6, b"\r\nbody only") + record(6) + END, None, b"\r\nbody only"),
        (record(6, b"\n\nhi") + END, ("",), b"\nhi"),
        (record(6, b"X: y\n\nhi") + END, ("X: y", ""), b"hi"),
        (record(6, b"X: y\n\r\nhi") + END, None, b""),
        (record(6, b"X: y\r\n\nhi") + END, None, b""),
    ],
)
def test_answer(data, lines, body):
    reader, got = read(data)
    assert (reader.head.script_lines, got) == (lines, body)
    assert (reader.messages, reader.errors, reader.rest) == ([], [], b"")


def test_keep():
    assert read(OUT + record(6) + END, reader=FastcgiReader(keep=True))[0].reusable
    assert not read(OUT + record(6) + END)[0].reusable
    reader = read(OUT + END + b"rest", reader=FastcgiReader(keep=True))[0]
    assert (reader.rest, reader.reusable) == (b"rest", False)


def test_unknown_record_is_skipped():
    reader, body = read(OUT + record(99, b"zz") + record(6, b"ho") + END)
    assert body == b"hiho"
    assert [line[:3] for line in reader.messages] == [("error", "AH01072", "Got bogus record 99")]


def test_standard_error():
    reader, body = read(record(7, b"oops\nmore\n") + OUT + record(7, b"two") + END)
    assert (reader.errors, body) == (["oops\nmore\n", "two"], b"hi")
    assert [len(text) for text in read(record(7, b"e" * 9000) + OUT + END)[0].errors] == [8192, 808]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (OUT, [("AH01067", "Failed to read FastCGI header", ""), ("AH01075", "", EOF)]),
        (b"\1\6\0", [("AH01067", "Failed to read FastCGI header", ""), ("AH01075", "", EOF)]),
        (b"", [("AH01067", "Failed to read FastCGI header", ""), ("AH01075", "", EOF)]),
        (record(6, version=2), [("AH01068", "Got bogus version 2", ""), ("AH01075", "", EINVAL)]),
        (record(6, request=2), [("AH01069", "Got bogus rid 2, expected 1", ""), ("AH01075", "", EINVAL)]),
        (record(10, request=0), [("AH01069", "Got bogus rid 0, expected 1", ""), ("AH01075", "", EINVAL)]),
        (record(6, b"X: y\r\n\r\nhi", size=1000), [("AH01075", "(reading response body)", EOF)]),
        (
            OUT + record(6, b"x", padding=2)[:-1],
            [("AH02537", "Error occurred reading padding", EOF), ("AH01075", "", EOF)],
        ),
    ],
)
def test_bad_answer(data, lines):
    with pytest.raises(BackendError) as caught:
        read(data)
    texts = [
        (code, f"Error dispatching request to : {text}" if code == "AH01075" else text, cause)
        for code, text, cause in lines
    ]
    assert [(line.code, line.text, line.cause) for line in caught.value.reasons] == texts
    assert caught.value.status == 503


def test_end_of_the_connection_after_standard_output():
    """The client's response is complete; httpd logs the missing record."""
    reader, body = read(OUT + record(6))
    assert (body, reader.done, reader.reusable) == (b"hi", True, False)
    assert [line.code for line in reader.messages] == ["AH01067", "AH01075"]
    reader, _ = read(OUT + record(6) + record(3, bytes(8), padding=7)[:-7])
    assert [line.code for line in reader.messages] == ["AH02537", "AH01075"]


def test_messages_of_authorizers():
    with pytest.raises(BackendError) as caught:
        read(record(6, request=2), reader=FastcgiReader(AUTHNZ_FCGI))
    (line,) = caught.value.reasons
    words = "handle_response: Got bogus FastCGI header request id 2, expected 1"
    assert (line.code, line.text, line.module) == ("AH02503", words, "authnz_fcgi")


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_the_longest_line_of_a_head(end):
    """mod_proxy_fcgi of 2.4.71 answers 200 to 8,189 characters and 500 to one more, in any line."""
    for first in ((), (b"A: b",)):
        for size in (8189, 8190, 20_000):
            lines = (*first, b"X: ".ljust(size, b"y"))
            reader, _ = read(record(6, end.join((*lines, b"", b"hi"))) + END)
            taken = tuple(line.decode() for line in (*lines, b""))
            assert reader.head.script_lines == (taken if size == 8189 else tuple(f.decode() for f in first))


def test_head_with_a_long_line():
    reader, body = read(record(6, b"A: b\r\nX: ".ljust(9000, b"y") + b"\r\n\r\nhi") + END)
    assert reader.head.script_lines == ("A: b",)
    assert len(reader.head.script_lines[0]) < MAX_LINE


def test_head_without_an_end_is_bounded():
    reader = FastcgiReader()
    for _ in range(MAX_HEAD // 50_000 + 1):
        assert reader.head is None
        reader.feed(record(6, b"X: y\r\n" * 10_000))
    assert reader.head.script_lines[-1] == "X: y"


CASES = [
    record(7, b"oops")
    + OUT
    + record(99, b"zz")
    + record(6, b"x" * 300, padding=5)
    + record(6)
    + END
    + b"rest",
    record(6, b"X: y\r\nZ: w") + record(6) + END,
    OUT + record(6, version=3),
    record(6, b"X: y\n\n\nhi", padding=255) + record(7, b"e" * 20),
    OUT + record(6) + record(3, bytes(8), padding=7)[:-3],
]


@pytest.mark.parametrize("data", CASES, ids=range(len(CASES)))
def test_any_split_gives_the_same(data):
    whole = outcome(data)
    chance = random.Random(7)
    for round_ in range(60):
        cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.choice((1, 2, 5, 40))))
        assert outcome(data, cuts if round_ else range(1, len(data))) == whole


@pytest.mark.skipif(shutil.which("php-cgi") is None, reason="php-cgi is not installed")
def test_php(tmp_path):
    """PHP as a FastCGI application: two requests on one connection, one with a body of 200 kB."""
    script = tmp_path / "x.php"
    script.write_text(
        "<?php header('X-Y: z'); error_log('oops');\n"
        "echo strlen(file_get_contents('php://input')), $_SERVER['A'];"
    )
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        php = subprocess.Popen(
            ["php-cgi", "-d", "log_errors=1", "-d", "error_log="],
            stdin=listener,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PHP_FCGI_MAX_REQUESTS": "10", "PATH": "/usr/bin"},
        )
        try:
            with socket.create_connection(listener.getsockname(), timeout=20) as connection:
                for size in (0, 200_000):
                    pairs = [
                        ("SCRIPT_FILENAME", str(script)),
                        ("REQUEST_METHOD", "POST"),
                        ("CONTENT_LENGTH", str(size)),
                        ("CONTENT_TYPE", "text/plain"),
                        ("REDIRECT_STATUS", "200"),
                        ("A", "x" * 70),
                        ("B", "y" * 60_000),
                        ("C", "z" * 10_000),
                    ]
                    request = begin_request(keep=True) + params(pairs)[0]
                    connection.sendall(request + stdin(bytes(size)) + END_STDIN)
                    reader, deadline = FastcgiReader(keep=True), time.monotonic() + 20
                    while not reader.done and time.monotonic() < deadline:
                        reader.feed(connection.recv(1000))
                    assert reader.reusable
                    assert reader.take() == b"%d" % size + b"x" * 70
                    assert "X-Y: z" in reader.head.script_lines
                    assert reader.head.script_lines[-1] == ""
                    assert any("oops" in text for text in reader.errors)
        finally:
            php.terminate()
            php.wait(10)


def test_standard_error_counts_as_buffered() -> None:
    reader = FastcgiReader()
    reader.feed(b"\x01\x07\0\x01\0\x05\0\0wader")
    assert (reader.buffered, reader.errors) == (5 + LINE_COST, ["wader"])
    reader.errors = []
    assert reader.buffered == 0


def test_the_end_of_a_head_is_that_of_the_expression():
    """CR LF CR LF, or LF LF without a CR before it: the first of both, at any place."""
    wanted = re.compile(rb"\r\n\r\n|(?<!\r)\n\n")
    dice = random.Random(2)
    found = 0
    for _ in range(20_000):
        data = bytes(dice.choices(b"\r\nab", k=dice.randrange(12)))
        start = dice.randrange(len(data) + 1)
        stop = dice.choice([len(data), dice.randrange(14)])
        match = wanted.search(data, start, stop)
        assert end_of_head(data, start, stop) == (-1 if match is None else match.end()), (data, start, stop)
        found += match is not None
    assert found > 1000
