"""Settings and directives of mod_include."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Final
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.support.setters import set_choice, set_flag, set_text
from whimbrel.registry.settings import ReplacedRecord, setting

OFF = 0
ON = 1
FULL = 2
_HACKS: Final = {"off": OFF, "on": ON, "full": FULL}


@dataclass(slots=True)
class IncludeDirConfig:
    """Per-directory settings; *xbithack* is OFF, ON or FULL, texts are as written."""

    xbithack: int = setting(OFF)
    error: str = setting("[an error occurred while processing this directive]")
    time_format: str = setting("%A, %d-%b-%Y %H:%M:%S %Z")
    undefined: str = setting("(none)")
    legacy: bool = setting(False)
    last_modified: bool = setting(False)
    etag: bool = setting(False)


@dataclass(slots=True)
class IncludeServerConfig(ReplacedRecord):
    """Per-server settings: start tag and end tag of an element."""

    start: str = setting("<!--#")
    end: str = setting("-->")


def _set_tag(name: str) -> Setter:
    """Return a setter of a start or end tag."""

    def apply(cmd: Command, record: object, words: list[str]) -> None:
        if any(char in " \t\n\v\f\r" for char in words[0]):
            raise ConfigError(f"{cmd.name} may not contain any whitespaces")
        setattr(record, name, words[0])

    return apply


DIR_SETTERS: Final[dict[str, Setter]] = {
    "XBitHack": set_choice("xbithack", _HACKS, "XBitHack must be set to Off, On, or Full"),
    "SSIErrorMsg": set_text("error"),
    "SSITimeFormat": set_text("time_format"),
    "SSIUndefinedEcho": set_text("undefined"),
    "SSILegacyExprParser": set_flag("legacy"),
    "SSILastModified": set_flag("last_modified"),
    "SSIEtag": set_flag("etag"),
}
SERVER_SETTERS: Final[dict[str, Setter]] = {
    "SSIStartTag": _set_tag("start"),
    "SSIEndTag": _set_tag("end"),
}
