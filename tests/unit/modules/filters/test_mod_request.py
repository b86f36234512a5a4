"""Retained bodies: accepted and refused as by the installed httpd."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from tests.unit.modules.access import MODULES, Site

from whimbrel.base.errors import ConfigError
from whimbrel.http.http1.chunked import BodyError
from whimbrel.modules.filters.mod_request import RetainedBody, ready_body

LOADED = MODULES["2.4"] + " request"


class LogRecorder:
    """Records what is logged."""

    def __init__(self) -> None:
        self.codes: list[str] = []

    def log(self, _level: str, _text: str, *, code: str, module: str) -> None:
        self.codes.append(code)


def test_a_body_is_kept_while_it_is_read() -> None:
    body = RetainedBody(ready_body(b"x=1"), 10, cast(Any, LogRecorder()))
    assert not body.ended or body.buffered == 3
    assert (asyncio.run(body.read_all()), body.kept_body) == (b"x=1", b"x=1")


@pytest.mark.parametrize(("chunked", "code"), [(False, "AH01412"), (True, "AH01413")])
def test_too_much_is_refused(chunked: bool, code: str) -> None:
    told, source = LogRecorder(), ready_body(b"x" * 20)
    if chunked:
        source.length = None
    with pytest.raises(BodyError) as caught:
        asyncio.run(RetainedBody(source, 10, cast(Any, told)).read_all())
    assert (caught.value.status, told.codes) == (413, [code])


def test_a_page_does_not_take_too_much_either(tmp_path: Path) -> None:
    from whimbrel.engine.request import Connection
    from whimbrel.testing.client import TestClient

    site = Site(tmp_path, "<Location /f.html>\nKeptBodySize 10\n</Location>\n", "2.4", LOADED)
    for size, status in ((3, "200"), (30, "413")):
        data = (
            f"POST /f.html HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n{'x' * size}".encode()
        )
        assert (
            TestClient(site.engine, Connection("127.0.0.1", 5000, "127.0.0.1", 8080))
            .send(data)
            .decode()
            .split(" ")[1]
            == status
        )
    assert site.codes() == ["AH01412"]


@pytest.mark.parametrize("size", ["x", "5x", "-1"])
def test_sizes_that_are_none(tmp_path: Path, size: str) -> None:
    with pytest.raises(ConfigError, match="KeptBodySize must be a valid size in bytes, or zero."):
        Site(tmp_path, f"<Location />\nKeptBodySize {size}\n</Location>\n", "2.4", LOADED)
