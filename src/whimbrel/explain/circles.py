"""Redirects without end: a client that follows them comes back to a target, or to no end at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.explain.step import RequestExplanation
from whimbrel.verify.probe import Probe

MAX_FOLLOWED: Final = 20
"""Redirects that are followed; browsers give up at about as many."""
_FOLLOWED: Final = (301, 302, 303, 307, 308)
_ENDLESS: Final = "redirects without end (browsers: too many redirects)"
_METHODS: Final = ("GET", "HEAD")


def circle_of(
    probe: Probe, explanation: RequestExplanation, explain: Callable[[Probe], RequestExplanation]
) -> str:
    """Return a sentence about the redirects that follow on *explanation* without end; "" if they end.

    A target on another host is not followed, and neither is one that comes with a cookie, which may change
    the next answer.
    """
    seen = [probe.target]
    while len(seen) <= MAX_FOLLOWED:
        target = _target_of(probe, explanation)
        if not target:
            return ""
        if target in seen:
            return f"{_ENDLESS}: {_path([*seen[seen.index(target) :], target])}"
        seen.append(target)
        probe = replace(probe, target=target)
        explanation = explain(probe)
    return f"{_ENDLESS}: {_path(seen)}"


def _path(targets: list[str]) -> str:
    """Return the targets, the first and the last ones if there are many."""
    return " -> ".join(targets if len(targets) <= 4 else [*targets[:2], "...", targets[-1]])


def _target_of(probe: Probe, explanation: RequestExplanation) -> str:
    """Return the target of the redirect to the same server; "" without one."""
    if explanation.status not in _FOLLOWED or probe.method not in _METHODS or not explanation.location:
        return ""
    if any("set-cookie" in text.lower() for step in explanation.all() for text in (step.what, step.result)):
        return ""
    try:
        parts = urlsplit(explanation.location)
        host = parts.hostname
        port = parts.port
    except ValueError:
        return ""
    scheme, default = ("https", 443) if probe.tls is not None else ("http", 80)
    requested = urlsplit(f"//{probe.host}").hostname
    if parts.scheme != scheme or host != requested or (port or default) != probe.port:
        return ""
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
