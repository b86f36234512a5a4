"""The functions of `r` by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from whimbrel.modules.lua.mod_lua import body_functions as body
from whimbrel.modules.lua.mod_lua import file_functions as files
from whimbrel.modules.lua.mod_lua import server_functions as server
from whimbrel.modules.lua.mod_lua import text_functions as texts
from whimbrel.modules.lua.mod_lua.arguments import CallArguments
from whimbrel.modules.lua.mod_lua.database import acquire
from whimbrel.modules.lua.mod_lua.fields import TABLES
from whimbrel.modules.lua.mod_lua.text_functions import NOTHING
from whimbrel.modules.lua.mod_lua.websocket import WEBSOCKET

if TYPE_CHECKING:
    from whimbrel.modules.lua.mod_lua.request_api import RequestApi

Function = Callable[["RequestApi", CallArguments], Any]


def _log(level: str) -> Function:
    def log(api: RequestApi, words: CallArguments) -> Any:
        api.log(level, words.text(1))
        return NOTHING

    return log


_LEVELS: Final = {
    "err": "error",
    **{name: name for name in ("emerg", "alert", "crit", "warn", "notice", "info", "debug")},
    **{f"trace{number}": f"trace{number}" for number in range(1, 9)},
}
METHODS: Final[dict[str, Function]] = {
    **{name: _log(level) for name, level in _LEVELS.items()},
    **{f"{name}_table": server.table_of(name) for name in TABLES},
    **WEBSOCKET,
    "add_input_filter": server.add_input_filter,
    "add_output_filter": server.add_output_filter,
    "base64_decode": texts.base64_decode,
    "base64_encode": texts.base64_encode,
    "clock": texts.clock,
    "construct_url": texts.url,
    "custom_response": server.custom_response,
    "dbacquire": acquire,
    "escape": texts.escape,
    "escape_html": texts.html,
    "escape_logitem": texts.logitem,
    "expr": texts.expression,
    "flush": server.flush,
    "get_direntries": files.directory_entries,
    "get_server_name_for_url": texts.server_name_for_url,
    "getcookie": texts.get_cookie,
    "htpassword": texts.password,
    "ivm_get": server.ivm_get,
    "ivm_set": server.ivm_set,
    "loaded_modules": server.loaded_modules,
    "make_etag": server.make_etag,
    "md5": texts.md5,
    "mkdir": files.make_directory,
    "mkrdir": files.make_directories,
    "os_escape_path": texts.path,
    "parseargs": body.parse_args,
    "parsebody": body.parse_body,
    "puts": server.puts,
    "regex": texts.regex,
    "requestbody": body.request_body,
    "rmdir": files.remove_directory,
    "runtime_dir_relative": files.runtime_path,
    "scoreboard_process": server.scoreboard_process,
    "scoreboard_worker": server.scoreboard_worker,
    "send_interim_response": server.send_interim,
    "sendfile": files.send_file,
    "server_info": server.server_info,
    "set_context_info": server.set_context_info,
    "set_document_root": server.set_document_root,
    "set_keepalive": server.set_keepalive,
    "setcookie": texts.set_cookie,
    "sha1": texts.sha1,
    "ssl_var_lookup": server.ssl_variable,
    "stat": files.file_stat,
    "touch": files.touch,
    "unescape": texts.unescape,
    "write": server.write,
}
"""Called with a colon: `r` is the first argument."""
PLAIN: Final[dict[str, Function]] = {
    "date_parse_rfc": texts.date_parse_rfc,
    "exists_config_define": server.exists_config_define,
    "module_info": server.module_info,
    "mpm_query": server.mpm_query,
    "state_query": server.state_query,
    "strcmp_match": texts.strcmp_match,
    "usleep": texts.usleep,
}
"""Called with a dot."""
