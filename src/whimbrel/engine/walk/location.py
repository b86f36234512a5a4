"""The location walk: <Location> sections that match the URL (ap_location_walk).  Manual: sections.html."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.config.model import Section
from whimbrel.engine.request import Request
from whimbrel.engine.walk.if_sections import if_walk
from whimbrel.engine.walk.matching import (
    location_matches,
)
from whimbrel.http.syntax.url import merge_slashes


def walk_location_and_if(r: Request) -> None:
    """Lay matching <Location> sections, then the <If> sections that are true, over the settings."""
    locations = r.plan.locations
    uri = r.uri
    if locations.sections and uri and r.location_walk_uri != uri:
        sections = locations.candidates(merge_slashes(uri) if "//" in uri else uri)
        if sections:
            _walk_locations(r, sections)
        else:
            r.location_walk_uri = uri
    if r.plan.core.ifs:
        if_walk(r)


def _walk_locations(r: Request, sections: Sequence[Section]) -> None:
    uri = merge_slashes(r.uri) if "//" in r.uri else r.uri
    layer = None
    for section in sections:
        if location_matches(r, section, uri):
            layer = r.engine.plans.merge_layers(layer, section.layer)
    if layer is not None:
        r.plan = r.plan.with_layer(layer)
