"""The message of a start that fails, without what its place says already."""

from __future__ import annotations

import re
from typing import Final

from whimbrel.upgrade.check.start_faults import without_place

MAX_REASON: Final = 200
"""Characters of a reason."""
_NAMED_TWICE: Final = re.compile(r"(?<!\S)(\S{1,4096}+) into server: \1: ")
_UNCLOSED: Final = re.compile(r"^(?:\S+: )?(<\S+>) was not closed\.$")


def reason_of(text: str) -> str:
    """Return httpd's message *text* without the place; it names each path once."""
    message = without_place(text).partition("\n")[0]
    message = _UNCLOSED.sub(r"\1 is not closed", message)
    return _NAMED_TWICE.sub(r"\1: ", message)[:MAX_REASON]
