"""The JSON of a fleet."""

from __future__ import annotations

import json

from tests.unit.fleet.fleet_report import fleet_report

from whimbrel.fleet.formats.json import render


def test_the_document() -> None:
    document = json.loads(render(fleet_report()))
    assert (document["command"], document["total"], document["exit_code"]) == ("check", 6, 2)
    assert document["verdicts"] == {"not read": 1, "findings": 2, "not decided": 1, "nothing to do": 1}
    assert document["rules"][0] == {
        "rule": "C17",
        "name": "order-allow-deny",
        "risk": "breaks start-up",
        "servers": 2,
        "findings": 2400,
    }
    alpha, beta, _gamma, delta, hostile = document["servers"]
    assert alpha["risks"] == {"breaks start-up": 1200, "changes answers": 2}
    assert (alpha["same_as"], beta["same_as"]) == (None, "alpha")
    assert (alpha["fault"], delta["fault"]) == (None, "conf: Permission denied")
    assert hostile["name"] == "<b>\x1b[31m\\xe9"
    assert hostile["path"] == "/f/<b>\x1b[31m\\xe9"
