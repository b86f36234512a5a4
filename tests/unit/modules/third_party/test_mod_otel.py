"""mod_otel: its lines, the address of a receiver, and the fields of B3 (openzipkin/b3-propagation)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError
from whimbrel.modules.third_party.mod_otel import BATCH, OtelServerConfig
from whimbrel.modules.third_party.mod_otel.endpoint import traces_url

LOAD = "LoadModule otel_module modules/mod_otel.so\n"
TRACE, SPAN = "80f198ee56343ba864fe8b2a57d3eff7", "e457b5a2e4d86bd1"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("localhost:4318", "http://localhost:4318/v1/traces"),
        ("[::1]:4318", "http://[::1]:4318/v1/traces"),
        ("http://collector:4318", "http://collector:4318/v1/traces"),
        ("https://collector.example/", "https://collector.example/v1/traces"),
        ("https://collector.example/otlp/traces", "https://collector.example/otlp/traces"),
        ("collector", None),
        ("ftp://collector:4318", None),
        ("http://a b:1", None),
        ("http://a:1/\r\nX: y", None),
    ],
)
def test_the_address_of_a_receiver(text: str, url: str | None) -> None:
    assert traces_url(text) == url


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("OpenTelemetryExporter zipkin", "Unknown exporter type - can be file or otlp"),
        (
            "OpenTelemetryPropagators jaeger",
            "Unknown propagator type - can be trace-context or b3 or b3-multiheader",
        ),
        ("OpenTelemetryEndpoint nowhere", "no host with port"),
        ("OpenTelemetryBatch 10 5000 11", "an export at most as many"),
        ("OpenTelemetryBatch 100000 5000 5", "1 to 65536 spans"),
        ("OpenTelemetryBatch 10 0 5", "the delay is positive"),
    ],
)
def test_lines_that_are_refused(tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build_engine(tmp_path, LOAD + line, {})


def test_lines_of_a_virtual_host_hold_for_the_server(tmp_path: Path) -> None:
    host = (
        "<VirtualHost *:80>\nOpenTelemetryExporter otlp\nOpenTelemetryEndpoint a:4318\n"
        "OpenTelemetrySetAttribute k v\nOpenTelemetrySetAttribute l w\nOpenTelemetryIgnoreInbound off\n"
        "</VirtualHost>\n"
    )
    engine = build_engine(tmp_path, LOAD + host, {})
    conf = engine.plans.root(engine.main).server_config(OtelServerConfig)
    assert (conf.exporter, conf.endpoint, conf.batch) == ("otlp", "http://a:4318/v1/traces", BATCH)
    assert conf.attributes == (("k", "v"), ("l", "w"))
    assert not conf.ignores_inbound


@pytest.mark.parametrize(
    ("fields", "sampled"),
    [
        ({"b3": f"{TRACE}-{SPAN}-1"}, True),
        ({"b3": f"{TRACE}-{SPAN}-d-05e3ac9a4f6e3b90"}, True),
        ({"b3": f"{TRACE}-{SPAN}-0"}, False),
        ({"X-B3-TraceId": TRACE, "X-B3-SpanId": SPAN, "X-B3-Sampled": "1"}, True),
        ({"X-B3-TraceId": TRACE.upper(), "X-B3-SpanId": SPAN, "X-B3-Flags": "1"}, True),
        ({"X-B3-TraceId": TRACE, "X-B3-SpanId": SPAN}, False),
        ({"b3": "0"}, None),
        ({"b3": f"{TRACE}-{SPAN}x-1"}, None),
        ({"X-B3-TraceId": "0" * 32, "X-B3-SpanId": SPAN}, None),
        ({"X-B3-TraceId": TRACE}, None),
    ],
)
def test_b3_is_read(fields: dict[str, str], sampled: bool | None) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="the packages of the extra otel are not installed")
    from opentelemetry.trace import get_current_span

    from whimbrel.modules.third_party.mod_otel.b3 import B3Propagator

    carrier = {name.lower(): [value] for name, value in fields.items()}
    lowered = {name: carrier[name.lower()][0] for name in fields}
    found = get_current_span(B3Propagator(is_single=True).extract(lowered)).get_span_context()
    assert found.is_valid is (sampled is not None)
    if sampled is not None:
        assert (f"{found.trace_id:032x}", f"{found.span_id:016x}") == (TRACE, SPAN)
        assert (found.is_remote, found.trace_flags.sampled) == (True, sampled)


def test_b3_is_written() -> None:
    pytest.importorskip("opentelemetry.sdk", reason="the packages of the extra otel are not installed")
    from whimbrel.modules.third_party.mod_otel.b3 import B3Propagator

    context = B3Propagator(is_single=True).extract({"b3": f"{TRACE}-{SPAN}-1"})
    single: dict[str, str] = {}
    several: dict[str, str] = {}
    B3Propagator(is_single=True).inject(single, context)
    B3Propagator(is_single=False).inject(several, context)
    assert single == {"b3": f"{TRACE}-{SPAN}-1"}
    assert several == {"X-B3-TraceId": TRACE, "X-B3-SpanId": SPAN, "X-B3-Sampled": "1"}
    assert {*single, *several} < B3Propagator(is_single=False).fields
