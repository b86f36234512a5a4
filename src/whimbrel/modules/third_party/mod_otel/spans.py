"""Spans of requests: begun when the head was read, ended with the line of the access log."""

from __future__ import annotations

import asyncio
import io
import sys
import time
from typing import IO, Final, cast

from opentelemetry.context import Context
from opentelemetry.propagators.textmap import Getter, Setter, TextMapPropagator
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor
from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.product import VERSION
from whimbrel.config.model import LogSink
from whimbrel.engine.identity import server_name, server_port
from whimbrel.engine.request import Request, worker_object
from whimbrel.engine.runtime import Runtime
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.third_party.mod_otel import OtelServerConfig
from whimbrel.modules.third_party.mod_otel.b3 import B3Propagator
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, HookStatus

_KEY: Final = "otel"
_OUTBOUND: Final = "otel outbound"
_SECONDS: Final = 1.5
"""That the last export of a worker may take; what is left then is lost."""
_METHODS: Final = frozenset("CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT QUERY TRACE".split())
"""That OpenTelemetry knows; a client chooses neither names of spans nor values without a bound."""
_MAX_VALUE: Final = 2048
"""Characters of a value that a client chooses."""


class _SinkStream(io.TextIOBase):
    """Writes lines as the lines of a log are written."""

    def __init__(self, runtime: Runtime, sink: LogSink) -> None:
        self._runtime = runtime
        self._sink = sink

    def write(self, text: str) -> int:
        """Write a line."""
        self._runtime.write_log(self._sink, text.encode())
        return len(text)


class WorkerTracer:
    """The tracer of one worker process; OTLP has a thread of its own."""

    def __init__(self, conf: OtelServerConfig, runtime: Runtime) -> None:
        resource = Resource.create({"service.version": VERSION, **_texts(conf.resources)})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(_processor(conf, runtime))
        self.tracer = self._provider.get_tracer("whimbrel", VERSION)
        self.attributes = _texts(conf.attributes)

    async def close(self) -> None:
        """Export what is left; the exporter itself heeds no limit for a receiver that does not answer."""
        await asyncio.wait(
            [asyncio.create_task(asyncio.to_thread(self._provider.shutdown))], timeout=_SECONDS
        )


