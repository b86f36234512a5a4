"""Log formats and lines of replay: ValueError for a format alone; a line gives a request or None.

The first line is the format, the others are lines of the log.
"""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.replay.log_format import COMBINED, DEFAULT_FORMATS, LineFormat, best_format, split_host

COVERED = ("replay/log_format.py",)
TOKENS = (
    b"%h",
    b'"%r"',
    b"%>s",
    b"%{Host}i",
    b"%{X}o",
    b"%t",
    b'\\"',
    b" - ",
    b'"GET / HTTP/1.1"',
    b"[10/Oct/2000:13:55:36 -0700]",
    b"%m %U%q %H",
    b"\\x",
    b"\n",
)
LINES = (
    b'127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a?b HTTP/1.0" 200 2326',
    b'::1 - - [10/Oct/2000:13:55:36 -0700] "POST /\\"x\\xff HTTP/1.1" 404 - "http://r/" "Agent \\"1\\""',
    b'www.a.test:80 10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "-" 408 0 "-" "-"',
    b"GET /a ?b=c HTTP/1.1 200 10/Oct/2000",
)
MORE = (
    b"%m %U %q %H %>s %t",
    b'%a %{c}a %u "%r" %s %{User-Agent}i',
    b"%V:%p %{X-Forwarded-For}i %% %D %^FB %r",
)
FORMAT = 300  # bytes of the longest format: a regular expression comes of it


def seeds() -> Sequence[bytes]:
    formats = [*(text.encode() for text in DEFAULT_FORMATS), *MORE]
    return [form + b"\n" + b"\n".join(LINES) for form in formats]


def run(data: bytes) -> None:
    text, *lines = data.split(b"\n")
    formats = [LineFormat.compile(COMBINED)]
    for with_hours in (False, True):
        try:
            formats.append(
                LineFormat.compile(
                    text[:FORMAT].decode("latin-1"), with_fields=with_hours, with_hours=with_hours
                )
            )
        except ValueError:
            break
    for form in formats:
        assert all(form.position(name) is not None for name in form.names)
        for line in lines:
            request = form.parse(line)
            if request is not None:
                split_host(request.host)
                assert 0 <= request.port <= 65535 or not request.port
    best_format(formats, lines)
