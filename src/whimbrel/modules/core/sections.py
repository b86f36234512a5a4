"""Containers of the core: <Directory>, <Files>, <Location>, their Match forms, <VirtualHost>, <Limit>, <If>.

A container makes a layer, executes its content for that layer, and adds it to its server or section. Manual:
sections.html, mod/core.html.
"""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.base.errors import ConfigError
from whimbrel.base.regex import without_end
from whimbrel.base.static_typing import Any, Final
from whimbrel.config.addresses import Unresolved, virtual_addresses
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.config.execute import (
    IN_SECTION,
    CommandContext,
    check_context,
    root_relative,
    state_of,
    working_directory,
)
from whimbrel.config.includes import has_wildcards
from whimbrel.config.model import Layer, Section, SectionKind, Server
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.directives.tokens import getword
from whimbrel.engine.expressions import read_condition
from whimbrel.modules.support.setters import Forbidden
from whimbrel.registry.methods import INVALID
from whimbrel.registry.settings import UNSET


def container_text(command: Command, words: list[str]) -> str:
    """Return the arguments before the bracket; raise ConfigError if it or they are missing."""
    text = _before_bracket(command, words)
    if not text:
        raise ConfigError(f"{command.name}> directive requires additional arguments")
    return text


def _before_bracket(command: Command, words: list[str]) -> str:
    text, bracket, _rest = words[0].rpartition(">")
    if not bracket:
        raise ConfigError(f"{command.name}> directive missing closing '>'")
    return text


def _no_more(command: Command, rest: str) -> None:
    if rest:
        raise ConfigError(f"Multiple {command.name}> arguments not (yet) supported.")


def _section(kind: SectionKind, state: CommandContext) -> Section:
    return Section(kind, "", Layer(kind, state.node.place))


def _set_regex(section: Section, state: CommandContext, pattern: str) -> None:
    section.regex = state.regex(pattern)
    section.pattern = pattern


def _set_directory(section: Section, state: CommandContext, pattern: str) -> None:
    """Set the regular expression of a section over whole paths; 2.2 matches its ``$`` at the end only."""
    state.regex(pattern)  # errors refer to the text as written
    _set_regex(section, state, without_end(pattern) if state.dialect.paths_have_no_end else pattern)


def set_directory(command: Command, _none: None, words: list[str]) -> None:
    """Set <Directory>: a canonical path that ends in a slash, or ``~`` and an expression."""
    state = state_of(command)
    check_context(command, Forbidden.DIR_CONTEXT)
    path, rest = getword(container_text(command, words))
    section = _section(SectionKind.DIRECTORY, state)
    if path == "~":
        path, rest = getword(rest)
        _set_directory(section, state, path)
    elif path != "/":
        path = root_relative("" if path[:1] == "/" else working_directory(), path).rstrip("/") + "/"
        if not has_wildcards(path):
            state.configuration.stand_in_directory(path, command.place, command.name)
    _finish_directory(command, section, path, rest)


def set_directory_match(command: Command, _none: None, words: list[str]) -> None:
    """Set <DirectoryMatch>: an expression over whole paths; a ``~`` before it is redundant."""
    state = state_of(command)
    check_context(command, Forbidden.DIR_CONTEXT)
    pattern, rest = getword(container_text(command, words))
    if pattern == "~":
        pattern, rest = getword(rest)
    section = _section(SectionKind.DIRECTORY_MATCH, state)
    _set_directory(section, state, pattern)
    _finish_directory(command, section, pattern, rest)


def _finish_directory(command: Command, section: Section, path: str, rest: str) -> None:
    state = state_of(command)
    section.pattern = path
    section.fnmatch = has_wildcards(path)
    section.components = 0 if path == "/" else path.count("/")
    state.execute_in(section.layer, path, IN_SECTION)
    state.current_server.add(section)
    _no_more(command, rest)


def set_location(command: Command, _none: None, words: list[str]) -> None:
    """Set <Location>, a URL path as written or ``~`` and an expression, or <LocationMatch>, an expression."""
    state = state_of(command)
    check_context(command, Forbidden.DIR_CONTEXT)
    path, rest = getword(container_text(command, words))
    is_match = command.name == "<LocationMatch"
    section = _section(SectionKind.LOCATION_MATCH if is_match else SectionKind.LOCATION, state)
    if path == "~" and not is_match:
        path, rest = getword(rest)
        is_match = True
    if is_match:
        _set_regex(section, state, path)
    section.pattern = path
    section.fnmatch = has_wildcards(path)
    state.execute_in(section.layer, path, IN_SECTION)
    state.current_server.add(section)
    _no_more(command, rest)


def set_files(command: Command, outer: CoreDirConfig, words: list[str]) -> None:
    """Set <Files>, a name or ``~`` and an expression, or <FilesMatch>, an expression, in its section."""
    state = state_of(command)
    path, rest = getword(container_text(command, words))
    is_match = command.name == "<FilesMatch"
    section = _section(SectionKind.FILES_MATCH if is_match else SectionKind.FILES, state)
    if path == "~" and not is_match:
        path, rest = getword(rest)
        is_match = True
    if is_match:
        _set_regex(section, state, path)
    else:
        path = _canonical(path)
    section.pattern = path
    section.fnmatch = has_wildcards(path)
    state.execute_in(section.layer, path, None if state.path else IN_SECTION)
    outer.files = [*([] if outer.files is UNSET else outer.files), section]
    _no_more(command, rest)


