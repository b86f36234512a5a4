"""Recorded responses about contexts and arguments, and their rows of the catalogue."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whimbrel.catalogue import DirectiveEntry, catalogue
from whimbrel.directives.spec import Context

CASES = Path(__file__).parents[2] / "conformance" / "cases"
VERSIONS = ("2.2", "2.4")
SERVER = Context.RSRC_CONF | Context.OR_OPTIONS | Context.OR_FILEINFO | Context.OR_INDEXES
SECTION = Context.ACCESS_CONF | Context.OR_ALL
ALLOWED = {
    "in <VirtualHost>": SERVER,
    "in server config": SERVER,
    "in <Limit> (server)": SERVER,
    "in <Proxy>": SECTION | Context.PROXY_CONF,
    "in <RequireAll>": Context.OR_AUTHCFG,
}


def cases(name: str, version: str) -> Iterator[dict[str, Any]]:
    """Yield the recorded cases of one file that have a response of *version*, with its text as "text"."""
    with lzma.open(CASES / f"{name}.jsonl.xz", "rt", encoding="utf-8") as file:
        for case in map(json.loads, file):
            if version in case["answers"]:
                yield {**case, "text": case["answers"][version]["text"]}


def rows(name: str, case: dict[str, Any], version: str) -> list[DirectiveEntry]:
    """Return the rows of *name* in the modules that the case loads, or in any if none of those has it."""
    sources = {
        m.source
        for m in catalogue(version).modules
        if m.is_static or m.identifier.removesuffix("_module") in case["modules"][version]
    }
    found = catalogue(version).find(name)
    return [r for r in found if r.source in sources] or list(found)


def refused_here(row: DirectiveEntry, place: str) -> bool:
    """Return True if the bits forbid the row in *place*.

    A directive that is executed while reading is checked as if it were outside all sections.
    """
    return not row.where & (SERVER if row.where & Context.EXEC_ON_READ else ALLOWED.get(place, SECTION))
