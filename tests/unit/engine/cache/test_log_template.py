"""Log lines of heads that are not parsed."""

from __future__ import annotations

import pytest

from whimbrel.engine.cache.log_template import CLIENT, FilledTemplate, LogTemplate
from whimbrel.http.syntax.head_shape import LINE, HeadShapes


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"GET /a HTTP/1.1\r\nReferer: x\r\n\r\n", b'1.2.3.4 "GET /a HTTP/1.1" x 100% -\n'),
        (b"GET /a HTTP/1.1\r\n\r\n", b'1.2.3.4 "GET /a HTTP/1.1" - 100% -\n'),
        (
            b'GET /"\xe9 HTTP/1.1\r\nrefeRER:\t a"b %s \r\nAgent: \r\n\r\n',
            b'1.2.3.4 "GET /\\"\\xe9 HTTP/1.1" a\\"b %s 100% \n',
        ),
        (b"GET /a HTTP/1.1\r\nAgent: 1\r\nagent: 2\r\n\r\n", b'1.2.3.4 "GET /a HTTP/1.1" - 100% 1, 2\n'),
        (
            b"\x000 GET http /a?b localhost HTTP/2.0\r\nhost: localhost\r\n\r\n",
            b'1.2.3.4 "GET /a?b HTTP/2.0" - 100% -\n',
        ),
    ],
)
def test_the_log_line_of_a_head(head: bytes, expected: bytes) -> None:
    texts = (b"", b' "', b'" ', b" 100% ", b"\n")
    template = LogTemplate(
        tuple(lambda _view, text=text: text for text in texts), (CLIENT, LINE, b"referer", b"agent")
    )
    split = HeadShapes().split(head)
    assert split is not None
    for _ in range(2):
        assert FilledTemplate(template, None).line(split, b"1.2.3.4", b"now") == expected
