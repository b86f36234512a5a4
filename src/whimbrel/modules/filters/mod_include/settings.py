"""Settings and directives of mod_include."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Any, Final
from whimbrel.directives.command import Command
from whimbrel.directives.spec import AnyDirective, Args, ConfigScope, Context, Directive, Versions
from whimbrel.modules.support.setters import Setter, set_flag
from whimbrel.registry.settings import setting

OFF, ON, FULL = 0, 1, 2
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


def set_hack(_cmd: Command, conf: IncludeDirConfig, words: list[str]) -> None:
    """Set XBitHack: Off, On or Full."""
    value = _HACKS.get(words[0].lower())
    if value is None:
        raise ConfigError("XBitHack must be set to Off, On, or Full")
    conf.xbithack = value


def _set_some(name: str) -> Setter:
    """Return a setter of a word; the reader has refused an empty one."""

    def apply(_cmd: Command, record: Any, words: list[str]) -> None:
        setattr(record, name, words[0])

    return apply


def _set_tag(name: str) -> Setter:
    """Return a setter of a start or end tag."""

    def apply(cmd: Command, record: Any, words: list[str]) -> None:
        if any(char in " \t\n\v\f\r" for char in words[0]):
            raise ConfigError(f"{cmd.name} may not contain any whitespaces")
        setattr(record, name, words[0])

    return apply


def _flag(name: str, field: str, text: str, versions: Versions = Versions.BOTH) -> AnyDirective:
    words = f"{text} Limited to 'on' or 'off'"
    return Directive(
        name=name,
        args=Args.FLAG,
        where=Context.OR_LIMIT,
        apply=set_flag(field),
        versions=versions,
        help=words,
    )


DIRECTIVES: tuple[AnyDirective, ...] = (
    Directive(
        name="XBitHack", args=Args.TAKE1, where=Context.OR_OPTIONS, apply=set_hack, help="Off, On, or Full"
    ),
    Directive(
        name="SSIErrorMsg", args=Args.TAKE1, where=Context.OR_ALL, apply=_set_some("error"), help="a string"
    ),
    Directive(
        name="SSITimeFormat",
        args=Args.TAKE1,
        where=Context.OR_ALL,
        apply=_set_some("time_format"),
        help="a strftime(3) formatted string",
    ),
    Directive(
        name="SSIStartTag",
        args=Args.TAKE1,
        where=Context.RSRC_CONF,
        apply=_set_tag("start"),
        record=ConfigScope.SERVER,
        help="SSI Start String Tag",
    ),
    Directive(
        name="SSIEndTag",
        args=Args.TAKE1,
        where=Context.RSRC_CONF,
        apply=_set_tag("end"),
        record=ConfigScope.SERVER,
        help="SSI End String Tag",
    ),
    Directive(
        name="SSIUndefinedEcho",
        args=Args.TAKE1,
        where=Context.OR_ALL,
        apply=_set_some("undefined"),
        help="String to be displayed if an echoed variable is undefined",
    ),
    _flag(
        "SSILegacyExprParser",
        "legacy",
        "Whether to use the legacy expression parser compatible with <= 2.2.x.",
        Versions.V24,
    ),
    _flag(
        "SSILastModified",
        "last_modified",
        "Whether to set the last modified header or respect an existing header.",
    ),
    _flag(
        "SSIEtag",
        "etag",
        "Whether to allow the generation of ETags within the server. Existing ETags will be preserved.",
    ),
)
