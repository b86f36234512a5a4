"""The output of a script."""

from __future__ import annotations

from unittest.mock import create_autospec

from whimbrel.engine.coroutines import run_until_suspended
from whimbrel.engine.request import Request
from whimbrel.modules.support.cgi.script import CgiVariant, Script
from whimbrel.modules.support.cgi.script_log import ScriptLog


def test_a_script_that_was_not_started_is_discarded_without_an_event_loop() -> None:
    """`replay` and `verify` run requests in none."""
    variant = create_autospec(CgiVariant, instance=True)
    log = create_autospec(ScriptLog, instance=True)
    script = Script(create_autospec(Request, instance=True), variant, log, 60.0)
    script.held += b"abcdef"
    script.ended = True
    assert run_until_suspended(script.discard(4)) == b"abcd"
