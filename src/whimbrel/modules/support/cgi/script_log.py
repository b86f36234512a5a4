"""What mod_cgi and mod_cgid share: settings, the handler, and ScriptLog (mod/mod_cgi.html#scriptlog)."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import BLANKS, atoi
from whimbrel.base.programs import require_programs
from whimbrel.base.static_typing import Any
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.support.setters import set_number, set_path, timeout
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.http.semantics.headers import Headers


@dataclass(slots=True)
class ScriptLogServerConfig:
    """Per-server settings: the file ("" for none), its maximum size, bytes of a body in the log."""

    path: str = setting("")
    length: int = setting(10385760)
    buffer: int = setting(1024)


SERVER_SETTERS: Final[dict[str, Setter]] = {
    "ScriptLog": set_path("path"),
    "ScriptLogLength": set_number("length"),
    "ScriptLogBuffer": set_number("buffer"),
}


@dataclass(slots=True)
class ScriptDirConfig:
    """CGIScriptTimeout or CGIDScriptTimeout in seconds; 0: TimeOut."""

    timeout: float = setting(0.0)


def set_script_timeout(cmd: Command, conf: ScriptDirConfig, words: list[str]) -> None:
    """Set a time with or without unit; 2.2 accepts negative ones too."""
    time = timeout(words[0])
    if (
        time is None
        and cmd.dialect.lenient_values
        and timeout(words[0].lstrip(BLANKS).removeprefix("-")) is not None
    ):
        time = max(0, atoi(words[0]))
    if time is None:
        raise ConfigError(f"{cmd.name} has wrong format")
    conf.timeout = time / 1_000_000


def script_handler(scope: Scope, log_conf: ScriptLogServerConfig, *variant: Any) -> CompiledHook:
    """Return the handler cgi-script of a module; *variant*: the fields of its `CgiVariant`."""
    from whimbrel.modules.support.cgi import script  # its import takes 50 ms, which -t must not pay

    seconds = script.timeout_of(scope, scope.dir_config(ScriptDirConfig).timeout)
    run = script.make_runner(script.CgiVariant(*variant), ScriptLog(log_conf), seconds)
    return CompiledHook(run, Reads.HEAD | Reads.FILES, is_async=True, handlers=frozenset(script.HANDLERS))


class ScriptLog:
    """Writer of entries; a log that is full or cannot be opened is skipped."""

    def __init__(self, conf: ScriptLogServerConfig) -> None:
        self.path = conf.path
        self.length = conf.length
        self.buffer = max(0, conf.buffer)

    def error(self, r: Request, status: int, text: str) -> None:
        """Log a refusal, or a line of the program's standard error."""
        self._write(r, status, f"%error\n{text}\n")

    def failure(self, r: Request, status: int, body: str, bad: str, rest: str) -> None:
        """Log a program without a head: request, body, parsed fields, the bad line and the rest."""
        text = "%request\n" + _fields(r.headers_in)
        if r.method in ("POST", "PUT") and body:
            text += f"\n{body}\n"
        text += "%response\n" + _fields(r.err_headers_out)
        if bad:
            text += f"{bad}\n"
        if rest:
            text += f"%stdout\n{rest}\n"
        self._write(r, status, text)

    def _write(self, r: Request, status: int, text: str) -> None:
        if not self.path:
            return
        query = f"?{r.args}" if r.args else ""
        entry = (
            f"%% [{time.ctime()}] {r.method} {r.uri}{query} {r.protocol}\n%% {status} {r.filename}\n{text}"
        )
        try:
            require_programs()
            if os.path.exists(to_bytes(self.path)) and os.path.getsize(to_bytes(self.path)) > self.length:
                return
            with open(to_bytes(self.path), "ab") as file:
                file.write(to_bytes(entry))
        except OSError:
            return


def _fields(headers: Headers) -> str:
    return "".join(f"{name}: {value}\n" for name, value in headers.items())
