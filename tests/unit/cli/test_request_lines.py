"""Lines of requests in the terminal of `whimbrel serve`."""

from __future__ import annotations

import io

import pytest

from whimbrel.cli.request_lines import colored, copy, shown


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("200\t1500\tlocalhost:8080\tGET /a?b HTTP/1.1\n", "GET http://localhost:8080/a?b 200 1.5 ms"),
        ("404\t20\t-\tGET /a HTTP/1.0\n", "GET /a 404 0.0 ms"),
        ("200\t1000\th\tGET http://o.example/ HTTP/1.1\n", "GET http://o.example/ 200 1.0 ms"),
        ("200\t1000\th\tGET /old\n", "GET http://h/old 200 1.0 ms"),
        ("400\t10\t-\t-\n", "- 400 0.0 ms"),
        ("no line of ours\n", "no line of ours"),
        # apache2 2.4.71, `ErrorDocument 403 /missing.html`: the client gets 403, `%s %>s` has 403 404
        ("403 404\t1000\th\tGET /x HTTP/1.1\n", "GET http://h/x 403 1.0 ms"),
        ("410 410\t1000\th\tGET /g HTTP/1.1\n", "GET http://h/g 410 1.0 ms"),
        ("200 200 443\t1000\th\tGET /g HTTP/1.1\n", "GET https://h/g 200 1.0 ms"),
        ("404 200 80\t1000\th\tGET /g HTTP/1.1\n", "GET http://h/g 200 1.0 ms"),
    ],
)
def test_one_line(line: str, text: str) -> None:
    assert shown(line, is_colored=False, secure={443}).replace("  ", " ") == text


def test_the_scheme_is_that_of_the_port() -> None:
    line = "200\t1000\tlocalhost:8443\tGET / HTTP/1.1\n"
    assert shown(line, is_colored=False, secure={8443}) == "GET https://localhost:8443/ 200 1.0 ms"
    assert shown(line, is_colored=False, secure={443}) == "GET http://localhost:8443/ 200 1.0 ms"


def test_a_status_has_a_color_and_the_request_none() -> None:
    """A terminal obeys no byte of a client."""
    text = shown("500\t1000\th\tGET /\x1b[31m HTTP/1.1\n", is_colored=True)
    assert text.count("\x1b") == 2 and "\x1b[31m500\x1b[0m" in text


class Terminal(io.StringIO):
    """A text stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_colors_are_for_terminals() -> None:
    assert colored(Terminal(), {})
    assert not colored(Terminal(), {"NO_COLOR": "1"})
    assert not colored(io.StringIO(), {})


def test_a_long_line_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel.cli.request_lines.MAX_LINE", 8)
    output = io.StringIO()
    copy(io.BytesIO(b"x" * 20 + b"\n"), output, is_colored=False)
    assert output.getvalue().splitlines() == ["x" * 8, "x" * 8, "x" * 4]


class Closed(io.StringIO):
    """A pipe whose reader has ended."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_input_is_read_to_its_end_without_a_reader() -> None:
    """The server does not wait for a full pipe."""
    source = io.BytesIO(b"200\t1\th\tGET / HTTP/1.1\n" * 10000)
    copy(source, Closed(), is_colored=False)
    assert source.read() == b""
