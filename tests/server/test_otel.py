"""mod_otel in a running server: spans in a file and over OTLP, and the context that a back end gets."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import ServerProcess, within
from tests.support.origin import Origin

pytest.importorskip("opentelemetry.sdk.trace", reason="the packages of the extra otel are not installed")
pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the exporter otlp is not installed")
CONF = """\
LoadModule proxy_module m/mod_proxy.so
LoadModule proxy_http_module m/mod_proxy_http.so
LoadModule rewrite_module m/mod_rewrite.so
LoadModule otel_module m/mod_otel.so
StartServers 1
ServerLimit 1
OpenTelemetryBatch 500 100 100
OpenTelemetrySetResource service.name shop
OpenTelemetrySetAttribute deployment.environment.name test
OpenTelemetryPropagators {propagator}
OpenTelemetryIgnoreInbound {ignored}
LogFormat "%U %{{OTEL_TRACEID}}e %{{OTEL_SPANID}}e" otel
CustomLog logs/otel.log otel
RewriteEngine On
RewriteRule ^/moved$ /a.txt
ProxyPass /back/ http://127.0.0.1:{port}/
"""
FILE = "OpenTelemetryExporter file\nOpenTelemetryPath logs/spans\n"
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def start(server: ServerProcess, port: int, exporter: str, propagator: str, ignored: str = "off") -> None:
    """Start the server with these lines."""
    conf = CONF.format(port=port, propagator=propagator, ignored=ignored) + exporter
    (server.root / "conf/extra.conf").write_text(conf)
    (server.root / "htdocs/a.txt").write_text("hello")
    server.start()


def ask(server: ServerProcess, path: str, field: str) -> None:
    """Send a request with a field."""
    server.ask(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{field}\r\n\r\n".encode())


def spans_of(path: Path) -> list[dict[str, Any]]:
    """Return the spans of a file, which has one object on a line."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_spans_in_a_file(server: ServerProcess) -> None:
    with Origin() as origin:
        start(server, origin.port, FILE, "trace-context")
        server.get("/a.txt?x=1")
        server.get("/a.txt?x=1")
        server.get("/missing")
        ask(server, "/back/b", f"traceparent: 00-{TRACE}-{SPAN}-01")
        ask(server, "/back/b", f"traceparent: 00-{TRACE}-{SPAN}-01")
        server.get("/moved")
        file = server.root / "logs/spans"
        assert within(lambda: len(spans_of(file)) == 8)
    spans = spans_of(file)
    inbound = [span for span in spans if span["kind"] == "SpanKind.SERVER"]
    outbound = [span for span in spans if span["kind"] == "SpanKind.CLIENT"]
    first = inbound[0]["attributes"]
    assert (first["http.request.method"], first["url.path"], first["url.query"]) == ("GET", "/a.txt", "x=1")
    assert (first["http.response.status_code"], first["http.response.body.size"]) == (200, 5)
    assert first["deployment.environment.name"] == "test"
    assert inbound[0]["resource"]["attributes"]["service.name"] == "shop"
    statuses = [span["attributes"]["http.response.status_code"] for span in inbound]
    assert statuses == [200, 200, 404, 200, 200, 200]
    assert len({span["context"]["span_id"] for span in spans}) == 8
    assert len({span["context"]["trace_id"] for span in inbound}) == 5
    parents = [span for span in inbound if span["parent_id"] is not None]
    assert [span["parent_id"] for span in parents] == [f"0x{SPAN}"] * 2
    assert [span["parent_id"] for span in outbound] == [span["context"]["span_id"] for span in parents]
    sent = [request.values(b"traceparent") for request in origin.received]
    assert sent == [[f"00-{TRACE}-{span['context']['span_id'][2:]}-01".encode()] for span in outbound]
    logged = (server.root / "logs/otel.log").read_text().split("\n")[0].split()
    assert logged[1:] == [inbound[0]["context"][name][2:] for name in ("trace_id", "span_id")]


