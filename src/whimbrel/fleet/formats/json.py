"""JSON of a fleet: the keys are part of the public interface (CHANGELOG.md)."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from whimbrel.api.conversion import path_of, text_of
from whimbrel.fleet.model import FleetReport, ServerResult
from whimbrel.upgrade.model import Risk


def render(report: FleetReport, following: str = "") -> str:
    """Return one JSON object with the command *following*; bytes that are not UTF-8 are escaped."""
    document = {
        "command": report.command,
        "total": report.total,
        "interrupted": report.is_interrupted,
        "cut_writes": [text_of(name) for name in report.cut_writes],
        "seconds": round(report.seconds, 3),
        "workers": report.workers,
        "exit_code": report.exit_code(),
        "verdicts": report.verdicts(),
        "rules": [
            {
                "rule": one.rule,
                "name": one.name,
                "risk": one.effect.risk.value,
                "servers": one.servers,
                "findings": one.findings,
            }
            for one in report.rule_totals()
        ],
        "first": text_of(report.first()) or None,
        "next": text_of(following) or None,
        "servers": [_server(server) for server in report.servers],
    }
    return json.dumps(document, indent=1) + "\n"


def _server(server: ServerResult) -> dict[str, Any]:
    return {
        "name": text_of(server.name),
        "path": _path(server.path),
        "verdict": server.verdict,
        "exit_code": server.code,
        "risks": {risk.value: count for risk, count in server.by_risk().items()},
        "rules": [
            {"rule": rule, "risk": risk.value, "count": count} for (rule, risk), count in _by_risk(server)
        ],
        "review": server.review,
        "per_request": server.per_request,
        "undecided": server.undecided,
        "files": server.files,
        "lines": server.lines,
        "changed": server.changed,
        "fault": text_of(server.fault) or None,
        "note": text_of(server.note) or None,
        "seconds": round(server.seconds, 3),
        "same_as": text_of(server.same_as) or None,
    }


def _by_risk(server: ServerResult) -> list[tuple[tuple[str, Risk], int]]:
    """Return the numbers of findings by rule and risk; `per_request` has those that fail requests."""
    counts: Counter[tuple[str, Risk]] = Counter()
    for one in server.rules:
        counts[one.rule, one.risk] += one.count
    return [*counts.items()]


def _path(path: str) -> str:
    return path_of(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
