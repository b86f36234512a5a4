"""JSON of a verification: the keys are part of the public interface (docs/verify.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from whimbrel.report.knowledge import as_json
from whimbrel.report.readiness import readiness_of_comparison
from whimbrel.report.verification.entries import WORDS, risk_of
from whimbrel.verify.answer import Answer, DecidingLine
from whimbrel.verify.probe import Probe
from whimbrel.verify.verification import DifferenceGroup, Example, NotDecided, VerifyResult


def render(verification: VerifyResult) -> str:
    """Return one JSON object; bytes beyond ASCII are decoded as Latin-1."""
    old, new = verification.names
    return (
        json.dumps(
            {
                "verdict": WORDS[verification.verdict],
                "ready": readiness_of_comparison(verification),
                "old": old,
                "new": new,
                "errors": {
                    name: [error.text for error in errors]
                    for name, errors in zip(verification.names, verification.errors, strict=True)
                },
                "no_start": verification.no_start,
                "chains": verification.chains,
                "requests": verification.probes,
                "limits": [*filter(None, (verification.documents,)), *verification.limits],
                "knowledge": as_json(verification.scope),
                "differences": [_group(group) for group in verification.groups],
                "not_decided": [
                    {"reason": one.reason, "request": _probe(one.probe) if one.probe is not None else None}
                    for one in (*verification.not_decided, *map(NotDecided, verification.open_reasons))
                ],
            },
            indent=1,
        )
        + "\n"
    )


def _group(group: DifferenceGroup) -> dict[str, Any]:
    return {
        "kind": group.kind,
        "risk": risk_of(group).value,
        "count": group.count,
        "assumed": group.is_assumed,
        "reason": group.reason,
        "rule": group.rule,
        "decided": list(group.decided),
        "cause": {"old": _lines(group.joint_cause.old), "new": _lines(group.joint_cause.new)},
        "lines": {"old": _lines(group.lines[0]), "new": _lines(group.lines[1])},
        "examples": [_example(example) for example in group.examples],
    }


def _lines(lines: Iterable[DecidingLine]) -> list[dict[str, Any]]:
    return [{"file": one.path, "line": one.line, "text": one.text, "verdict": one.verdict} for one in lines]


def _example(example: Example) -> dict[str, Any]:
    return {
        "request": _probe(example.probe),
        "client": example.client or None,
        "clients": example.clients or None,
        "parts": [{"name": part.name, "old": part.old, "new": part.new} for part in example.difference.parts],
        "old": _answer(example.old),
        "new": _answer(example.new),
    }


def _probe(probe: Probe) -> dict[str, Any]:
    return {
        "method": probe.method,
        "target": probe.target,
        "host": probe.host,
        "address": probe.address,
        "port": probe.port,
        "client": probe.client,
        "client_host": probe.client_host or None,
        "user": probe.user.name if probe.user is not None else None,
        "fields": [list(pair) for pair in probe.fields],
        "environment": [list(pair) for pair in probe.environment],
        "tls": probe.tls is not None,
    }


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "status": answer.status,
        "fields": [list(pair) for pair in answer.fields],
        "length": answer.length,
        "file": answer.file or None,
        "handler": answer.handler or None,
        "user": answer.user or None,
        "log": list(answer.log),
    }