def _canonical(path: str) -> str:
    """Return a relative path without ``.``, ``..`` and doubled slashes."""
    return (
        path
        if "/" not in path and path not in (".", "..")
        else root_relative("/", path).lstrip("/" if path[:1] != "/" else "")
    )


# <If> --------------------------------------------------------------------------------------------
def conditional(kind: SectionKind) -> Callable[[Command, CoreDirConfig, list[str]], None]:
    """Return the setter of <If>, <ElseIf> or <Else>, which compiles the condition."""

    def apply(command: Command, outer: CoreDirConfig, words: list[str]) -> None:
        state = state_of(command)
        condition, rest = _condition(command, kind, words)
        section = Section(kind, "*If", Layer(kind, state.node.place), condition=condition)
        if kind is not SectionKind.ELSE:
            section.test = read_condition(command, condition, "Cannot parse condition clause")
        state.execute_in(section.layer, "*If", None if state.in_htaccess else IN_SECTION)
        before = [] if outer.ifs is UNSET else outer.ifs
        if kind is not SectionKind.IF and (not before or before[-1].kind is SectionKind.ELSE):
            raise ConfigError(
                "<Else> or <ElseIf> section without previous <If> or <ElseIf> section in same scope"
            )
        outer.ifs = [*before, section]
        if rest:
            raise ConfigError(f"Multiple {command.name}> arguments not supported.")

    return apply


def _condition(command: Command, kind: SectionKind, words: list[str]) -> tuple[str, str]:
    text = _before_bracket(command, words)
    if kind is SectionKind.ELSE:
        if text:
            raise ConfigError("<Else> does not take an argument")
        return "", ""
    if not text:
        raise ConfigError(f"{command.name}> directive requires additional arguments")
    return getword(text)


# <Limit> -----------------------------------------------------------------------------------------
def set_limit(command: Command, _conf: CoreDirConfig, words: list[str]) -> None:
    _limit(command, words, except_these=False)


def set_limit_except(command: Command, _conf: CoreDirConfig, words: list[str]) -> None:
    _limit(command, words, except_these=True)


def _limit(command: Command, words: list[str], *, except_these: bool) -> None:
    text = container_text(command, words)
    mask = 0
    while text:
        method, text = getword(text)
        mask |= 1 << _method_number(command, method, except_these)
    if except_these:
        mask = ~mask
    if command.dialect.limit_must_matter:
        if not command.methods & mask:
            raise ConfigError(f"{command.name}> directive excludes all methods")
        if command.methods & mask == command.methods:
            raise ConfigError(f"{command.name}> directive specifies methods already excluded")
    command.execute(command.node.children, methods=command.methods & mask)


def _method_number(command: Command, method: str, except_these: bool) -> int:
    methods = state_of(command).configuration.methods
    if method == "TRACE" and not except_these:
        raise ConfigError("TRACE cannot be controlled by <Limit>, see TraceEnable")
    number = methods.number(method)
    if number == INVALID:
        if command.in_htaccess and command.dialect.limit_must_matter:
            raise ConfigError(
                f"Could not register method '{method}' for {command.name} from .htaccess configuration"
            )
        number = methods.register(method)
    return number


# <VirtualHost> -----------------------------------------------------------------------------------
def set_virtual_host(command: Command, _none: None, words: list[str]) -> None:
    """Set <VirtualHost>: a virtual server; unresolvable addresses are omitted with a message."""
    state = state_of(command)
    text = container_text(command, words)
    if state.current_server.is_virtual:
        raise ConfigError("<VirtualHost> doesn't nest!")
    main = state.current_server
    server = Server(place=state.node.place, is_virtual=True, port=main.port, admin="")
    while text:
        word, text = getword(text)
        add_addresses(state, word, server.port, server.addresses)
    if server.addresses and server.addresses[0].port:
        server.port = server.addresses[0].port
    state.configuration.prepare_defaults(server)
    state.configuration.virtual_hosts.append(server)
    state.execute_server(server)


def add_addresses(state: CommandContext, word: str, port: int, to: list[Any]) -> None:
    """Add the addresses of *word* in <VirtualHost> or NameVirtualHost; an unknown name causes a message."""
    if not word:
        return
    try:
        to.extend(virtual_addresses(word, port, old=state.dialect.name_virtual_host))
    except Unresolved as problem:
        state.configuration.warn(
            f"Could not resolve host name {problem.host} -- ignoring!",
            code="AH00547",
            level="error",
            cause=problem.reason,
        )


DIR_SETTERS: Final[dict[str, Setter]] = {
    "<Files": set_files,
    "<FilesMatch": set_files,
    "<Limit": set_limit,
    "<LimitExcept": set_limit_except,
    "<If": conditional(SectionKind.IF),
    "<ElseIf": conditional(SectionKind.ELSE_IF),
    "<Else": conditional(SectionKind.ELSE),
}
SETTERS: Final[dict[str, Setter]] = {
    "<Directory": set_directory,
    "<Location": set_location,
    "<VirtualHost": set_virtual_host,
    "<DirectoryMatch": set_directory_match,
    "<LocationMatch": set_location,
}
