"""The if walk: <If>, <ElseIf> and <Else> sections (ap_if_walk).  Manual: sections.html."""

from __future__ import annotations

from whimbrel.config.core_config import CoreDirConfig
from whimbrel.config.model import Layer, Section, SectionKind
from whimbrel.engine.expressions import evaluate
from whimbrel.engine.request import Request
from whimbrel.engine.walk.merges import begin_if_level, end_if_level, merges_of
from whimbrel.expr.api import CompiledCondition
from whimbrel.expr.errors import EvalError
from whimbrel.registry.settings import UNSET


def if_walk(r: Request) -> None:
    """Merge the <If>, <ElseIf> and <Else> sections that apply into the settings, then nested ones."""
    sections = r.plan.core.ifs
    merges = merges_of(r)
    while sections:
        earlier = begin_if_level(r, merges)
        layers = _taken(r, sections)
        layer: Layer | None = None
        for each in layers:
            layer = r.engine.plans.merge_layers(layer, each)
        if layer is not None:
            r.plan = r.plan.with_layer(layer)
        if end_if_level(r, merges, earlier, layers):
            return
        sections = _nested(layers)


def _taken(r: Request, sections: list[Section]) -> tuple[Layer, ...]:
    """Return the layers of the first true section of each chain."""
    taken = False
    layers = []
    for section in sections:
        if section.kind is not SectionKind.IF and taken:
            continue
        taken = section.test is None or _true(r, section.test)
        if taken:
            layers.append(section.layer)
    return tuple(layers)


def _nested(layers: tuple[Layer, ...]) -> list[Section]:
    """Return the chains nested in sections."""
    inside: list[Section] = []
    for layer in layers:
        inner = layer.records.get(CoreDirConfig)
        if inner is not None and inner.ifs is not UNSET:
            inside += inner.ifs
    return inside


def _true(r: Request, test: CompiledCondition) -> bool:
    """Return True if *test* is true; a condition that cannot be evaluated is false."""
    try:
        return evaluate(r, test)
    except EvalError as problem:
        r.log("error", f"Failed to evaluate <If > condition: {problem.reason}", code="AH00039")
        return False
