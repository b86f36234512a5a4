"""A verification with one difference of each kind."""

from __future__ import annotations

from whimbrel.base.errors import SourceLocation
from whimbrel.verify.answer import Answer, DecidingLine
from whimbrel.verify.causes import Cause
from whimbrel.verify.difference import Difference, FieldDifference
from whimbrel.verify.probe import Probe, ProbeUser
from whimbrel.verify.side import LoadError
from whimbrel.verify.verification import DifferenceGroup, Example, NotDecided, VerifyResult


def example(target: str, old: Answer, new: Answer, *parts: tuple[str, str, str], client: str = "") -> Example:
    """Return a request that is answered otherwise."""
    difference = Difference(tuple(FieldDifference(*part) for part in parts))
    user = ProbeUser("bob") if client else None
    return Example(Probe(target, host="a.test", user=user), difference, old, new, client)


def result() -> VerifyResult:
    """Return the verification."""
    found = VerifyResult(("2.2", "2.4"), probes=1234, chains=1)
    opening = example("/in/", Answer(403), Answer(200), ("status", "403", "200"), client="user bob")
    order = DecidingLine("/old.conf", 3, "Deny from all", "decides", "denied")
    granted = DecidingLine("/new.conf", 4, "Require all granted", "decides", "granted")
    found.groups = [
        DifferenceGroup(
            "access", Cause((order,), (granted,)), [opening], 7, ((order,), (granted,)), is_assumed=True
        ),
        DifferenceGroup(
            "response",
            Cause((DecidingLine("/old.conf", 9, "DefaultType text/html", "directive"),), ()),
            [example("/a", Answer(200), Answer(200), ("content-type", "text/html", ""), ("vary", "", "x"))],
            1,
            is_of_versions=True,
        ),
        DifferenceGroup(
            "response",
            Cause((), ()),
            [example("/b", Answer(200), Answer(403), ("status", "200", "403"))],
            2,
            reason="a reason",
        ),
        DifferenceGroup(
            "httpd", Cause((), ()), [example("/c", Answer(200), Answer(404), ("status", "200", "404"))], 1
        ),
    ]
    found.not_decided = [NotDecided("too large"), NotDecided("no user", Probe("/d", host="a.test"))]
    found.limits = ["stopped after 20 seconds"]
    return found


def not_loaded() -> VerifyResult:
    """Return a verification whose new side does not load."""
    found = VerifyResult(("2.2", "2.4"))
    problem = LoadError("AH00526: Syntax error\nInvalid command 'X'", SourceLocation("/new.conf", 5))
    found.errors = ((), (problem,))
    return found
