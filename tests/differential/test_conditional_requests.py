"""Conditions, ranges and refusals: both servers send the same status, fields in the same order, and body.

A tenth of the requests is sent, all with WHIMBREL_DIFF_SECONDS set to 60 or more.
"""

from __future__ import annotations

import os
import re

from tests.differential.conditional_requests import CONF, PATHS, documents, requests
from tests.differential.raw_exchange import both, differences, exchange

EVERY = 1 if int(os.environ.get("WHIMBREL_DIFF_SECONDS", "0")) >= 60 else 10
_TAG = re.compile(r"ETag: (.*)\r")
_LENGTH = re.compile(r"Content-Length: \d+")
_EXPIRES = re.compile(r"Expires: \w+, .*?\r")
_SIZE = re.compile(r"(\A|\r\n)[0-9a-f]+\r\n")


def mask(reply: str) -> str:
    """Return *reply* without its time, and what zlib and the sizes of chunks decide."""
    head, _, body = _EXPIRES.sub("Expires: TIME\r", reply).partition("\r\n\r\n")
    if "Content-Encoding: gzip" in head:
        return _LENGTH.sub("Content-Length: N", head)
    if "Transfer-Encoding: chunked" in head:
        body = _SIZE.sub("", body)
    return f"{head}\r\n\r\n{body}"


def tag_of(port: int, path: str) -> str:
    """Return the ETag of *path*, a tag that it does not have if it has none."""
    request = f"GET /{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    found = _TAG.search(exchange(port, request.encode()).decode("latin-1"))
    return '"none"' if found is None else found[1]


def test_conditions() -> None:
    with both(CONF, documents()) as servers:
        tags = {path: tag_of(servers[0].port, path) for path in PATHS}
        sent = dict(list(requests(tags).items())[::EVERY])
        assert differences(servers, sent, mask) == {}
