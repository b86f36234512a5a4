"""Refused contexts, compared with recorded responses."""

from __future__ import annotations

import re

import pytest
from tests.unit.catalogue.recorded_cases import VERSIONS, cases, refused_here, rows

from whimbrel.catalogue.context_rules import DirectiveContext, forbidden_places, message, violated
from whimbrel.directives.spec import Context

OCCUR = re.compile(r"^.* cannot occur within .*$", re.MULTILINE)


def spot(place: str, version: str) -> DirectiveContext:
    """Return the context that the title of a recorded case names."""
    sections = tuple("<" + name for name in re.findall(r"<(\w+)>", place))
    limited = any(s.startswith("<Limit") for s in sections) or (
        version == "2.4" and "<RequireAll" in sections
    )
    around = [s for s in sections if s not in ("<IfModule", "<VirtualHost", "<Limit", "<LimitExcept")]
    return DirectiveContext(
        sections, in_limit=limited, is_per_directory=bool(around), in_virtual_host="<VirtualHost" in sections
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_places(version: str) -> None:
    """Every recorded "cannot occur within" follows from the row, and so does its absence unless another error
    precedes it.
    """
    refused = 0
    for case in (*cases("config-ctx", version), *cases("config-ctx2", version)):
        match = re.match(r"(<?\w+)>? (in .*)$", case["title"])
        found = rows(match[1], case, version) if match else []
        if (
            not match
            or not found
            or (version == "2.4" and "(server)" in match[2])
            or found[0].where & Context.EXEC_ON_READ
        ):
            continue
        if any(refused_here(row, match[2]) for row in found):
            continue
        told = OCCUR.search(case["text"])
        context = violated(forbidden_places(found[0]), spot(match[2], version), version)
        assert message(found[0].name, context) == (told[0] if told else ""), case["title"]
        refused += told is not None
    assert refused > 90
