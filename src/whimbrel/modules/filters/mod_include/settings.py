"""Settings and directives of mod_include."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Final
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.support.setters import replaced, set_flag
from whimbrel.registry.settings import setting

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
class IncludeServerConfig:
    """Per-server settings: start tag and end tag of an element."""

    start: str = setting("<!--#")
    end: str = setting("-->")

    def merge_onto(self, base: IncludeServerConfig) -> IncludeServerConfig:
        """httpd has no merge: a host with one of the tags takes none of the main server."""
        merged: IncludeServerConfig = replaced(base, self)
        return merged


def set_hack(_cmd: Command, conf: IncludeDirConfig, words: list[str]) -> None:
    """Set XBitHack: Off, On or Full."""
    value = _HACKS.get(words[0].lower())
    if value is None:
        raise ConfigError("XBitHack must be set to Off, On, or Full")
    conf.xbithack = value


def _set_some(name: str) -> Setter:
    """Return a setter of a word; the reader has refused an empty one."""

    def apply(_cmd: Command, record: object, words: list[str]) -> None:
        setattr(record, name, words[0])

    return apply


def _set_tag(name: str) -> Setter:
    """Return a setter of a start or end tag."""

    def apply(cmd: Command, record: object, words: list[str]) -> None:
        if any(char in " \t\n\v\f\r" for char in words[0]):
            raise ConfigError(f"{cmd.name} may not contain any whitespaces")
        setattr(record, name, words[0])

    return apply


DIR_SETTERS: Final[dict[str, Setter]] = {
    "XBitHack": set_hack,
    "SSIErrorMsg": _set_some("error"),
    "SSITimeFormat": _set_some("time_format"),
    "SSIUndefinedEcho": _set_some("undefined"),
    "SSILegacyExprParser": set_flag("legacy"),
    "SSILastModified": set_flag("last_modified"),
    "SSIEtag": set_flag("etag"),
}
SERVER_SETTERS: Final[dict[str, Setter]] = {
    "SSIStartTag": _set_tag("start"),
    "SSIEndTag": _set_tag("end"),
}
