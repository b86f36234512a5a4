"""JSON schemas of the documents that the commands print: NAME-VERSION.json.

Public: names, read. The models are in whimbrel.api.schema_models; tests compare both.
Must not import: pydantic, any other package but base.
"""

from __future__ import annotations

import os

from whimbrel.base.file_reading import read_regular

_DIRECTORY = os.path.dirname(__file__)


def names() -> list[str]:
    """Return the names of all schemas, such as check-1."""
    return sorted(name.removesuffix(".json") for name in os.listdir(_DIRECTORY) if name.endswith(".json"))


def read(name: str) -> str:
    """Return the text of the newest version of a schema ("check"), or of a given one ("check-1").

    Raises KeyError for a name that no schema has.
    """
    found = [known for known in names() if name in (known, known.rpartition("-")[0])]
    if not found:
        raise KeyError(name)
    newest = max(found, key=lambda known: int(known.rpartition("-")[2]))
    return read_regular(os.fsencode(os.path.join(_DIRECTORY, f"{newest}.json"))).decode()
