"""The B3 fields of Zipkin, which carry the context of a span: one field ``b3``, or several ``X-B3-``.

Source: github.com/openzipkin/b3-propagation.
"""

from __future__ import annotations

import re
from typing import Any, Final

from opentelemetry.context import Context
from opentelemetry.propagators.textmap import (
    CarrierT,
    Getter,
    Setter,
    TextMapPropagator,
    default_getter,
    default_setter,
)
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    TraceFlags,
    get_current_span,
    set_span_in_context,
)

from whimbrel.base.numbers import strip

_SINGLE: Final = re.compile(r"([0-9a-f]{32}|[0-9a-f]{16})-([0-9a-f]{16})(?:-([01d]))?(?:-[0-9a-f]{16})?")
_TRACE: Final = re.compile(r"[0-9a-f]{32}|[0-9a-f]{16}")
_NAMES: Final = ("TraceId", "SpanId", "Sampled", "ParentSpanId", "Flags")
_SPAN: Final = re.compile(r"[0-9a-f]{16}")


class B3Propagator(TextMapPropagator):
    """Reads both forms, and writes the one that was chosen."""

    def __init__(self, *, is_single: bool) -> None:
        self._is_single = is_single

    @property
    def fields(self) -> set[str]:
        """The names of all fields that carry a context, in either form."""
        return {"b3", *(f"X-B3-{name}" for name in _NAMES)}

    def extract(
        self, carrier: CarrierT, context: Context | None = None, getter: Getter[Any] = default_getter
    ) -> Context:
        """Return *context* with the span that the fields name; as it is if they name none."""
        context = Context() if context is None else context
        trace, span, sampled = self._read(carrier, getter)
        if not _TRACE.fullmatch(trace) or not _SPAN.fullmatch(span):
            return context
        found = SpanContext(
            int.from_bytes(bytes.fromhex(trace)),
            int.from_bytes(bytes.fromhex(span)),
            is_remote=True,
            trace_flags=TraceFlags(
                TraceFlags.SAMPLED if sampled in ("1", "d", "true") else TraceFlags.DEFAULT
            ),
        )
        return set_span_in_context(NonRecordingSpan(found), context) if found.is_valid else context

    def _read(self, carrier: CarrierT, getter: Getter[Any]) -> tuple[str, str, str]:
        """Return the texts of trace, span and decision, "" for those that are missing."""

        def first(name: str) -> str:
            return strip((getter.get(carrier, name) or [""])[0]).lower()

        single = _SINGLE.fullmatch(first("b3"))
        if single is not None:
            return single[1], single[2], single[3] or ""
        sampled = "d" if first("X-B3-Flags") == "1" else first("X-B3-Sampled")
        return first("X-B3-TraceId"), first("X-B3-SpanId"), sampled

    def inject(
        self, carrier: CarrierT, context: Context | None = None, setter: Setter[Any] = default_setter
    ) -> None:
        """Set the fields for the span of *context*."""
        span = get_current_span(context).get_span_context()
        if not span.is_valid:
            return
        sampled = "1" if span.trace_flags.sampled else "0"
        if self._is_single:
            setter.set(carrier, "b3", f"{span.trace_id:032x}-{span.span_id:016x}-{sampled}")
            return
        setter.set(carrier, "X-B3-TraceId", f"{span.trace_id:032x}")
        setter.set(carrier, "X-B3-SpanId", f"{span.span_id:016x}")
        setter.set(carrier, "X-B3-Sampled", sampled)