def _texts(words: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Return names and values of lines, as UTF-8 reads them."""
    return {_shown(name): _shown(value) for name, value in words}


def _processor(conf: OtelServerConfig, runtime: Runtime) -> SpanProcessor:
    """Return what takes the ended spans: lines at once, OTLP in batches."""
    if conf.exporter == "file":
        out = sys.stderr if conf.sink is None else cast("IO[str]", _SinkStream(runtime, conf.sink))
        return SimpleSpanProcessor(
            ConsoleSpanExporter(out=out, formatter=lambda span: f"{span.to_json(indent=None)}\n")
        )
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    queue, delay, size = conf.batch
    return BatchSpanProcessor(
        OTLPSpanExporter(endpoint=conf.endpoint or None),
        max_queue_size=queue,
        schedule_delay_millis=delay,
        max_export_batch_size=size,
    )


class _HeaderGetter(Getter["Headers"]):
    """Reads the fields that carry a context."""

    def get(self, carrier: Headers, key: str) -> list[str] | None:
        """Return the values of a field, None without it."""
        return carrier.get_all(key) or None

    def keys(self, carrier: Headers) -> list[str]:
        """Return the names of all fields."""
        return carrier.names()


class _HeaderSetter(Setter["Headers"]):
    """Writes them."""

    def set(self, carrier: Headers, key: str, value: str) -> None:
        """Replace a field."""
        carrier.set(key, value)


_GETTER: Final = _HeaderGetter()
_SETTER: Final = _HeaderSetter()


def _propagator(name: str) -> TextMapPropagator | None:
    if not name:
        return None
    return (
        TraceContextTextMapPropagator() if name == "trace-context" else B3Propagator(is_single=name == "b3")
    )


def _tracer(r: Request, conf: OtelServerConfig) -> WorkerTracer:
    return worker_object(r.engine, _KEY, lambda: WorkerTracer(conf, r.engine.runtime))


def _span(r: Request, key: str) -> Span | None:
    found: Span | None = (r.request_config or {}).get(key)
    return found


def _keep(r: Request, key: str, span: Span) -> None:
    if r.request_config is None:
        r.request_config = {}
    r.request_config[key] = span


def _name_of(r: Request) -> str:
    """Return the name of the span of a request."""
    return r.method if r.method in _METHODS else "HTTP"


def _method_of(r: Request) -> dict[str, str | int]:
    """Return the attributes about the method."""
    if r.method in _METHODS:
        return {"http.request.method": r.method}
    return {"http.request.method": "_OTHER", "http.request.method_original": _shown(r.method)}


def _request_attributes(r: Request) -> dict[str, str | int]:
    """Return the attributes of OpenTelemetry's conventions for servers of HTTP."""
    found: dict[str, str | int] = {
        **_method_of(r),
        "url.scheme": "https" if r.connection.tls is not None else "http",
        "url.path": _shown(r.untracked_target.partition("?")[0]),
        "server.address": _shown(server_name(r)),
        "server.port": server_port(r),
        "client.address": r.connection.useragent_ip or r.connection.client_ip,
        "network.peer.address": r.connection.client_ip,
        "network.protocol.version": f"{r.proto[0]}.{r.proto[1]}" if r.proto[0] == 1 else str(r.proto[0]),
    }
    if r.untracked_args is not None:
        found["url.query"] = _shown(r.untracked_args)
    agent = r.headers_in.get("User-Agent")
    if agent is not None:
        found["user_agent.original"] = _shown(agent)
    return found


def _shown(text: str) -> str:
    """Return a text of a client: as UTF-8 reads it, and bounded."""
    return to_bytes(text[:_MAX_VALUE]).decode("utf-8", "replace")


def _set_variables(r: Request, context: SpanContext) -> None:
    """Set the variables that the log, programs and back ends may use."""
    if context.trace_flags.sampled:
        r.env["OTEL_TRACEFLAGS"] = "1"
    r.env["OTEL_SPANID"] = f"{context.span_id:016x}"
    r.env["OTEL_TRACEID"] = f"{context.trace_id:032x}"
    r.env["OTEL_TRACESTATE"] = context.trace_state.to_header()


# hooks of servers with an exporter ----------------------------------------------------------------
def make_begin(scope: Scope) -> CompiledHook:
    """Begin the span of a request; where an internal redirect leads belongs to it."""
    conf = scope.server_config(OtelServerConfig)
    propagator = None if conf.ignores_inbound else _propagator(conf.propagator)

    def begin(r: Request) -> HookStatus:
        if r.prev is not None:
            earlier = _span(r.prev, _KEY)
            if earlier is not None:
                _keep(r, _KEY, earlier)
                _set_variables(r, earlier.get_span_context())
            return DECLINED
        worker = _tracer(r, conf)
        parent = None if propagator is None else propagator.extract(r.headers_in, Context(), _GETTER)
        span = worker.tracer.start_span(
            _name_of(r),
            parent or Context(),
            SpanKind.SERVER,
            {**_request_attributes(r), **worker.attributes},
            start_time=int(r.time * 1_000_000_000),
        )
        _keep(r, _KEY, span)
        _set_variables(r, span.get_span_context())
        return DECLINED

    return CompiledHook(begin, Reads.UNCACHEABLE)


def make_outbound(scope: Scope) -> CompiledHook:
    """Begin the span of a request that goes to a back end, and pass the context on."""
    conf = scope.server_config(OtelServerConfig)
    propagator = _propagator(conf.propagator)

    def pass_on(r: Request) -> HookStatus:
        span = _span(r, _KEY)
        if not r.proxy or span is None or r.main is not None:
            return DECLINED
        worker = _tracer(r, conf)
        context = set_span_in_context(span, Context())
        url = (r.filename or "").removeprefix("proxy:")
        outbound = worker.tracer.start_span(
            _name_of(r),
            context,
            SpanKind.CLIENT,
            {**_method_of(r), "url.full": _shown(url), **worker.attributes},
        )
        _keep(r, _OUTBOUND, outbound)
        if propagator is not None:
            r.headers_in = r.headers_in.copy()
            for name in propagator.fields:  # the rest of a client's context does not belong to this span
                r.headers_in.unset(name)
            propagator.inject(r.headers_in, set_span_in_context(outbound, context), _SETTER)
        return DECLINED

    return CompiledHook(pass_on, Reads.UNCACHEABLE)


def make_end(_scope: Scope) -> CompiledHook:
    """End the spans of a request."""

    def finish(r: Request) -> HookStatus:
        for key, least in ((_OUTBOUND, 400), (_KEY, 500)):
            span = _span(r, key)
            if span is not None:
                span.set_attribute("http.response.status_code", r.status)
                if key == _KEY:
                    span.set_attribute("http.response.body.size", r.bytes_sent)
                if r.status >= least:
                    span.set_status(Status(StatusCode.ERROR))
                span.end(time.time_ns())
        return DECLINED

    return CompiledHook(finish, Reads.UNCACHEABLE)
