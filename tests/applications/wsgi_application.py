"""WSGI application for uwsgi: variables, the digest of an upload, fields, and endless and failing answers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

SHOWN = ("REQUEST_METHOD", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING", "HTTP_X_BIRD", "REMOTE_USER")
Start = Callable[[str, list[tuple[str, str]]], object]


def endless() -> Iterator[bytes]:
    """Yield pieces for ever."""
    while True:
        yield b"x" * 10_000


def broken() -> Iterator[bytes]:
    """Fail within the body."""
    yield b"begin"
    raise ValueError("broken")


def application(environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
    """Answer by path."""
    name = environ["PATH_INFO"].rpartition("/")[2]
    fields = [("Content-Type", "text/plain"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]
    if name == "upload":
        digest, size = hashlib.sha256(), 0
        while piece := environ["wsgi.input"].read(10_000):
            digest.update(piece)
            size += len(piece)
        body: Iterable[bytes] = [f"{size} {digest.hexdigest()}".encode()]
    elif name == "endless":
        body = endless()
    elif name == "broken":
        body = broken()
    elif name == "long":
        body = (b"%07d\n" % number * 1000 for number in range(500))
    else:
        body = ["|".join(environ.get(key, "-") for key in SHOWN).encode()]
    start_response({"gone": "410 Gone", "unchanged": "304 Not Modified"}.get(name, "200 OK"), fields)
    return [] if name == "unchanged" else body
