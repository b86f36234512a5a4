"""Calls of functions in access scripts and dispatch scripts, in the processes of embedded mode."""

from __future__ import annotations

import json
from typing import Any, cast

from whimbrel.backends.connection import FOREVER, BackendBody
from whimbrel.backends.fastcgi import FastcgiRole
from whimbrel.engine.request import Request
from whimbrel.http.client.answer import BackendError
from whimbrel.modules.support.processes.manager import ProcessManager
from whimbrel.modules.wsgi.mod_wsgi.connect import connect
from whimbrel.modules.wsgi.mod_wsgi.exchange import WsgiExchange
from whimbrel.modules.wsgi.mod_wsgi.groups import resolved, script_group
from whimbrel.modules.wsgi.mod_wsgi.processes import EMBEDDED
from whimbrel.modules.wsgi.mod_wsgi.records import MODULE, variable_text
from whimbrel.modules.wsgi.mod_wsgi.settings import WsgiScript

MAX_ANSWER = 1 << 20  # bytes of the results of a call


class CallExchange(WsgiExchange):
    """The exchange of one call: its answer is JSON."""

    async def answer(self) -> dict[str, Any]:
        """Return the results by function. Raises BackendError and ValueError."""
        connection = self.connection
        try:
            connection.begin(self.make_reader(), FOREVER, keeps_open=False)
            self._send_params(())
            await self._next_head()
            body = BackendBody(connection)
            data = bytearray()
            while len(data) < MAX_ANSWER and (piece := await body.read()) is not None:
                data += piece
            return cast("dict[str, Any]", json.loads(bytes(data)))
        finally:
            self.abort()


def log_type_error(r: Request, script: WsgiScript, text: str) -> None:
    """Log that a result has the wrong type, as Python's exceptions are logged."""
    start = f"mod_wsgi (pid={r.engine.runtime.pid}): Exception occurred processing WSGI script"
    r.log("error", f"{start} '{script.path}'.", module=MODULE)
    r.log("error", f"TypeError: {text}", module=MODULE)


async def call(
    r: Request,
    script: WsgiScript,
    variables: dict[str, str],
    names: tuple[str, ...],
    arguments: tuple[str, ...] = (),
) -> dict[str, Any] | None:
    """Return the results of the functions *names* of *script*, those that it has; None after an error, which
    is logged.

    A result is a pair of a type and a value; "failed" stands for an exception.
    """
    manager: ProcessManager | None = r.engine.runtime.program(MODULE)
    if manager is None:
        return None
    group = resolved(script_group(script.application_group), r)
    connection = await connect(r, manager, EMBEDDED, group, is_new=True)
    if connection is None:
        return None
    sent = {
        **variables,
        "mod_wsgi.process_group": "",
        "mod_wsgi.application_group": group,
        "mod_wsgi.handler_script": script.path,
        "mod_wsgi.call": json.dumps({"names": names, "arguments": arguments}),
    }
    text = variable_text(sent.items())
    exchange = CallExchange(r, connection, "", text, has_body=False, role=FastcgiRole.AUTHORIZER)
    try:
        found = await exchange.answer()
    except (BackendError, ValueError):
        exchange.head_reader().ended()
        return None
    return found if found.get("loaded") else None
