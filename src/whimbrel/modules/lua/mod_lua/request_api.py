"""The request as scripts see it: fields, tables and functions behind `r` (lua_request.c).

All texts have one character per byte. The functions are called in a thread of the worker, while the request's
coroutine waits for the script; what concerns the event loop is passed to it.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from whimbrel.engine.coroutines import Suspended, run_until_suspended
from whimbrel.engine.log.error_log_line import DEFAULT_LEVEL, LEVELS
from whimbrel.modules.lua.mod_lua import fields
from whimbrel.modules.lua.mod_lua.arguments import GONE, CallArguments, LuaError, lua_text, to_integer
from whimbrel.modules.lua.mod_lua.fields import TABLES
from whimbrel.modules.lua.mod_lua.functions import METHODS, PLAIN

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.modules.lua.mod_lua.machine import Machine
    from whimbrel.modules.lua.mod_lua.output import ScriptOutput
    from whimbrel.modules.lua.mod_lua.websocket import SocketProtocol

T = TypeVar("T")
ABANDON_GRACE: Final = 30.0  # seconds after which a script without a client is ended
_KIND_CODES: Final = {
    "apr table": "AH01486",
    "lua_CFunction": "AH01487",
    "string": "AH01488",
    "int": "AH01489",
    "boolean": "AH01490",
}
MODULE_NAME: Final = "lua"


class RequestApi:
    """The functions behind `r` for one request.

    Attributes:
        output: where puts and write go; None in a phase without output.
        machine: the machine that runs the present call.
        socket: the client's connection after wsupgrade.
        is_traced: each access to `r` is logged (LogLevel lua:debug).
    """

    machine: Machine

    def __init__(self, r: Request, output: ScriptOutput | None = None) -> None:
        self.r = r
        self.output = output
        self.socket: SocketProtocol | None = None
        levels = r.plan.levels
        self.is_traced = levels.get(MODULE_NAME, levels.get("", DEFAULT_LEVEL)) >= LEVELS["debug"]
        self._loop = _running_loop()
        self._thread = threading.get_ident()
        self._end = math.inf

    # the client -----------------------------------------------------------------------------------
    def abandon(self) -> None:
        """Note that the client has gone: the script may finish its work, and is ended if it does not."""
        self._end = min(self._end, time.monotonic() + ABANDON_GRACE)
        if self.output is not None:
            self.output.close()

    def is_over(self) -> bool:
        """Return True if the script has to end."""
        return time.monotonic() > self._end

    # the event loop -------------------------------------------------------------------------------
    def post(self, work: Callable[[], object]) -> None:
        """Let the event loop call *work*, behind earlier calls."""
        if threading.get_ident() == self._thread:
            work()
        elif self._loop is not None:
            self._loop.call_soon_threadsafe(work)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the event loop and return its result.

        In the thread of the loop itself, as in the log phase, it must not wait.
        """
        if self._loop is not None and threading.get_ident() != self._thread:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        result = run_until_suspended(work)
        if isinstance(result, Suspended):
            work.close()
            raise LuaError("this function is not available here")
        return result

    def log(self, level: str, text: str, code: str = "") -> None:
        """Write a line of the error log."""
        self.post(lambda: self.r.log(level, text, code=code, module=MODULE_NAME))

    # what Lua calls -------------------------------------------------------------------------------
    def call(self, machine: Machine, name: str, arguments: Sequence[Any]) -> Sequence[Any]:
        """Call a function of `r`."""
        self.machine = machine
        if self.is_over():
            raise LuaError(GONE)
        function = METHODS.get(name) or PLAIN[name]
        found = function(self, CallArguments(name, arguments))
        return found if isinstance(found, tuple) else (found,)

    def get(self, name: Any) -> Any:
        """Return a field; None for an unknown one."""
        if not isinstance(name, str):
            return None
        reader = fields.READERS.get(name)
        if reader is None:
            self.log("debug", f"nothing for {name}", "AH01491")
            return None
        value = reader(self.r)
        if self.is_traced:
            kind = fields.KINDS.get(name, "string")
            self.log("debug", f"request_rec->dispatching {name} -> {kind}", _KIND_CODES[kind])
        return value

    def note_use(self, name: str, kind: str) -> None:
        """Log the use of a function or table of `r`."""
        self.log("debug", f"request_rec->dispatching {name} -> {kind}", _KIND_CODES[kind])

    def set(self, name: Any, value: Any) -> tuple[()]:
        """Set a field and return nothing; raises LuaError for one that may not be set."""
        writer = fields.WRITERS.get(name)
        if writer is None:
            raise LuaError(f"Property [{lua_text(name)}] may not be set on a request_rec")
        writer(self.r, value)
        return ()

    def table_get(self, table: str, key: Any) -> str | None:
        """Return the value of *key* in one of `TABLES`."""
        return TABLES[table](self.r).get(lua_text(key))

    def table_set(self, table: str, key: Any, value: Any) -> tuple[()]:
        """Set or, with nil, remove *key* in one of `TABLES`; line feeds become blanks (AH02614)."""
        name = lua_text(key)
        entries = TABLES[table](self.r)
        if value is None:
            entries.unset(name)
            return ()
        text = CallArguments("__newindex", (None, None, value)).text(3)
        if table != "notes" and "\n" in text:
            message = f"mod_lua: Value for '{name}' in table '{table}' contains newline!"
            self.log("warn", message, "AH02614")
            text = text.replace("\n", " ")
        entries.set(name, text)
        return ()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop; None if none runs, as when a log hook runs in a tool."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def status_of(value: Any) -> int | None:
    """Return the number that a script returned (lua_isnumber), None for another value."""
    return to_integer(value)
