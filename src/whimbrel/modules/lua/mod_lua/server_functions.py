"""Functions of `r` on the server, its modules, workers and databases (lua_request.c, lua_dbd.c)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from whimbrel.catalogue.load import catalogue
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.handlers import version_text
from whimbrel.config.mpm_config import MpmConfig
from whimbrel.engine.output.filter import add_output_filter as add_filter
from whimbrel.engine.pipeline.error import CUSTOM_RESPONSE
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.core.filters import unknown_filter
from whimbrel.modules.http.etag import make_etag as etag_of
from whimbrel.modules.lua.mod_lua.arguments import CallArguments
from whimbrel.modules.lua.mod_lua.fields import TABLES
from whimbrel.modules.lua.mod_lua.text_functions import NOTHING
from whimbrel.modules.lua.mod_lua.variables import MAX_VARIABLE, variables_of

if TYPE_CHECKING:
    from whimbrel.modules.lua.mod_lua.request_api import RequestApi

# what ap_mpm_query answers for event, by number; None: the number of threads or workers
_THREADS = "threads"
_MPM: Final[dict[int, Any]] = {
    1: 3, 2: 1, 3: 2, 4: 16, 5: 64, 6: _THREADS, 7: 0, 8: 75, 9: 0, 10: 250, 11: 0, 12: 16, 13: 1, 14: 1
}  # fmt: skip
_STATES: Final = {0: 5, 1: 2, 2: 1}
_PROCESS: Final = (
    *("connections", "keepalive", "lingering_close", "not_accepting", "pid", "quiescing", "suspended"),
    *("wait_io", "write_completion"),
)


# output ---------------------------------------------------------------------------------------------
def _write(api: RequestApi, text: str) -> bool:
    return api.output is not None and api.output.write(text.encode("latin-1"))


def puts(api: RequestApi, words: CallArguments) -> Any:
    """Write all arguments, each up to its first NUL (ap_rputs)."""
    for number in range(1, len(words) + 1):
        _write(api, words.text(number).partition("\0")[0])
    return NOTHING


def write(api: RequestApi, words: CallArguments) -> int:
    """Write one argument; return the number of bytes, -1 if the client is gone."""
    text = words.text(1)
    return len(text) if _write(api, text) else -1


def flush(api: RequestApi, _words: CallArguments) -> bool:
    """Send what was written."""
    return api.output is not None and api.output.flush()


# filters --------------------------------------------------------------------------------------------
def add_output_filter(api: RequestApi, words: CallArguments) -> Any:
    """Add an output filter by name."""
    name = words.text(1)
    api.log("debug", f"adding output filter {name}", "AH01485")
    found = api.r.plan.provider("output_filter", name.lower())
    if found is None:
        api.post(lambda: unknown_filter(api.r, name))
    else:
        add_filter(api.r, found)
    return NOTHING


def add_input_filter(api: RequestApi, words: CallArguments) -> bool:
    """Wrap the request body; false for an unknown filter."""
    found = api.r.plan.provider("input_filter", words.text(1).lower())
    if found is None:
        return False
    api.r.body_in = found.wrap(api.r, api.r.body_in)
    return True


# the request ----------------------------------------------------------------------------------------
def make_etag(api: RequestApi, words: CallArguments) -> Any:
    if not isinstance(words.value(1), bool):
        raise words.unexpected(1, "boolean")
    return etag_of(api.r) if api.r.finfo is not None else ""


def set_keepalive(api: RequestApi, _words: CallArguments) -> bool:
    """Return True if the connection may persist."""
    r = api.r
    r.chunked = True  # ap_set_keepalive decides about the framing before the length is known
    keeps = r.server_conf(CoreServerConfig).keep_alive and not r.close
    return bool(keeps) and "close" not in (r.headers_in.get_list("Connection") or "").lower()


def send_interim(api: RequestApi, words: CallArguments) -> Any:
    """Send an interim response with the status of the request; true removes the fields that it had."""
    r = api.r
    if 100 <= r.status < 200:
        fields = [(name, value) for name, value in r.headers_out.items()]
        api.post(lambda: r.interim(r.status, fields))
        if words.value(1):
            r.headers_out = Headers()
    return NOTHING


def custom_response(api: RequestApi, words: CallArguments) -> Any:
    """Set the page for a status, for this request (ap_custom_response)."""
    status = words.integer(1)
    text = words.text(2)
    is_place = text.startswith("/") or "://" in text
    if api.r.status == status or not is_place:
        api.r.notes[CUSTOM_RESPONSE] = text if is_place else f'"{text}'
    return NOTHING


def set_document_root(api: RequestApi, words: CallArguments) -> Any:
    api.r.document_root = words.text(1)
    return NOTHING


def set_context_info(api: RequestApi, words: CallArguments) -> Any:
    api.r.context = words.text(1), words.text(2)
    return NOTHING


def table_of(name: str) -> Any:
    """Return the function that copies a table of the request, of equal names the first value."""

    def copy(api: RequestApi, _words: CallArguments) -> Any:
        found: dict[str, str] = {}
        for key, value in TABLES[name](api.r).items():
            found.setdefault(key, value)
        return api.machine.table(found)

    return copy


def ssl_variable(api: RequestApi, words: CallArguments) -> Any:
    """Return a variable of mod_ssl, nil without the module."""
    lookup = api.r.plan.provider("expr_function", "SSL")
    return None if lookup is None else lookup(api.r, words.text(1))


# the server -----------------------------------------------------------------------------------------
def module_info(api: RequestApi, words: CallArguments) -> Any:
    """Return the directives of a module by name with their help, as the table `commands`."""
    name = words.text(1)
    if not any(module.source == name for module in api.r.engine.configuration.modules.modules):
        return NOTHING
    rows = catalogue(version_text(api.r.plan.dialect)).module_rows(name)
    return api.machine.table({"commands": api.machine.table({row.name: row.help for row in rows})})


def loaded_modules(api: RequestApi, _words: CallArguments) -> Any:
    modules = api.r.engine.configuration.modules.modules
    return api.machine.table([module.source for module in modules])


def server_info(api: RequestApi, _words: CallArguments) -> Any:
    """Return a table: program, server root and MPM."""
    configuration = api.r.engine.configuration
    mpm = next(
        (module.name for module in configuration.modules.modules if module.name.startswith("mpm_")), "event"
    )
    return api.machine.table(
        {
            "server_executable": configuration.program,
            "server_root": configuration.root,
            "server_mpm": mpm.removeprefix("mpm_").removesuffix("_module"),
        }
    )


def mpm_query(api: RequestApi, words: CallArguments) -> int:
    conf = api.r.engine.configuration.main.config(MpmConfig)
    value = _MPM.get(words.integer(1), 0)
    return int(conf.threads_per_child or 25) if value is _THREADS else int(value)


def state_query(_api: RequestApi, words: CallArguments) -> int:
    """Answer ap_state_query: the state of the main loop, of the configuration, of checks."""
    return _STATES.get(words.integer(1), -1)


def exists_config_define(api: RequestApi, words: CallArguments) -> bool:
    return words.text(1) in api.r.engine.configuration.defines


def scoreboard_process(api: RequestApi, words: CallArguments) -> Any:
    """Return a table about one worker process; nothing for an unknown number."""
    number = words.integer(1)
    workers = api.r.engine.runtime.scoreboard.workers()
    if not 0 <= number < len(workers):
        return NOTHING
    worker = workers[number]
    process = worker.process or {}
    table = dict.fromkeys(_PROCESS, 0)
    table["pid"] = int(process.get("pid", api.r.engine.runtime.pid))
    table["connections"] = len(worker.rows)
    table["keepalive"] = worker.letters.count("K")
    return api.machine.table(table)


def scoreboard_worker(api: RequestApi, words: CallArguments) -> Any:
    """Return a table about one connection of a worker; nothing for an unknown number."""
    number = words.integer(1)
    row_number = words.integer(2)
    workers = api.r.engine.runtime.scoreboard.workers()
    if not 0 <= number < len(workers):
        return NOTHING
    worker = workers[number]
    row = worker.rows[row_number] if 0 <= row_number < len(worker.rows) else {}
    numbers = ("access_count", "bytes_served", "conn_bytes", "conn_count", "generation", "last_used")
    table: dict[str, Any] = {name: float(row.get(name, 0) or 0) for name in numbers}
    for name in ("start_time", "stop_time", "stimes", "utimes", "tid", "status"):
        table[name] = float(row.get(name, 0) if isinstance(row.get(name, 0), (int, float)) else 0)
    table["pid"] = int((worker.process or {}).get("pid", api.r.engine.runtime.pid))
    for name in ("client", "client64", "request", "vhost"):
        table[name] = str(row.get(name, "") or "")
    return api.machine.table(table)


# variables that machines share ----------------------------------------------------------------------
def ivm_get(api: RequestApi, words: CallArguments) -> Any:
    value = variables_of(api.r.engine).get(words.text(1))
    return NOTHING if value is None else value


def ivm_set(api: RequestApi, words: CallArguments) -> Any:
    """Set a worker's variable: a number or string; a boolean is false, as in httpd; others nothing."""
    name = words.text(1)
    value = words.value(2)
    if isinstance(value, str) and len(value) > MAX_VARIABLE:
        raise words.wrong(2, f"a string of at most {MAX_VARIABLE} bytes expected")
    if isinstance(value, (bool, int, float, str)):
        stored: bool | float | str
        if isinstance(value, bool):
            stored = False
        elif isinstance(value, str):
            stored = value
        else:
            stored = float(value)
        variables_of(api.r.engine).set(name, stored)
    return NOTHING
