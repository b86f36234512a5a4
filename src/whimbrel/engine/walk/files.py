"""The file walk: <Files> sections that match the file's name (ap_file_walk).  Manual: sections.html."""

from __future__ import annotations

from whimbrel.engine.request import Request
from whimbrel.engine.walk.matching import name_matches, regex_matches


def file_walk(r: Request) -> None:
    """Merge the <Files> sections that match the file's name into the settings."""
    sections = r.plan.core.files
    if not sections or r.filename is None:
        return
    name = r.filename.rpartition("/")[2]
    layer = None
    for section in sections:
        if section.regex is not None:
            matches = regex_matches(r, section.regex, name)
        else:
            matches = name_matches(section, name)
        if matches:
            layer = r.engine.plans.merge_layers(layer, section.layer)
    if layer is not None:
        r.plan = r.plan.with_layer(layer)
