"""Requests that `whimbrel serve --dialect both` sends to the other server."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator

import pytest

from whimbrel.cli.compared_requests import FIELDS, MARK, difference, logged, other_answer
from whimbrel.cli.request_lines import RequestComparison


def line(
    request: str, *, status: int = 200, size: int = 3, mark: str = "-", port: int = 80, **sent: str
) -> str:
    """Return a log line of a request to localhost with the answer's type text/plain."""
    fields = [sent.get(name.replace("-", "_"), "-") for name in FIELDS]
    parts = [
        str(status),
        "10",
        f"localhost:{port}",
        request,
        str(port),
        str(size),
        "-",
        "text/plain",
        "-",
        mark,
    ]
    return "\t".join([*parts, *fields]) + "\n"


class Other(http.server.BaseHTTPRequestHandler):
    """The other server: it notes what it gets."""

    heads: list[tuple[str, str, dict[str, str]]]

    def do_GET(self) -> None:
        self.heads.append((self.command, self.path, dict(self.headers.items())))
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", f"http://{self.headers['Host']}/new")
            self.send_header("Content-Length", "0")
        else:
            self.send_response(200)
            self.send_header("Content-Length", "3")
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        if self.path != "/moved" and self.command == "GET":
            self.wfile.write(b"abc")

    do_HEAD = do_GET

    def log_message(self, *_words: object) -> None:
        """Write nothing."""


@pytest.fixture
def other() -> Iterator[http.server.HTTPServer]:
    Other.heads = []
    server = http.server.HTTPServer(("localhost", 0), Other)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    "text",
    [
        line("POST / HTTP/1.1"),
        line("GET http://o.example/ HTTP/1.1"),
        line("GET / HTTP/1.1", mark="1"),
        line("GET /\\x01 HTTP/1.1"),
        line("GET /\\xe9 HTTP/1.1"),
        line("-"),
        "200\t10\th\tGET / HTTP/1.1\n",
        "anything\n",
    ],
)
def test_requests_that_are_not_sent(text: str) -> None:
    """Others than GET and HEAD may change something; a marked one comes from the other server."""
    assert logged(text) is None


def test_the_request_is_sent_with_its_fields(other: http.server.HTTPServer) -> None:
    request = logged(
        line('GET /a?b=%20\\" HTTP/1.1', Cookie='x=\\"1\\"', Authorization="Basic YTpi", Range="bytes=0-1")
    )
    assert request is not None
    answer = other_answer(request, other.server_port)
    assert difference(request.answer, answer) is None
    method, path, head = Other.heads[0]
    assert (method, path) == ("GET", '/a?b=%20"')
    assert head == {
        "Host": f"localhost:{other.server_port}",
        "Authorization": "Basic YTpi",
        "Cookie": 'x="1"',
        "Range": "bytes=0-1",
        MARK: "1",
        "Connection": "close",
    }


@pytest.mark.parametrize(
    ("text", "difference_shown"),
    [
        (line("GET / HTTP/1.1"), ""),
        (line("HEAD / HTTP/1.1", size=0), ""),
        (line("GET / HTTP/1.1", status=403), "differs: 2.2: 403, 2.4: 200"),
        (line("GET / HTTP/1.1", size=4), "differs: 2.2: 4 bytes, 2.4: 3 bytes"),
        (line("GET /moved HTTP/1.1", status=302), "Location: (none), 2.4: Location: http://localhost"),
    ],
)
def test_what_is_shown(other: http.server.HTTPServer, text: str, difference_shown: str) -> None:
    comparison = RequestComparison("2.2", "2.4", other.server_port - 80, frozenset())
    first, _, rest = comparison.text(text, "LINE").partition("\n")
    assert first == "2.2 LINE"
    assert difference_shown in rest and bool(rest) is bool(difference_shown)


def test_ports_in_redirects_are_those_of_the_server(other: http.server.HTTPServer) -> None:
    text = line("GET /moved HTTP/1.1", status=302, port=8080).replace(
        "\t-\ttext", "\thttp://localhost:8080/new\ttext", 1
    )
    request = logged(text)
    assert request is not None
    assert difference(request.answer, other_answer(request, other.server_port)) is None


def test_a_long_body_is_read_in_part(other: http.server.HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound sizes count as equal."""
    monkeypatch.setattr("whimbrel.cli.compared_requests.MAX_BODY", 2)
    request = logged(line("GET / HTTP/1.1", size=1000))
    assert request is not None
    answer = other_answer(request, other.server_port)
    assert answer.size == 2
    assert difference(request.answer, answer) is None


def test_requests_of_the_comparison_are_not_shown() -> None:
    comparison = RequestComparison("2.2", "2.4", 1, frozenset({443}))
    assert comparison.text(line("GET / HTTP/1.1", mark="1"), "LINE") == ""
    assert comparison.text(line("POST / HTTP/1.1"), "LINE") == "2.2 LINE"
    assert comparison.text(line("GET / HTTP/1.1", port=443), "LINE") == "2.2 LINE"


def test_no_answer_is_shown(other: http.server.HTTPServer) -> None:
    """A closed port, and an answer that is no HTTP."""
    port = other.server_port
    other.shutdown()
    other.server_close()
    text = RequestComparison("2.2", "2.4", port - 80, frozenset()).text(line("GET / HTTP/1.1"), "LINE")
    assert text.startswith("2.2 LINE\n    2.4 gives no answer: ")
