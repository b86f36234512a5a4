"""Names and document roots of servers: ServerName, ServerAlias, ServerPath, DocumentRoot, NameVirtualHost.

Manual: vhosts/, mod/core.html.
"""

from __future__ import annotations

from whimbrel.base.errors import ConfigError, MissingDirectory, MissingResource
from whimbrel.base.numbers import strtol
from whimbrel.base.static_typing import Final
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.execute import check_context, state_of
from whimbrel.config.includes import has_wildcards
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.directives.tokens import words as split_words
from whimbrel.modules.core.sections import add_addresses
from whimbrel.modules.support.setters import Forbidden


def set_server_name(command: Command, _none: None, words: list[str]) -> None:
    """Set ServerName [scheme://]host[:port]."""
    check_context(command, Forbidden.DIR_CONTEXT)
    server = state_of(command).current_server
    text = words[0]
    if has_wildcards(text) and not command.dialect.lenient_values:
        raise ConfigError(f'Invalid ServerName "{text}" use ServerAlias to set multiple server names.')
    scheme, separator, rest = text.partition("://")
    if separator:
        server.scheme = scheme.lower()
        text = rest
    host, colon, port = text.partition(":")
    server.name = host
    server.port = 0
    server.named = True
    if colon:
        server.port = strtol(port)[0]
        if not 0 < server.port < 65536:
            server.port = 0
            raise ConfigError(
                f'The port number "{words[0]}" is outside the appropriate range (i.e., 1..65535).'
            )


def set_server_alias(command: Command, _none: None, words: list[str]) -> None:
    """Set ServerAlias: further names, ``*`` and ``?`` allowed."""
    server = state_of(command).current_server
    if not server.is_virtual:
        raise ConfigError("ServerAlias only used in <VirtualHost>")
    names = split_words(words[0])
    wild = [name for name in names if "*" in name or "?" in name]
    if wild:
        server.wild_names = [*server.wild_names, *wild]
    if len(wild) < len(names):
        server.names = [*server.names, *(name for name in names if name not in wild)]


def set_server_path(command: Command, _none: None, words: list[str]) -> None:
    check_context(command, Forbidden.DIR_CONTEXT)
    state_of(command).current_server.path = words[0]


def set_document_root(command: Command, conf: CoreServerConfig, words: list[str]) -> None:
    """Set DocumentRoot: it must exist for the main server; a virtual host only causes a warning."""
    check_context(command, Forbidden.DIR_CONTEXT)
    path = command.document_path(words[0])
    configuration = state_of(command).configuration
    options = configuration.options
    if path in configuration.known_directories or not options.check_roots:
        pass  # thousands of hosts may name the same directory
    elif configuration.disk.is_directory(path):
        configuration.known_directories.add(path)
    elif options.is_elsewhere:
        if configuration.disk.is_file(path) and not command.in_virtual_host:
            reason = f"DocumentRoot '{path}' is not a directory, or is not readable"
            configuration.missing.append(MissingResource(reason, command.place, matters=True))
        else:
            reason = f"DocumentRoot '{path}' is not here"
            problem = MissingDirectory(reason, command.place, is_of_host=command.in_virtual_host)
            configuration.missing.append(problem)
        configuration.known_directories.add(path)
    else:
        if not command.in_virtual_host:
            raise ConfigError(
                f"DocumentRoot '{path}' is not a directory, or is not readable"
                if command.dialect.messages_24
                else "DocumentRoot must be a directory"
            )
        command.warn(f"Warning: DocumentRoot [{path}] does not exist", code="AH00112", level="startup")
    conf.document_root = path


def set_name_virtual_host(command: Command, _none: None, words: list[str]) -> None:
    """Execute NameVirtualHost: 2.4 only warns, once, that it has no effect."""
    state = state_of(command)
    if not command.dialect.name_virtual_host:
        if state.configuration.name_virtual_hosts:
            return
        place = f"{command.place.path}:{command.place.line}"
        state.configuration.name_virtual_hosts.append(words[0])
        command.warn(
            f"NameVirtualHost has no effect and will be removed in the next release {place}",
            code="AH00548",
            level="startup",
        )
        return
    add_addresses(state, words[0], state.current_server.port, state.configuration.name_virtual_hosts)


SERVER_SETTERS: Final[dict[str, Setter]] = {
    "DocumentRoot": set_document_root,
}
SETTERS: Final[dict[str, Setter]] = {
    "ServerName": set_server_name,
    "ServerAlias": set_server_alias,
    "ServerPath": set_server_path,
    "NameVirtualHost": set_name_virtual_host,
}
