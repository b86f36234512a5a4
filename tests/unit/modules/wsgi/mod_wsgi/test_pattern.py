"""Patterns of variables: filled with the values of a head, they are the variables of the general path."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from tests.support.engine import build_engine
from tests.support.samples import amount

from whimbrel.engine.connection import Connection
from whimbrel.engine.deps.key_spec import KeySpecs
from whimbrel.engine.engine import Engine
from whimbrel.engine.env import WatchedEnv
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.pipeline.process import process
from whimbrel.engine.pipeline.read import read_request
from whimbrel.engine.request import Request
from whimbrel.http.syntax.head import Head, read_head
from whimbrel.http.syntax.head_shape import SplitHead, line_of
from whimbrel.http.syntax.line_reader import HeadLimits, ParserOptions
from whimbrel.modules.wsgi.mod_wsgi.pattern import VariablePattern, variable_pattern
from whimbrel.modules.wsgi.mod_wsgi.records import variable_text
from whimbrel.modules.wsgi.mod_wsgi.settings import WsgiDirConfig
from whimbrel.modules.wsgi.mod_wsgi.variables import VariableBuilder

NAMES = (
    "Cookie cookie X-A X-B X_A x-a User-Agent Referer Authorization Proxy Content-Type Accept X-C Range "
    "If-None-Match Connection"
).split()
VALUES = (
    *("b", "a=b", "%b %s %%", "", "  b  ", "\xe9\xff", 'q"uo\\te', "a\tb", "x" * 200, "127.0.0.1", "4711"),
    "REMOTE_PORT",
)
CONF = """
LoadModule wsgi_module m/mod_wsgi.so
SetEnvIf X-A "^a" SEEN=1
SetEnvIf X-B "(.*)" COPY=$1
SetEnvIf Referer b HTTP_X_C=other
SetEnv http_cookie mine
SetEnv PERCENT %b
SetHandler none
"""
Sent = tuple[Request, bytes, SplitHead]


@pytest.fixture(params=["2.4", "2.2"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    """Return an engine of each version."""
    return build_engine(tmp_path, CONF, {"htdocs/a.txt": "a"}, request.param)


def head_of(names: list[str], dice: random.Random) -> bytes:
    """Return a head with *names* and random values."""
    lines = [f"{name}: {dice.choice(VALUES)}\r\n" for name in names]
    query = dice.choice(("", "", "?", "?a=%b"))
    return f"GET /a.txt{query} HTTP/1.1\r\nHost: localhost\r\n{''.join(lines)}\r\n".encode("latin-1")


def sent(engine: Engine, data: bytes, address: str, port: int, *, passes: bool) -> Sent | None:
    """Return the request with the head *data* and its variables on the general path; None for one that is
    refused.
    """
    head = read_head(data, HeadLimits(), ParserOptions())
    split = engine.shapes.split(data)
    if not isinstance(head, Head) or head.error is not None or split is None:
        return None
    r, _status = read_request(engine, Connection(address, port, "127.0.0.1", 80), head)
    r.body_in = RequestBody(0)
    r.plan.post_read_request.run(r)
    asyncio.run(process(r))
    r.handler = "wsgi-script"
    asyncio.run(VariableBuilder(r.dir_config(WsgiDirConfig)).build(r, pass_authorization=passes))
    return r, variable_text(r.env.items()), split


@pytest.mark.parametrize("seed", range(amount(2, 4)))
def test_a_filled_pattern_is_the_variables_of_each_head(engine: Engine, seed: int) -> None:
    dice = random.Random(seed)
    specs = KeySpecs(lambda: None)
    filled = 0
    for _ in range(60):
        names = dice.choices(NAMES, k=dice.randrange(5))
        passes = dice.random() < 0.3
        first = sent(engine, head_of(names, dice), "127.0.0.1", 1, passes=passes)
        if first is None:
            continue
        r, variables, own = first
        pattern = variable_pattern(r, variables)
        if pattern is None:
            continue
        assert pattern.shape == own[2].number
        assert pattern.fill(pattern.text, own[1], b"127.0.0.1", b"1") == variables
        deps = r.deps
        spec = specs.covering(r.headers_in, deps.address_lists, None, by_client=deps.on_client, by_query=True)
        assert spec is not None
        key = spec.build_key(own, line_of(own[1]), "127.0.0.1")
        for _ in range(12):
            other = sent(engine, head_of(names, dice), "192.0.2.9", 4711, passes=passes)
            if other is None:
                continue
            _r, expected, split = other
            if split[2] is own[2] and key and key == spec.build_key(split, line_of(split[1]), "192.0.2.9"):
                filled += 1
                assert pattern.fill(pattern.text, split[1], b"192.0.2.9", b"4711") == expected
    assert filled > 20


def pattern_for(engine: Engine, *fields: str) -> tuple[VariablePattern | None, Request]:
    """Return the pattern for a head with *fields*, and the request."""
    data = "\r\n".join(["GET /a.txt HTTP/1.1", "Host: localhost", *fields, "", ""]).encode()
    found = sent(engine, data, "127.0.0.1", 1, passes=False)
    assert found is not None
    return variable_pattern(found[0], found[1]), found[0]


def test_what_is_not_the_value_of_one_variable_is_a_relevant_field(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, CONF, {"htdocs/a.txt": "a"})
    pattern, r = pattern_for(engine, "Cookie: a", "X-C: 1", "X-C: 2", "X-D: 3", "X-A: 4", "X-B: 5")
    assert pattern is not None
    assert pattern.variables == {"REMOTE_ADDR", "REMOTE_PORT", "HTTP_X_D", "HTTP_X_A"}
    # HTTP_COOKIE is spelled http_cookie, X-C is there twice, SetEnvIf has read X-B
    assert {"cookie", "x-c", "x-b"} <= set(r.headers_in.accessed)  # type: ignore[attr-defined]
    assert "x-d" not in r.headers_in.accessed  # type: ignore[attr-defined]


def test_every_read_of_a_value_is_noted() -> None:
    values = frozenset(("HTTP_A",))
    env = {"HTTP_A": "1", "B": "2"}

    def read(how: str) -> bool:
        table = WatchedEnv(env, values)
        namespace = {"table": table}
        eval(how, namespace)
        return table.has_read

    for how in ("table.get('B')", "table['B']", "'B' in table", "table.get('C', '')", "len(table)"):
        assert not read(how), how
    for how in (
        "table.get('HTTP_A')",
        "table['HTTP_A']",
        "'HTTP_A' in table",
        "table.pop('HTTP_A')",
        "list(table)",
        "{**table}",
        "dict(table)",
        "table.items()",
        "table.keys()",
        "table.values()",
        "table.copy()",
        "table | {}",
    ):
        assert read(how), how
