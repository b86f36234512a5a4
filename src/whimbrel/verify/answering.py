"""Asking an engine: a probe as bytes of a request, its response as an `Answer`."""

from __future__ import annotations

import hashlib
import os
import re
from asyncio import events
from stat import S_ISREG
from typing import Any, Final

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.numbers import lower
from whimbrel.base.portability import pread
from whimbrel.base.programs import noted_programs, without_programs
from whimbrel.config.handlers import is_implemented
from whimbrel.engine.body import FileSegment, JoinedSource, Part, release
from whimbrel.engine.connection import Connection
from whimbrel.engine.engine import Engine
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.output.headers import final_request
from whimbrel.engine.pipeline.error import error_document
from whimbrel.engine.request import Request
from whimbrel.engine.response import Response
from whimbrel.engine.tls import PLAIN_NOTE, PLAIN_REQUEST
from whimbrel.http.syntax.head import Head, read_head
from whimbrel.http.syntax.line_reader import InputState
from whimbrel.verify.answer import Answer
from whimbrel.verify.assumptions import USER_KEY
from whimbrel.verify.probe import Probe
from whimbrel.verify.probe_engine import AccessCheck, ProbeEngine
from whimbrel.verify.probe_tls import ProbeTls
from whimbrel.verify.state_pages import WORDED

_CLIENT_PORT: Final = 50000
_MAX_BODY: Final = 1 << 20
"""Bytes of a body that its digest is made of; of longer files its ends and its length."""
_SECURE: Final = ("proxy:https:", "proxy:wss:", "proxy:h2:")
_NO_TIME: Final = "Thu, 01 Jan 1970 00:00:00 GMT"
_ADDRESSES: Final = re.compile(r"(?<=[/\[])([rs]id)#[0-9a-f]{1,16}(?=[]/])")
_OWN_VARIABLES: Final = re.compile(r"^(UNIQUE_ID|REQUEST_TIME.*|.*_PORT)$")
"""Variables that differ between requests, not between configurations."""


def connection_of(engine: Engine, probe: Probe) -> Connection:
    """Return the connection of *probe*."""
    connection = Connection(probe.client, _CLIENT_PORT, probe.address, probe.port)
    if probe.tls is not None:
        hosts = engine.configuration.hosts
        named = hosts.find(probe.address, probe.port).by_name(probe.tls.server_name) if hosts else None
        default = hosts.find(probe.address, probe.port).server if hosts else engine.main
        connection.tls = ProbeTls(probe.tls, named or default, engine.configuration.dialect)
    return connection


def received(engine: ProbeEngine, probe: Probe) -> tuple[Connection, Head] | None:
    """Return the connection of *probe* and the head that the server reads; None for no request.

    A port of TLS reads of a client without TLS the first bytes alone, and answers them with 400.
    """
    connection = connection_of(engine, probe)
    data = probe.head()
    if probe.tls is None and engine.takes_tls(probe.address, probe.port):
        connection.notes[PLAIN_NOTE] = "1"
        data = PLAIN_REQUEST
    head = read_head(data, engine.limits, engine.rules, ending=InputState.EOF)
    return None if head is None else (connection, head)


BegunProbe = tuple[Connection, Head, RequestBody]
"""The arguments of `Engine.answer` for a probe."""


def begin_probe(engine: ProbeEngine, probe: Probe) -> BegunProbe | None:
    """Prepare *engine* for a probe; return what it answers, None for bytes that are no request."""
    runtime = engine.probe_runtime
    runtime.begin(probe.client, probe.client_host, is_traced=True)
    engine.checks.clear()
    engine.limit_files()
    engine.worker_state[USER_KEY] = probe.user
    engine.initial_environment = probe.environment
    begun = received(engine, probe)
    return None if begun is None else (*begun, RequestBody(0))


def answer_probe(engine: ProbeEngine, probe: Probe) -> tuple[Answer, tuple[AccessCheck, ...]]:
    """Return the answer to *probe*, and the access checks on the way."""
    begun = begin_probe(engine, probe)
    if begun is None:
        return Answer(400, dialect=engine.configuration.dialect.name), ()
    with without_programs(), noted_programs() as noted:
        result = _respond(engine, begun)
        if isinstance(result, Response):
            response = result
            runs_program = bool(noted)  # later ones are those of commands in a page (mod_include)
            (digest, length) = _digest_now(engine, result)
        else:
            response, runs_program, (digest, length) = engine.loop.run_until_complete(_finish(result, noted))
    answer = answer_of(engine, response, digest, length)
    begun[0].request = None  # without this cycle the request goes at once, not when a collection finds it
    if runs_program:
        answer = replace(answer, runs_program=True, sends_file=False)
    return answer, tuple(engine.checks)


def _respond(engine: ProbeEngine, begun: BegunProbe) -> Any:
    """Return the response, or what waits for it: few probes wait, and a turn of the loop takes as long as a
    sixth of a probe. Code that looks for the running loop finds it all the same.
    """
    if not engine.needs_loop:
        return engine.respond(*begun)
    events._set_running_loop(engine.loop)
    try:
        return engine.respond(*begun)
    finally:
        events._set_running_loop(None)


