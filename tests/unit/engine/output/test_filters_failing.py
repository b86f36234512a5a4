"""Output filters that fail: the error page, its framing, and the files of the body."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.client import Reply, fetch
from tests.support.engine import build_engine

from whimbrel.engine.body import Aborted, FileSegment
from whimbrel.engine.engine import Engine
from whimbrel.engine.output.filter import FilterError, OutputFilter, Transform
from whimbrel.engine.output.filters import TransformedSource

if TYPE_CHECKING:
    from whimbrel.engine.output.filter import Begun

BIG = "x" * 300_000


class Failing(Transform):
    """A transform that fails at its first byte."""

    def feed(self, data: bytes) -> bytes:
        raise FilterError(500)

    def end(self, data: bytes) -> bytes:
        raise FilterError(500)


class Filter(OutputFilter):
    """A filter that does what *begun* does."""

    name = "TEST"

    def __init__(self, begun: Any) -> None:
        self.begun = begun

    def begin(self, r: Any) -> Begun:
        begun: Begun = self.begun()
        return begun


def refuse() -> Begun:
    """Fail as with an error bucket."""
    raise FilterError(500, is_bucket=True)


def engine(root: Path, begun: Any, conf: str = "") -> Engine:
    """An engine whose filter TEST is made by *begun*."""
    files = {"htdocs/a.txt": "abc", "htdocs/big.txt": BIG, "htdocs/e.html": "sorry"}
    load = "LoadModule case_filter_module modules/mod_case_filter.so\nSetOutputFilter CASEFILTER\n"
    built = build_engine(root, load + conf, files)
    built.configuration.modules.register_provider("output_filter", "casefilter", Filter(begun))
    return built


@pytest.mark.parametrize("path", ["/a.txt", "/big.txt"])
def test_a_failure_before_the_head_is_an_error_page(tmp_path: Path, path: str) -> None:
    before = len(os.listdir("/proc/self/fd"))
    reply = fetch(engine(tmp_path, Failing), path)
    assert (reply.status, reply.get("Content-Length")) == (500, str(len(reply.body)))
    assert reply.get("ETag") is None
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_error_bucket_has_no_length(tmp_path: Path) -> None:
    reply = fetch(engine(tmp_path, refuse), "/a.txt")
    assert (reply.status, reply.get("Content-Length"), reply.get("Transfer-Encoding")) == (500, None, None)


def test_an_error_document_of_text(tmp_path: Path) -> None:
    reply = fetch(engine(tmp_path, refuse, 'ErrorDocument 500 "text"'), "/a.txt")
    assert (reply.status, reply.body) == (500, "text")


def test_a_failing_error_document(tmp_path: Path) -> None:
    reply: Reply = fetch(engine(tmp_path, refuse, "ErrorDocument 500 /e.html"), "/a.txt")
    assert reply.status == 500
    assert "Additionally, a 500" in reply.body


def test_an_aborted_input_is_an_error_page_before_the_head(tmp_path: Path) -> None:
    def begin() -> Begun:
        raise Aborted("test")

    assert fetch(engine(tmp_path, begin), "/a.txt").status == 500


def test_a_failure_behind_the_head_aborts() -> None:
    async def run() -> None:
        handle = os.open("/dev/zero", os.O_RDONLY)
        source = TransformedSource(_Request(), [FileSegment(handle, 0, 10)], Failing())  # type: ignore[arg-type]
        with pytest.raises(Aborted):
            await source.read()
        await source.aclose()

    asyncio.run(run())


class _Request:
    chunked = False
