"""The if walk: <If>, <ElseIf> and <Else> sections (ap_if_walk).  Manual: sections.html."""

from __future__ import annotations

from whimbrel.config.core_config import CoreDirConfig
from whimbrel.config.model import Layer, Section, SectionKind
from whimbrel.engine.expressions import evaluate
from whimbrel.engine.request import Request
from whimbrel.expr.api import CompiledCondition
from whimbrel.expr.errors import EvalError
from whimbrel.registry.settings import UNSET


def if_walk(r: Request) -> None:
    """Merge the <If>, <ElseIf> and <Else> sections that apply into the settings."""
    sections = r.plan.core.ifs
    layer: Layer | None = None
    while sections:
        layer, sections = _chains(r, sections, layer)
    if layer is not None:
        r.plan = r.plan.with_layer(layer)


def _chains(r: Request, sections: list[Section], layer: Layer | None) -> tuple[Layer | None, list[Section]]:
    """Return *layer* with the first true section of each chain merged, and the chains nested in these
    sections, which follow all others.
    """
    taken, inside = False, []
    for section in sections:
        if section.kind is not SectionKind.IF and taken:
            continue
        taken = section.test is None or _true(r, section.test)
        if taken:
            layer = r.engine.plans.merge_layers(layer, section.layer)
            inner = section.layer.records.get(CoreDirConfig)
            if inner is not None and inner.ifs is not UNSET:
                inside += inner.ifs
    return layer, inside


def _true(r: Request, test: CompiledCondition) -> bool:
    """Return True if *test* is true; a condition that cannot be evaluated is false."""
    try:
        return evaluate(r, test)
    except EvalError as problem:
        r.log("error", f"Failed to evaluate <If > condition: {problem.reason}", code="AH00039")
        return False
