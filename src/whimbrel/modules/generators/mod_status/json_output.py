"""``?json``: the content of ``?auto`` as one JSON object.

Its keys are those of ``?auto``, with numbers as numbers. Two keys are added: `Workers`, one object for each
row of the page's table (keys as in `state`), and `Children`, one for each worker process.

This is an extension: httpd ignores the word. Whimbrel ignores it too unless it is the whole query, with or
without ``refresh``.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from whimbrel.modules.generators.mod_status.page import Names, auto_22, auto_24, facts_24
from whimbrel.modules.generators.mod_status.state import State

TYPE: Final = "application/json"
_NUMBER: Final = re.compile(r"-?(?:\d++(?:\.\d++)?|\.\d++)(?:e[+-]?\d++)?\Z")


def wanted(args: str | None) -> bool:
    """Return True if the query has the parameter ``json``."""
    return args is not None and any(part.partition("=")[0] == "json" for part in args.split("&"))


def document(names: Names, s: State, new: bool) -> str:
    """Return the response."""
    lines = [*facts_24(names, s), *auto_24(s)] if new else auto_22(s)
    out: dict[str, Any] = {key: _value(value) for key, value in lines}
    out["Scoreboard"] = s.board
    out["Workers"] = s.rows() if s.extended else []
    out["Children"] = [worker.process for worker in s.processes]
    return json.dumps(out, separators=(",", ":")) + "\n"


def _value(value: object) -> object:
    if isinstance(value, str) and _NUMBER.match(value):
        return float(value)
    return value
