"""Which attributes of a request are prepared, and which requests cannot be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.engine import build_engine
from tests.support.site import MTIME

from whimbrel.engine.connection import Connection
from whimbrel.engine.engine import Engine
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.pipeline.process import process
from whimbrel.engine.pipeline.read import read_request
from whimbrel.engine.prepared import prepared_request
from whimbrel.engine.prepared.prepared_request import PreparedRequest, can_prepare, depends_on_query
from whimbrel.engine.request import Request
from whimbrel.http.syntax.head import Head, read_complete
from whimbrel.http.syntax.line_reader import HeadLimits, ParserOptions
from whimbrel.registry.phases import DECLINED, OK

PLAIN = b"GET /a.txt?q=1 HTTP/1.1\r\nHost: localhost\r\nX-A: one\r\n\r\n"


def read(engine: Engine, data: bytes = PLAIN) -> Request:
    head = read_complete(data, HeadLimits(), ParserOptions(), {})
    assert isinstance(head, Head)
    r, _status = read_request(engine, Connection("127.0.0.1", 1, "127.0.0.1", 80), head)
    r.body_in = RequestBody(0)
    return r


def processed(engine: Engine) -> Request:
    r = read(engine)
    assert r.plan.post_read_request.run(r) in (OK, DECLINED)
    with pytest.raises(StopIteration):
        process(r).send(None)
    return r


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return build_engine(
        tmp_path,
        'SetEnv a b\nSetEnvIf X-A (.*) c=$1\nHeader set X-O "1"\nAddLanguage en .txt\nSetHandler x\n',
        {"htdocs/a.txt": "a"},
    )


def test_every_attribute_is_accounted_for() -> None:
    lists = [
        *prepared_request.SHARED,
        *prepared_request.COPIED,
        *prepared_request.COMPOSED,
        *prepared_request.UNCHANGED,
        *prepared_request.OWN,
    ]
    assert sorted(lists) == sorted(Request.__slots__)


def test_a_request_gets_what_the_phases_set(engine: Engine) -> None:
    first, second = processed(engine), read(engine, PLAIN.replace(b"q=1", b"other"))
    assert can_prepare(first) and not depends_on_query(first)
    PreparedRequest(first, engine.plans.root(engine.main)).apply(second)
    for name in prepared_request.SHARED:
        assert getattr(second, name) is getattr(first, name), name
    for name in set(prepared_request.COPIED) - {"merges"}:
        ours, theirs = getattr(second, name), getattr(first, name)
        assert ours is not theirs and (ours == theirs or list(ours) == list(theirs)), name
    assert second.env == {"a": "b", "c": "one"} and second.handler == "x"
    assert (second.untracked_args, second.untracked_target) == ("other", "/a.txt?other")
    assert second.deps.minimal() == first.deps.minimal()
    assert second.headers_in.accessed == first.headers_in.accessed  # type: ignore[attr-defined]


def test_copies_do_not_change_the_entry(engine: Engine) -> None:
    prepared = PreparedRequest(processed(engine), engine.plans.root(engine.main))
    one, two = read(engine), read(engine)
    prepared.apply(one)
    one.env["z"] = one.notes["z"] = "1"
    one.headers_out.set("Z", "1")
    one.content_languages.append("z")
    one.deps.stat("/")
    prepared.apply(two)
    assert "z" not in two.env and "z" not in two.notes and two.content_languages == ["en"]
    assert "Z" not in two.headers_out and (b"/", True) not in two.deps.stats


CHANGES: dict[str, Callable[[Any], object]] = {
    "uncacheable": lambda r: r.set_uncacheable(),
    "unique": lambda r: setattr(r.deps, "is_per_request", True),
    "fields changed": lambda r: r.headers_in.set("X-A", "two"),
    "fields listed": lambda r: r.headers_in.items(),
    "other fields": lambda r: setattr(r, "headers_in", r.headers_in.copy()),
    "clock": lambda r: r.deps.clock_fields.append("expires"),
    "body read": lambda r: setattr(r.body_in, "count", 1),
    "object in the notes": lambda r: r.notes.update(x=object()),
    "connection's notes": lambda r: r.connection.notes.update(x="1"),
    "other client": lambda r: setattr(r.connection, "useragent_ip", "192.0.2.1"),
    "method": lambda r: setattr(r, "method", "POST"),
    "host": lambda r: setattr(r, "hostname", "other"),
    "closes": lambda r: setattr(r, "close", True),
    "written": lambda r: r.write("x"),
    "redirected": lambda r: setattr(r, "next", r),
    "directory": lambda r: setattr(r, "finfo", r.deps.stat("/")),
    "young file": lambda r: setattr(r.deps, "newest", int(r.time * 1e9)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_cannot_be_prepared(engine: Engine, change: str) -> None:
    r = processed(engine)
    r.time = MTIME + 1e6
    assert can_prepare(r)
    CHANGES[change](r)
    assert not can_prepare(r)


@pytest.mark.parametrize(
    ("change", "depends"),
    [
        (lambda r: None, False),
        (lambda r: r.args, True),
        (lambda r: setattr(r, "args", "z=1"), True),
        (lambda r: setattr(r, "untracked_target", "/b.txt?q=1"), False),
        (lambda r: setattr(r, "untracked_target", "/b.txt"), True),
        (lambda r: setattr(r, "untracked_target", "/b.txt?a=1&q=1"), True),
    ],
)
def test_queries(engine: Engine, change: Callable[[Request], object], depends: bool) -> None:
    r = processed(engine)
    change(r)
    assert depends_on_query(r) is depends