def _digest_now(engine: ProbeEngine, response: Response) -> tuple[str, int]:
    if any(part.__class__ is not bytes and not isinstance(part, FileSegment) for part in response.parts):
        return engine.loop.run_until_complete(_digest(response))
    return _digest_of(response.parts)


def release_body(response: Response) -> None:
    """Release the body of a response that nobody reads."""
    for part in response.parts:
        release(part)


async def _finish(waiting: Any, noted: list[str] | None) -> tuple[Response, bool, tuple[str, int]]:
    response: Response = await waiting
    return response, bool(noted), await _digest(response)


async def _digest(response: Response) -> tuple[str, int]:
    """Return the digest and the length of a body with sources in it."""
    source = JoinedSource(response.parts)
    hashed = hashlib.blake2b(digest_size=8)
    length = 0
    try:
        while (piece := await source.read()) is not None and length < _MAX_BODY:
            hashed.update(piece)
            length += len(piece)
    except ConnectionError:
        response.request.connection.aborted = True
    finally:
        await source.aclose()
    return hashed.hexdigest() if length else "", length


def _digest_of(parts: list[Part]) -> tuple[str, int]:
    """Return the digest and the length of *parts*, bytes and files; the files are closed."""
    hashed = hashlib.blake2b(digest_size=8)
    length = 0
    for part in parts:
        if isinstance(part, bytes):
            hashed.update(part)
            length += len(part)
        elif isinstance(part, FileSegment):
            try:
                _hash_file(hashed, part)
            finally:
                os.close(part.handle)
            length += part.length
    return hashed.hexdigest() if length else "", length


def _hash_file(hashed: Any, part: FileSegment) -> None:
    if part.length <= _MAX_BODY:
        hashed.update(part.read())
        return
    hashed.update(b"%d" % part.length)
    for at in (part.offset, part.offset + part.length - 65536):
        hashed.update(pread(part.handle, 65536, at))


def answer_of(engine: Engine, response: Response, digest: str, length: int, date: str = _NO_TIME) -> Answer:
    """Return the answer that *response* is, with the *digest* and the *length* of its body."""
    last = final_request(response.request)
    first = last
    while first.prev is not None:
        first = first.prev
    head = response.head(date.encode()).decode("latin-1").partition("\r\n\r\n")[0]
    line, *rest = head.split("\r\n")
    words = line.split(" ", 2)
    status = int(words[1]) if len(words) > 1 and words[1].isdigit() else last.status
    fields = tuple((name, value.strip()) for name, _, value in (one.partition(":") for one in rest) if name)
    place = last.server.place
    dialect = engine.configuration.dialect
    return Answer(
        status=status,
        fields=fields,
        body=digest,
        length=length,
        content_type=next((value for name, value in fields if name.lower() == "content-type"), ""),
        is_built_in=is_built_in(last, status),
        handler=last.handler or "",
        file=last.filename or "",
        user=first.user or last.user or "",
        back_end=_back_end(last),
        environment=tuple(
            sorted((name, value) for name, value in last.env.items() if not _OWN_VARIABLES.match(name))
        ),
        server=(place.path, place.line) if place is not None and last.server.is_virtual else ("", 0),
        log=tuple(without_addresses(one.message(new=dialect.messages_24)) for one in first.log_lines),
        dialect=dialect.name,
        sends_file=_sends_file(engine, last, status),
    )


def without_addresses(text: str) -> str:
    """Return a line of a log without the addresses in memory of server and request, which mod_rewrite logs:
    they tell nothing, and another run has others.
    """
    return _ADDRESSES.sub(r"\1", text)


def _sends_file(engine: Engine, r: Request, status: int) -> bool:
    """Return True if no module takes the handler of *r*, a file, which is sent as it is."""
    is_file = status in (200, 206) and r.finfo is not None and S_ISREG(r.finfo.st_mode)
    handler = lower(r.handler or "")
    return is_file and not r.proxy and (not handler or not is_implemented(engine.configuration, handler))


def _back_end(r: Request) -> str:
    """Return what the back end of *r* must fulfil, which no probe contacts; "" for one without TLS."""
    if not (r.filename or "").startswith(_SECURE):
        return ""
    provider: Any = r.plan.provider("ssl", "proxy")
    if provider is None:
        return "mod_ssl is not loaded"
    text: str = provider().demands(r)
    return text.replace(r.engine.configuration.root.rstrip("/") + "/", "")


def is_built_in(r: Request, status: int) -> bool:
    """Return True if the body is a page that the server words."""
    if status < 300:
        is_listing = r.handler == "httpd/unix-directory" and r.finfo is not None
        return is_listing or (r.handler in WORDED and is_implemented(r.engine.configuration, r.handler))
    if not r.is_committed:
        return False  # the response of an ErrorDocument
    document = error_document(r, status)
    return document is None or not document.startswith('"')  # the page about an ErrorDocument that failed
