"""The table of states: what it allows, and that nothing sets a state beside it."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from whimbrel.server import http1
from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.http1.state import TRANSITIONS, ConnectionState, Event

FOLDER = Path(inspect.getfile(http1)).parent


def reachable(state: ConnectionState) -> set[ConnectionState]:
    """Return the states that follow *state*, directly or not."""
    found: set[ConnectionState] = set()
    fresh = {state}
    while fresh:
        fresh = {after for one in fresh for after in TRANSITIONS[one].values()} - found
        found |= fresh
    return found


def test_every_state_is_reached_and_can_end() -> None:
    assert reachable(ConnectionState.READY) == set(ConnectionState) == set(TRANSITIONS)
    assert all(one[Event.END] is ConnectionState.LINGER for one in TRANSITIONS.values())


def test_a_closed_connection_stays_closed() -> None:
    assert reachable(ConnectionState.LINGER) == {ConnectionState.LINGER}


@pytest.mark.parametrize(
    ("state", "event"),
    [
        (ConnectionState.READY, Event.DONE),
        (ConnectionState.READY, Event.BODY_LEFT),
        (ConnectionState.DISCARD, Event.BEGIN),
        (ConnectionState.DISCARD, Event.BODY_LEFT),
        (ConnectionState.LINGER, Event.DONE),
    ],
)
def test_what_cannot_occur_is_an_error(state: ConnectionState, event: Event) -> None:
    with pytest.raises(KeyError):
        TRANSITIONS[state][event]


def test_only_the_connection_changes_its_state_by_the_table() -> None:
    setters = [
        (path.name, function.name)
        for path in sorted(FOLDER.glob("*.py"))
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and node.attr == "state" and isinstance(node.ctx, ast.Store)
    ]
    assert setters == [("connection.py", "__init__"), ("connection.py", Http1Connection.change.__name__)]
