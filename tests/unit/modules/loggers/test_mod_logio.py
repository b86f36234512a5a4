"""%I, %O and %S: the bytes of heads, chunk sizes and interim responses, as httpd counts them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.engine import build_engine
from tests.support.worker import WorkerHarness

FILES = {"htdocs/a.txt": "A\n", "htdocs/p.shtml": '<!--#echo var="DOCUMENT_NAME" -->\n'}
CONF = """
LoadModule include_module modules/mod_include.so
LoadModule reflector_module modules/mod_reflector.so
AddOutputFilter INCLUDES .shtml
<Directory />
Options +Includes
</Directory>
<Location /echo>
SetHandler reflector
</Location>
"""
GET = "GET %s HTTP/1.1\r\nHost: h\r\n\r\n"
POST = "POST /echo HTTP/1.1\r\nHost: h\r\n%s\r\n\r\n"
CHUNKS = b"3\r\nabc\r\n5;x=y\r\ndefgh\r\n0\r\nTrailer: t\r\n\r\n"
FORM = "LogFormat '%I %O %S %k %X' f\nCustomLog logs/log f\n"


class Accounts(WorkerHarness):
    """A worker whose access log has the sizes of each request."""

    def __init__(self, root: Path, conf: str = "", form: str = FORM) -> None:
        super().__init__(build_engine(root, f"{conf}\n{CONF}{form}", FILES))
        self.at = self.connect(("127.0.0.1", 4000), ("127.0.0.1", 80))

    def rows(self, data: bytes) -> tuple[int, list[list[str]]]:
        """Return the number of bytes that were sent, and the logged items."""
        out, logs = self.exchange(self.at, data)
        lines = [line for name, lines in logs.items() if name.endswith("/log") for line in lines]
        return len(out), [line.decode().split() for line in lines]


@pytest.mark.parametrize("path", ["/a.txt", "/p.shtml", "/nope", "/echo"])
def test_bytes_out_are_those_on_the_wire(tmp_path: Path, path: str) -> None:
    accounts = Accounts(tmp_path)
    for number in range(4):  # the later ones from the response cache
        data = (GET % path).encode()
        sent, rows = accounts.rows(data)
        assert rows == [[str(len(data)), str(sent), str(len(data) + sent), str(number), "+"]]


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        ("Content-Length: 5", b"abcde"),
        ("Transfer-Encoding: chunked", CHUNKS),
        ("Content-Length: 5\r\nExpect: 100-continue", b"abcde"),
    ],
)
def test_bodies_count_with_their_framing(tmp_path: Path, fields: str, body: bytes) -> None:
    """Chunk sizes, extensions and trailers count, and 100 Continue among the bytes that are sent."""
    accounts = Accounts(tmp_path)
    data = (POST % fields).encode() + body
    sent, rows = accounts.rows(data)
    assert rows == [[str(len(data)), str(sent), str(len(data) + sent), "0", "+"]]


def test_the_last_response_of_a_connection_has_the_number_of_those_before_less_one(tmp_path: Path) -> None:
    """%k counts the responses after which the connection stayed open."""
    accounts = Accounts(tmp_path)
    for _number in range(3):
        accounts.rows((GET % "/a.txt").encode())
    _sent, rows = accounts.rows(b"GET /a.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    assert rows[0][3:] == ["2", "-"]


@pytest.mark.parametrize("most", [3, 2])
def test_the_last_responses_before_a_bound_are_counted_as_httpd_does(tmp_path: Path, most: int) -> None:
    """The response after which one more may follow is logged as the last; the last one counts itself."""
    accounts = Accounts(tmp_path, f"MaxKeepAliveRequests {most}")
    found = [accounts.rows((GET % "/a.txt").encode())[1][0][3:] for _number in range(most + 1)]
    signs = ["+"] * (most - 1) + ["-", "-"]
    assert found == [[str(number), sign] for number, sign in enumerate(signs)]


def test_a_body_that_is_announced_as_too_long_is_not_read(tmp_path: Path) -> None:
    accounts = Accounts(tmp_path, "<Location />\nLimitRequestBody 4\n</Location>")
    data = (POST % "Content-Length: 5").encode()
    _sent, rows = accounts.rows(data + b"abcde")
    assert rows[0][0] == str(len(data))


def test_peeked_bytes_count_twice(tmp_path: Path) -> None:
    """mod_http2 peeks at the first 24 bytes of a connection, mod_reqtimeout at one of each later request."""
    conf = (
        "LoadModule http2_module modules/mod_http2.so\nProtocols h2c http/1.1\n"
        "LoadModule reqtimeout_module modules/mod_reqtimeout.so\nRequestReadTimeout header=20\n"
    )
    accounts = Accounts(tmp_path, conf)
    data = (GET % "/a.txt").encode()
    assert [accounts.rows(data)[1][0][0] for _number in range(3)] == [
        str(len(data) + 24),
        str(len(data) + 1),
        str(len(data) + 1),
    ]


@pytest.mark.parametrize("target", ["/a.txt", "/p.shtml", "/none"])
def test_first_byte(target: str, tmp_path: Path) -> None:
    """As in httpd the time is that of the content; the page of an error has none."""
    worker = Accounts(tmp_path, "LogIOTrackTTFB On\n", "LogFormat '%^FB %D' f\nCustomLog logs/log f\n")
    for _ in range(3):
        _, [row] = worker.rows((GET % target).encode())
        assert (row[0] == "-") is (target == "/none")
        assert row[0] == "-" or 0 < int(row[0]) <= int(row[1])
