"""Answers that no hook's line decides: a limit, a fault of the request, a default of the core.

httpd logs their reasons at levels that servers seldom have (info, debug): an explanation collects these lines
anyway. A setting that decided is named with its line, else as a default.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from whimbrel.base.latin1 import to_bytes
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.config.origins import Origin
from whimbrel.explain.reasons import option_lines
from whimbrel.modules.mappers.mod_dir import DirDirConfig
from whimbrel.modules.ssl.mod_ssl.names import PLAIN
from whimbrel.modules.ssl.mod_ssl.settings import SslServerConfig

if TYPE_CHECKING:
    from whimbrel.engine.explain.explainer import Explained
    from whimbrel.engine.log.error_log_line import LogLine
    from whimbrel.engine.plan.plan import Plan
    from whimbrel.engine.request import Request


class CoreReason(NamedTuple):
    """Why a request has its status: the lines that decided, and a sentence."""

    lines: tuple[Origin, ...]
    sentence: str


class DecidingSetting(NamedTuple):
    """The setting that a refusal rests on: the directive, the record and the field that hold it."""

    directive: str
    record: type[Any]
    field: str


_LINE: Final = DecidingSetting("LimitRequestLine", CoreServerConfig, "limit_line")
_SIZE: Final = DecidingSetting("LimitRequestFieldSize", CoreServerConfig, "limit_field_size")
_FIELDS: Final = DecidingSetting("LimitRequestFields", CoreServerConfig, "limit_fields")
_STRICT: Final = DecidingSetting("HttpProtocolOptions", CoreServerConfig, "strict_http")
_METHODS: Final = DecidingSetting("RegisterHttpMethod", CoreServerConfig, "registered_methods")
_HTTP09: Final = DecidingSetting("HttpProtocolOptions", CoreServerConfig, "allow_http09")
_HOST: Final = DecidingSetting("StrictHostCheck", CoreServerConfig, "strict_host_check")
_SLASHES: Final = DecidingSetting("AllowEncodedSlashes", CoreDirConfig, "encoded_slashes")
_PATH_INFO: Final = DecidingSetting("AcceptPathInfo", CoreDirConfig, "accept_path_info")
_INDEX: Final = DecidingSetting("DirectoryIndex", DirDirConfig, "names")

_SETTINGS: Final[dict[str, DecidingSetting | None]] = {
    "AH00026": _SLASHES,
    "AH00032": None,
    "AH00037": None,
    "AH00129": _INDEX,
    "AH00130": _PATH_INFO,
    "AH00550": None,
    "AH00560": _SIZE,
    "AH00561": _SIZE,
    "AH00562": _SIZE,
    "AH00563": _FIELDS,
    "AH00564": None,
    "AH00565": _LINE,
    "AH00569": None,
    "AH00570": None,
    "AH02401": _HTTP09,
    "AH02415": _STRICT,
    "AH02416": _STRICT,
    "AH02418": None,
    "AH02421": None,
    "AH02422": None,
    "AH02423": _METHODS,
    "AH02426": _STRICT,
    "AH02427": _STRICT,
    "AH02539": None,
    "AH03442": None,
    "AH03443": None,
    "AH03444": None,
    "AH03445": None,
    "AH03446": None,
    "AH03447": None,
    "AH03448": _STRICT,
    "AH03449": None,
    "AH03450": None,
    "AH03451": None,
    "AH03452": None,
    "AH03453": None,
    "AH03454": None,
    "AH10156": _HOST,
    "AH10157": _HOST,
}
"""Codes of the lines that give the reason for a refusal, each with the setting that decides, if one does."""
_LINKS: Final = ("AH00032", "AH00037")
"""The codes of a symbolic link that Options does not allow."""
_WORDS: Final = {
    "AH00026": "the path has %2F, an encoded slash",
    "AH00129": "the directory has no file of DirectoryIndex",
    "AH00130": "the file takes no path behind its name",
    "AH00569": "a request of HTTP/1.1 needs a Host field",
}
"""Sentences in the place of messages that say something else."""
_VALUES: Final = {0: "Off", 1: "On"}
_WORDED: Final[dict[str, dict[object, str]]] = {
    "accept_path_info": {2: "Default: for programs alone"},
    "strict_http": {True: "Strict"},
}
"""Values of settings in the words of their directives."""
_BY_STATUS: Final = {
    408: "the client did not send the request in time",
    412: "a condition of the request (If-Match, If-Unmodified-Since, If-None-Match) does not hold",
    413: "the body of the request is longer than the server takes",
    416: "Range asks for a part that the answer does not have",
}


def refusal_of(explained: Explained, status: int) -> CoreReason | None:
    """Return the reason for *status* that the core gives, None if there is none."""
    r = explained.final
    while r.prev is not None and r.prev.status == status:
        r = r.prev
    if r.notes.get("error-notes") == PLAIN:
        lines = r.plan.origin(SslServerConfig, "engine")[-1:]
        return CoreReason(lines, "the client speaks plain HTTP, and this port is one of TLS: ask with https")
    for line in reversed((*explained.log, *explained.unlogged)):
        if line.code in _SETTINGS:
            return _of_line(line, r, explained.plans.get(line.code, r.plan))
    if status == 405 and r.handler in (None, "default-handler"):
        return CoreReason(
            (), f"a file is sent for GET, HEAD, POST and OPTIONS alone, and no module takes {r.method}"
        )
    sentence = _BY_STATUS.get(status, "")
    return CoreReason((), sentence) if sentence else None


def _of_line(line: LogLine, r: Request, plan: Plan) -> CoreReason:
    """Return the refusal that *line* tells of; *plan*: the settings in force when it was logged."""
    setting = _SETTINGS[line.code]
    sentence = _WORDS.get(line.code, line.text.strip())
    if line.code == "AH00129":
        return _of_directory(r, plan, sentence)
    if line.code in _LINKS:
        path = line.text.rpartition(": ")[2]
        if not os.path.exists(to_bytes(r.deps.on_disk(path))):
            return CoreReason((), f"the target of the symbolic link {path} cannot be read")
        return CoreReason(option_lines(plan, ("followsymlinks", "symlinksifownermatch")), sentence)
    if line.code == "AH00026" and "%2f" not in r.untracked_target.lower():
        return CoreReason((), "the path has %00, which no file name contains")
    if setting is None:
        return CoreReason((), sentence)
    lines = plan.origin(setting.record, setting.field)[-1:]
    if setting is _SLASHES and plan.core.encoded_slashes:
        return CoreReason(lines, f"{sentence}, and this line does not hold in virtual hosts")
    return CoreReason(lines, sentence if lines else f"{sentence}: {_default(plan, setting)}")


def _of_directory(r: Request, plan: Plan, sentence: str) -> CoreReason:
    """Return why a directory is not found: it has no index file, and no module lists its files."""
    lines: tuple[Origin, ...] = ()
    if not plan.loaded("dir_module"):
        sentence = "mod_dir, which sends the index file of a directory, is not loaded"
    elif not r.uri.endswith("/"):
        lines = plan.origin(DirDirConfig, "add_slash")[-1:]
        sentence = "the path of the directory has no slash at its end, and none is added"
    else:
        lines = plan.origin(DirDirConfig, "names")[-1:]
        names = ", ".join(plan.dir_config(DirDirConfig).names or ("index.html",))
        sentence += f" ({names}{'' if lines else ', the default'})"
    if not plan.loaded("autoindex_module"):
        sentence += ", and mod_autoindex, which lists files, is not loaded"
    return CoreReason(lines, sentence)


def _default(plan: Plan, setting: DecidingSetting) -> str:
    """Return the default of a setting in words."""
    is_dir = setting.record is CoreDirConfig
    record = plan.core if is_dir else plan.server_core
    value = getattr(record, setting.field)
    words = _WORDED.get(setting.field, {}).get(value, "")
    if not words:
        words = str(value) if setting.field.startswith("limit") else _VALUES.get(value, str(value))
    return f"default of {setting.directive} ({words})"