@pytest.mark.parametrize(("propagator", "field"), [("b3", b"b3"), ("b3-multiheader", b"x-b3-traceid")])
def test_the_context_of_a_client_is_ignored_unless_trusted(
    server: ServerProcess, propagator: str, field: bytes
) -> None:
    with Origin() as origin:
        start(server, origin.port, FILE, propagator, ignored="on")
        fields = [f"{name}: {TRACE}" for name in ("X-B3-TraceId", "X-B3-ParentSpanId", "X-B3-Flags")]
        ask(server, "/back/b", "\r\n".join([f"b3: {TRACE}-{SPAN}-1", *fields]))
        file = server.root / "logs/spans"
        assert within(lambda: len(spans_of(file)) == 2)
        (value,) = origin.received[0].values(field)
        names = {name for name, _value in origin.received[0].fields if b"b3" in name}
        assert names == {b"b3"} if field == b"b3" else {b"x-b3-traceid", b"x-b3-spanid", b"x-b3-sampled"}
    assert TRACE not in file.read_text()
    assert TRACE.encode() not in value
    assert spans_of(file)[0]["context"]["trace_id"][2:] == value.decode()[:32]


def test_the_state_of_a_client_goes_with_its_context(server: ServerProcess) -> None:
    with Origin() as origin:
        start(server, origin.port, FILE, "trace-context", ignored="on")
        ask(server, "/back/b", f"traceparent: 00-{TRACE}-{SPAN}-01\r\ntracestate: a=b")
        assert within(lambda: bool(origin.received))
        assert len(origin.received[0].values(b"traceparent")) == 1
        assert origin.received[0].values(b"tracestate") == []


def test_a_client_chooses_no_names_of_spans(server: ServerProcess) -> None:
    start(server, 1, FILE + 'OpenTelemetrySetAttribute k "é x"\n', "trace-context")
    method = "M" * 3000
    server.ask(f"{method} /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    file = server.root / "logs/spans"
    assert within(lambda: len(spans_of(file)) == 1)
    (span,) = spans_of(file)
    attributes = span["attributes"]
    assert (span["name"], attributes["http.request.method"], attributes["k"]) == ("HTTP", "_OTHER", "é x")
    assert attributes["http.request.method_original"] == method[:2048]


def test_a_receiver_that_does_not_answer_holds_up_no_stop(server: ServerProcess) -> None:
    with socket.create_server(("127.0.0.1", 0)) as receiver:
        port = receiver.getsockname()[1]
        lines = f"OpenTelemetryExporter otlp\nOpenTelemetryEndpoint 127.0.0.1:{port}\n"
        start(server, port, lines, "trace-context")
        for _ in range(3):
            server.get("/a.txt")
        server.stop()
    assert "Traceback" not in server.errors()


def test_spans_over_otlp_and_the_last_ones_at_the_stop(server: ServerProcess) -> None:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    with Origin() as receiver:
        lines = f"OpenTelemetryExporter otlp\nOpenTelemetryEndpoint 127.0.0.1:{receiver.port}\n"
        start(server, receiver.port, lines.replace("100 100", "60000 100"), "trace-context")
        server.get("/a.txt")
        server.stop()
        assert within(lambda: bool(receiver.received))
        (request,) = receiver.received
    message = ExportTraceServiceRequest.FromString(request.body)
    (span,) = message.resource_spans[0].scope_spans[0].spans
    assert request.line == b"POST /v1/traces HTTP/1.1"
    assert span.name == "GET"
    assert {one.key: one.value.string_value for one in span.attributes}["url.path"] == "/a.txt"


def test_a_receiver_that_is_gone_delays_no_request(server: ServerProcess) -> None:
    with Origin() as origin:
        port = origin.port
    lines = f"OpenTelemetryExporter otlp\nOpenTelemetryEndpoint 127.0.0.1:{port}\n"
    start(server, port, lines, "trace-context")
    for _ in range(20):
        assert server.get("/a.txt").startswith(b"HTTP/1.1 200")
    assert "Traceback" not in (server.root / "stderr").read_text()
