"""Answers in the place of a program that makes the response, where no program may be started."""

from __future__ import annotations

from typing import Final

from whimbrel.engine.request import Request
from whimbrel.registry.phases import OK, HookStatus

OUTPUT: Final = "output of a program, longer than what compression leaves alone as too short for it"


def stand_in_answer(r: Request, content_type: str, text: str = OUTPUT) -> HookStatus:
    """Answer *r* in the place of a program: tools see what the configuration makes of its output."""
    r.no_local_copy = True
    for name in ("Content-Length", "Last-Modified", "Expires", "ETag"):
        r.headers_out.unset(name)
    r.content_type = content_type
    r.write(text + "\n")
    return OK
