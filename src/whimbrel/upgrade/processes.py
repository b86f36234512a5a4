"""Two processes for one large estate: the rules about access control in one, all others in the other.

The rules of an area share what one of them has worked out, so that an area stays in one process.  The second process is a fork, which has the
estate without copying it.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable

from whimbrel.upgrade.estate import Estate
from whimbrel.upgrade.model import Finding, Rule
from whimbrel.upgrade.rules import access


def said(estate: Estate, rules: Iterable[Rule]) -> list[Finding]:
    """What the rules say, one after the other."""
    every = list(rules)
    found: list[Finding] = []
    for number, rule in enumerate(every):
        estate.step(f"rule {rule.number}", number, len(every))
        found += rule.check(estate)
    return found


def together(estate: Estate, rules: list[Rule]) -> list[Finding]:
    """The same by two processes; where the second one fails, the first does its part too, and so raises what it raised."""
    apart = [rule for rule in rules if rule not in access.RULES]
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        _answer(estate, apart, writer)
    os.close(writer)
    here = said(estate, [rule for rule in rules if rule in access.RULES])
    with os.fdopen(reader, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    found: list[Finding] = pickle.loads(data) if data else said(estate, apart)
    return here + found


def _answer(estate: Estate, rules: list[Rule], writer: int) -> None:
    """The life of the second process: never returns."""
    try:
        data = pickle.dumps(said(estate, rules))
        with os.fdopen(writer, "wb") as file:
            file.write(data)
    finally:
        os._exit(0)
