"""Type maps: MapError alone."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from tests.fuzz import seeds as recorded
from whimbrel.modules.mappers.mod_negotiation.typemap import MapError, MapReader

COVERED = ("modules/mappers/mod_negotiation/typemap.py",)
TOKENS = (
    b"URI: ",
    b"Content-Type: text/html; qs=0.5",
    b"Content-Language: en",
    b"Body: x\n",
    b"\n\n",
    b"\n ",
    b"(",
    b")",
    b":",
    b"Content-Length: 5",
    b"Description: ",
)


def seeds() -> Sequence[bytes]:
    return [
        *recorded.few(recorded.files("core-mapping", "core-http", suffix=".var")),
        b"URI: a\n\nURI: a.en.html\nContent-Type: text/html; level=2; qs=0.8; charset=utf-8\n"
        b"Content-Language: en, de\nContent-Length: 5\n\n",
        b"Content-Type: text/plain\nBody:----x\nhello\n----x\n\n"
        b'Content-Encoding: gzip (a comment)\n more\nDescription: "d"\nURI: b\n',
        b"no colon\n\nBody: never ends\nx\n",
        b"Content-Length: x\nUnknown: y\nURI:\n",
    ]


def run(data: bytes) -> None:
    reader = MapReader(data, "/a.var")
    with contextlib.suppress(MapError):
        reader.read()
    assert all(variant.name or variant.body for variant in reader.variants)
