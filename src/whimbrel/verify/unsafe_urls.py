"""URLs that mod_rewrite of 2.4.60 refuses: a question mark of the request enters the new path (R01)."""

from __future__ import annotations

from typing import Final

from whimbrel.verify.answer import Answer, DecidingLine
from whimbrel.verify.causes import Cause
from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.deciding_lines import MAPPING, deciding_lines
from whimbrel.verify.probe import Probe

REASON: Final = "since 2.4.60 mod_rewrite answers 403 where a question mark (%3f) enters the new path (R01)"
_LOGGED: Final = "Unsafe URL with %3f URL rewritten"


def unsafe_url_cause(
    lines: tuple[SideLines, SideLines], probe: Probe, answers: tuple[Answer, Answer]
) -> Cause | None:
    """Return the rules that rewrote *probe* last on each side if one of *answers* is such a refusal."""
    if not any(answer.status == 403 and any(_LOGGED in text for text in answer.log) for answer in answers):
        return None
    old, new = (_last_rule(side, probe) for side in lines)
    return Cause(old, new) if old or new else None


def _last_rule(lines: SideLines, probe: Probe) -> tuple[DecidingLine, ...]:
    rules = [line for line in deciding_lines(lines.side, probe) if line.role == MAPPING]
    return tuple(rules[-1:])
