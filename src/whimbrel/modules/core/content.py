"""Handlers, media types and filters that directives set, and variables of CGI programs.

Manual: mod/core.html#sethandler and neighbours.
"""

from __future__ import annotations

from functools import cache

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import lower
from whimbrel.base.static_typing import Final
from whimbrel.catalogue.handlers import handler_table
from whimbrel.catalogue.load import catalogue
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.config.execute import state_of
from whimbrel.config.handlers import note_handler, version_text
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.engine.expressions import read_string
from whimbrel.modules.support.setters import own, set_flag, set_text, set_value


@cache
def lacking_handlers(version: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the unimplemented handlers, with the identifiers of httpd's modules that implement each."""
    from whimbrel.modules import ALL

    built = frozenset(ALL)
    known = catalogue(version)
    rows = (
        (name, map(known.module_of_file, files))
        for name, files in handler_table(version).items()
        if built.isdisjoint(files)
    )
    handlers = ((name, tuple(row.identifier for row in modules if row is not None)) for name, modules in rows)
    return tuple((name, modules) for name, modules in handlers if modules)


def read_handlers(configuration: Configuration) -> None:
    """Fill the cache of `lacking_handlers` in the master: a worker may not be allowed to read the tables."""
    lacking_handlers(version_text(configuration.dialect))


def set_default_type(cmd: Command, conf: CoreDirConfig, words: list[str]) -> None:
    """Set DefaultType; 2.4 ignores it and warns of any value but ``none``."""
    conf.default_type = words[0].lower()
    if not cmd.dialect.default_type and words[0].lower() != "none":
        cmd.warn(
            f"Ignoring deprecated use of DefaultType in line {cmd.place.line} of {cmd.place.path}.",
            code="AH00117",
        )


def set_type(cmd: Command, conf: CoreDirConfig, words: list[str]) -> None:
    """Set ForceType, in lower case."""
    note_handler(state_of(cmd), words[0], is_type=True)
    conf.forced_type = words[0].lower()


def handler_name_of(text: str) -> str:
    """Return *text* of SetHandler as a handler's name: in lower case, but for the path of a socket."""
    return text if text.startswith("proxy:unix:") else lower(text)


def set_handler(cmd: Command, conf: CoreDirConfig, words: list[str]) -> None:
    """Set SetHandler: a name (`handler_name_of`), or in 2.4 an expression, marked by ``%{``."""
    word = words[0]
    note_handler(state_of(cmd), word)
    if not cmd.dialect.expressions or "%{" not in word:
        conf.handler = handler_name_of(word) if cmd.dialect.expressions else lower(word)
        conf.handler_expr = None
        return
    conf.handler_expr = read_string(cmd, word, "Can't parse expression ")
    conf.handler = None


def add_filter_by_type(cmd: Command, conf: CoreDirConfig, words: list[str]) -> None:
    """Set AddOutputFilterByType of 2.2: filters (separated by ``;``) of a media type, compared with case;
    wildcards have no effect.
    """
    names = words[0].split(";")
    if not names[0]:
        raise ConfigError("invalid filter name")
    known = own(conf, "filters_by_type", dict)
    kind = words[1]
    conf.filters_by_type = {**known, kind: known.get(kind, []) + [n for n in names if n]}


_CGI_RULES = ("current-uri", "original-uri")


def set_cgi_var(_cmd: Command, conf: CoreDirConfig, words: list[str]) -> None:
    """Set CGIVar REQUEST_URI current-uri|original-uri: the name is case-sensitive, the rule is not."""
    if words[0] != "REQUEST_URI":
        raise ConfigError(f'Unrecognized CGI variable: "{words[0]}"')
    if words[1].lower() not in _CGI_RULES:
        raise ConfigError("Valid rules for REQUEST_URI are 'current-uri' and 'original-uri'")
    conf.cgi_vars = {**own(conf, "cgi_vars", dict), words[0]: words[1].lower()}


_CHARSETS: Final = {"on": "iso-8859-1", "off": ""}
DIR_SETTERS: Final[dict[str, Setter]] = {
    "AddDefaultCharset": set_value("add_default_charset", lambda word: _CHARSETS.get(word.lower(), word)),
    "DefaultType": set_default_type,
    "ForceType": set_type,
    "SetHandler": set_handler,
    "SetOutputFilter": set_text("output_filters"),
    "SetInputFilter": set_text("input_filters"),
    "AddOutputFilterByType": add_filter_by_type,
    "CGIPassAuth": set_flag("cgi_pass_auth"),
    "CGIVar": set_cgi_var,
}
