"""Lines that compare the name of a client, which an explanation does not look up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.explain.step import ExplanationStep, RequestExplanation
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.verify.probe import Probe

_ADDRESS: Final = re.compile(r"[0-9a-fA-F.:]*[.:/][0-9a-fA-F.:/]*|\d+")

_LOOPBACK: Final = ("127.0.0.1", "::1")
_LOCAL_NAME: Final = "localhost"
"""The name of these addresses in the hosts file of a server (RFC 6761, section 6.3)."""


def with_local_name(probe: Probe, explain: Callable[[Probe], RequestExplanation]) -> Probe:
    """Return *probe* with the name of a loopback client, if its explanation depends on one."""
    if probe.client not in _LOOPBACK or not any(unknown_names(probe, explain(probe))):
        return probe
    return replace(probe, client_host=_LOCAL_NAME)


def unknown_names(probe: Probe, explanation: RequestExplanation) -> Iterator[UnknownItem]:
    """Yield an item for each line about a name that could have changed the answer to a client without one."""
    if probe.client_host:
        return
    for step in explanation.all():
        if step.kind != "access" or not step.lines or step.result == "not asked":
            continue
        would_grant = _would_grant(step)
        if would_grant is None or would_grant is ((explanation.status or 0) not in (401, 403)):
            continue
        yield UnknownItem(
            UnknownKind.NOT_EXERCISED,
            step.lines[0].place,
            "the name of the client is not looked up",
            f"{step.what} was taken as not about it",
            "--client-host NAME gives it",
        )


def _would_grant(step: ExplanationStep) -> bool | None:
    """Return whether a name that fits lets the client in; None for a line that compares no name."""
    words = step.what.lower().split()
    if words[:1] == ["require"]:
        is_negated = words[1:2] == ["not"]
        return not is_negated if words[1 + is_negated : 2 + is_negated] == ["host"] else None
    if words[:1] in (["allow"], ["deny"]) and words[1:2] == ["from"]:
        names = [
            word for word in words[2:] if word != "all" and "=" not in word and not _ADDRESS.fullmatch(word)
        ]
        return words[0] == "allow" if names else None
    return None
