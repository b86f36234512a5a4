"""mod_otel: a span of OpenTelemetry for each request, and one for its way to a back end.

Directives and variables are those of the module of opentelemetry-cpp-contrib. One exporter serves the whole
server, wherever its lines stand. Attributes have the names of OpenTelemetry's stable conventions for HTTP.
Differences: OTLP goes over HTTP (port 4318), and the variables of OpenTelemetry's environment
(OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER ...) hold for what no line sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import atoi
from whimbrel.config.model import LogSink, confs
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.core.log import log_sink
from whimbrel.modules.support.setters import of_main, own, set_choice, set_flag
from whimbrel.modules.third_party.mod_otel.endpoint import traces_url
from whimbrel.registry.module import CompiledHook, Hook, HookMaker, Module, Order, Provider, Scope, lazy_maker
from whimbrel.registry.phases import FIXUPS, LOG_TRANSACTION, POST_READ_REQUEST
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import RequestEngine

_SPANS: Final = "whimbrel.modules.third_party.mod_otel.spans"
EXPORTERS: Final = ("file", "otlp")
PROPAGATORS: Final = ("trace-context", "b3", "b3-multiheader")
BATCH: Final = (2048, 5000, 512)
"""Spans in the queue, milliseconds between exports and spans of one export, as OpenTelemetry has them."""
MAX_QUEUE: Final = 65_536


@dataclass(slots=True)
class OtelServerConfig:
    """Settings of the main server: there is one exporter.

    Attributes:
        exporter: "" for none: then no span is begun.
        sink: the file or program of the exporter file, None for the standard error output.
        batch: spans in the queue, milliseconds between exports, spans of one export.
        propagator: the fields that carry the context, "" for none.
    """

    exporter: str = setting("")
    sink: LogSink | None = setting(None)
    endpoint: str = setting("")
    batch: tuple[int, int, int] = setting(BATCH)
    propagator: str = setting("")
    ignores_inbound: bool = setting(True)
    attributes: tuple[tuple[str, str], ...] = setting(())
    resources: tuple[tuple[str, str], ...] = setting(())


# setters ------------------------------------------------------------------------------------------
def _main(cmd: Command) -> OtelServerConfig:
    return cmd.main_server(OtelServerConfig)


def set_path(cmd: Command, _conf: OtelServerConfig, words: list[str]) -> None:
    """Set the file, or program, of the exporter file; the master opens it, as it does for logs."""
    target = words[0] if words[0].startswith("|") else cmd.server_path(words[0])
    _main(cmd).sink = log_sink("", target, shell_default=cmd.dialect.pipes_by_shell)


def set_endpoint(cmd: Command, _conf: OtelServerConfig, words: list[str]) -> None:
    """Set the receiver of the exporter otlp."""
    url = traces_url(words[0])
    if url is None:
        raise ConfigError(f"OpenTelemetryEndpoint: {words[0]} is no host with port and no URL of HTTP")
    if ":4317/" in url:
        cmd.warn(
            "port 4317 is that of OTLP over gRPC; spans are sent over HTTP, whose port is 4318", level="warn"
        )
    _main(cmd).endpoint = url


def set_batch(cmd: Command, _conf: OtelServerConfig, words: list[str]) -> None:
    """Set the bounds of the queue."""
    queue, delay, size = map(atoi, words)
    if not (0 < size <= queue <= MAX_QUEUE and delay > 0):
        raise ConfigError(
            f"OpenTelemetryBatch: the queue has 1 to {MAX_QUEUE} spans, an export at most as many, "
            "and the delay is positive"
        )
    _main(cmd).batch = (queue, delay, size)


def _add_to(field: str) -> Setter:
    """Return a setter that adds a name with a value."""

    def add(cmd: Command, _conf: OtelServerConfig, words: list[str]) -> None:
        conf = _main(cmd)
        setattr(conf, field, (*own(conf, field, tuple), (words[0], words[1])))

    return add


def sinks(configuration: Configuration) -> list[LogSink]:
    """Return the file of spans, to be opened at the start."""
    found = (conf.sink for conf in confs(configuration.servers(), OtelServerConfig))
    return list(dict.fromkeys(sink for sink in found if sink is not None))


def libraries(configuration: Configuration) -> list[str]:
    """Return what workers import, which they could not read as another user."""
    exporters = {conf.exporter for conf in confs(configuration.servers(), OtelServerConfig)}
    if "otlp" in exporters:
        return [_SPANS, "opentelemetry.exporter.otlp.proto.http.trace_exporter", "requests"]
    return [_SPANS] if "file" in exporters else []


async def end(engine: RequestEngine) -> None:
    """Export the last spans of a worker."""
    tracer = engine.worker_state.pop("otel", None)
    if tracer is not None:
        await tracer.close()


def _where_exported(name: str) -> HookMaker:
    """Return the maker *name* of spans.py, which makes no hook and imports no library without an exporter."""
    make_hook = lazy_maker(_SPANS, name)

    def make(scope: Scope) -> CompiledHook | None:
        return make_hook(scope) if scope.server_config(OtelServerConfig).exporter else None

    return make


MODULE: Final = Module(
    name="otel_module",
    source="mod_otel.cpp",
    server_config=OtelServerConfig,
    server_setters={
        "OpenTelemetryExporter": of_main(
            OtelServerConfig, set_choice("exporter", EXPORTERS, "Unknown exporter type - can be file or otlp")
        ),
        "OpenTelemetryPath": set_path,
        "OpenTelemetryEndpoint": set_endpoint,
        "OpenTelemetryBatch": set_batch,
        "OpenTelemetryPropagators": of_main(
            OtelServerConfig,
            set_choice(
                "propagator",
                PROPAGATORS,
                "Unknown propagator type - can be trace-context or b3 or b3-multiheader",
            ),
        ),
        "OpenTelemetryIgnoreInbound": of_main(OtelServerConfig, set_flag("ignores_inbound")),
        "OpenTelemetrySetAttribute": _add_to("attributes"),
        "OpenTelemetrySetResource": _add_to("resources"),
    },
    hooks=(
        Hook(POST_READ_REQUEST, _where_exported("make_begin"), Order.REALLY_FIRST),
        Hook(FIXUPS, _where_exported("make_outbound"), Order.REALLY_LAST),
        Hook(LOG_TRANSACTION, _where_exported("make_end"), Order.LAST),
    ),
    providers=(Provider("log", "otel_sinks", sinks), Provider("libraries", "otel", libraries)),
    worker_ends=(end,),
)
