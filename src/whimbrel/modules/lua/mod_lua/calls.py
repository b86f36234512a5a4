"""Calls of functions in scripts: the machine, the thread and the messages (mod_lua.c)."""

from __future__ import annotations

from typing import Any, NamedTuple

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.programs import require_programs
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.request import Request
from whimbrel.http.syntax.url import escape_html
from whimbrel.modules.lua.mod_lua.machine import LoadProblem, Machine, text_of
from whimbrel.modules.lua.mod_lua.machines import Lease, script_of
from whimbrel.modules.lua.mod_lua.request_api import MODULE_NAME, RequestApi
from whimbrel.modules.lua.mod_lua.settings import LuaFunction


class Wording(NamedTuple):
    """Messages of one kind of call.

    Attributes:
        kind: in the line of details. `load`, `find`: level, code and text of a machine that cannot be had,
            and of a function that is not there; {name}, {file} and {path} stand for the function, its file as
            written and its absolute path.
    """

    kind: str
    load: tuple[str, str, str] | None
    find: tuple[str, str, str]


_FIND = "lua: Unable to find entry function '{name}' in %s (not a valid function)"
_LOAD = "lua: Failed to obtain %s interpreter for entry function '{name}' in %s"
HOOK = Wording(
    "request hook",
    ("crit", "AH01477", _LOAD % ("lua", "{file}")),
    ("crit", "AH01478", _FIND % "{file}"),
)
MAPPED = Wording(
    "mapped handler",
    ("crit", "AH02330", _LOAD % ("Lua", "{path}")),
    ("crit", "AH02331", _FIND % "{path}"),
)
HANDLER = Wording(
    "request handler",
    None,  # AH01482 is all that httpd logs
    ("crit", "AH01475", _FIND % "{path}"),
)
FILTER = Wording(
    "filter",
    ("crit", "AH02328", "lua: Failed to obtain lua interpreter for {name} {file}"),
    ("crit", "AH02329", _FIND % "{file}"),
)


class CallFailed(Exception):
    """A call that could not be made, or ended with an error.

    Attributes:
        message: Lua's text; None if the function could not be called at all, which is logged.
    """

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message)
        self.message = message


def may_run() -> bool:
    """Return False where no script may run: tools ask about requests without effects."""
    try:
        require_programs()
    except PermissionError:
        return False
    return True


class ScriptCall:
    """One call of a function for *r*, with a machine of its own. Raises CallFailed where no script may run.

    Attributes:
        function: with the absolute path of its file; `written`: as the configuration has it.
    """

    def __init__(self, r: Request, function: LuaFunction, wording: Wording) -> None:
        self.r = r
        self.written = function
        self.wording = wording
        self.function = script_of(r, function)
        r.set_uncacheable()
        if not may_run():
            raise CallFailed
        self.lease = Lease(r, self.function)
        name = self.function.name or "(anonymous)"
        text = f"{wording.kind} details: scope: {self.lease.scope}, file: {self.function.file}, func: {name}"
        r.log("trace4", text, module=MODULE_NAME)

    def machine(self, api: RequestApi) -> tuple[Machine, Any]:
        """Return the machine and the function. Raises CallFailed, after logging."""
        problem = None
        try:
            machine = self.lease.load(api)
        except LoadProblem as failed:
            problem = failed.with_traceback(None)
        if problem is not None:
            path = self.function.file
            cause, code = (str(problem), "AH02613") if problem.has_run else (f"@{path}", "AH01482")
            text = f"Error loading {path}: {cause}"
            api.post(lambda: log_of_server(self.r, "error", text, code))
            self._log(api, self.wording.load)
            raise CallFailed
        found = machine.function(self.function)
        if found is None:
            self._log(api, self.wording.find)
            raise CallFailed
        return machine, found

    def _log(self, api: RequestApi, line: tuple[str, str, str] | None) -> None:
        if line is None:
            return
        level, code, text = line
        shown = text.format(name=self.function.name, file=self.written.file, path=self.function.file)
        api.log(level, shown, code)

    def run(self, api: RequestApi, *arguments: str) -> Any:
        """Call the function and return its result, None for an object of Lua; in a thread.

        Raises CallFailed, whose traceback refers to no object of Lua, so that the machine can be freed.
        """
        try:
            is_run, result = self._run(api, arguments)
        finally:
            self.lease.end_call()
        if not is_run:
            raise CallFailed(result)
        return result

    def _run(self, api: RequestApi, arguments: tuple[str, ...]) -> tuple[bool, Any]:
        machine, found = self.machine(api)
        is_run, result = machine.run(found, *arguments)
        if not is_run:
            return False, text_of(result)
        return True, result if isinstance(result, (bool, int, float, str)) else None


def report(r: Request, message: str) -> None:
    """Log an error of a script, and show it on the page (report_lua_error)."""
    r.status = 500
    r.content_type = "text/html"
    for text in ("<h3>Error!</h3>\n", "<pre>", escape_html(message), "</pre>\n"):
        r.write(to_bytes(text))
    log_error(r, message)


def log_error(r: Request, message: str) -> None:
    """Log an error of a script; the line names no client (ap_log_perror)."""
    log_of_server(r, "warn", f"Lua error: {message}", "AH01471")


def log_of_server(r: Request, level: str, text: str, code: str) -> None:
    """Write a line without client to the error log."""
    r.engine.error_log.about_server(r.server, LogLine(level, text, code, MODULE_NAME))
