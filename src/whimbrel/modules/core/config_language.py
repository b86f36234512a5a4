"""Directives of the configuration language: Include, Define, <IfModule> and similar, Error, ServerRoot.

All but Error are executed while the file is read. Manual: mod/core.html; error messages are httpd's.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from whimbrel.base.errors import ConfigError, MissingResource
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.static_typing import Final
from whimbrel.config.configuration import Configuration
from whimbrel.config.execute import check_context, is_directory, root_relative, working_directory
from whimbrel.config.includes import MAX_DEPTH, Includer
from whimbrel.config.reader import Reader, reading
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Context, Setter
from whimbrel.directives.tokens import getword
from whimbrel.modules.support.setters import Forbidden

ON_READ = Context.ACCESS_CONF | Context.RSRC_CONF | Context.EXEC_ON_READ
ANYWHERE = Context.OR_ALL | Context.EXEC_ON_READ


def set_include(command: Command, _none: None, words: list[str]) -> None:
    """Execute Include: the file must exist, a wildcard must match (2.2: may match nothing)."""
    _include(reading(command), words[0], optional=False)


def set_include_optional(command: Command, _none: None, words: list[str]) -> None:
    _include(reading(command), words[0], optional=True)


def _include(reader: Reader, name: str, *, optional: bool) -> None:
    if reader.include_depth >= MAX_DEPTH:
        raise ConfigError(f"Exceeded maximum include depth of {MAX_DEPTH}, There appears to be a recursion.")
    path = root_relative(reader.configuration.root, name)
    place = reader.source.place()
    reader.configuration.include_line = place.line
    reader.include_depth += 1
    try:
        Includer(reader, optional=optional, line=place.line, included_from=place).include(path)
    finally:
        reader.include_depth -= 1


def set_define(command: Command, _none: None, words: list[str]) -> None:
    """Execute Define: <IfDefine> compares the name exactly, ``${NAME}`` ignores case."""
    if ":" in words[0]:
        raise ConfigError("Variable name must not contain ':'")
    configuration = reading(command).configuration
    configuration.defines[words[0]] = None
    configuration.decided_names.add(words[0])
    if len(words) > 1:
        configuration.variables[words[0].lower()] = words[1]


def set_undefine(command: Command, _none: None, words: list[str]) -> None:
    """Execute UnDefine: remove the variable and the name for <IfDefine>."""
    if ":" in words[0]:
        raise ConfigError("Variable name must not contain ':'")
    configuration = reading(command).configuration
    configuration.defines.pop(words[0], None)
    configuration.decided_names.add(words[0])
    configuration.variables.pop(words[0].lower(), None)


def set_error(_command: Command, _none: None, words: list[str]) -> None:
    """Execute Error: refuse the configuration with the given text, without enclosing quotes."""
    text = words[0]
    if not text:
        raise ConfigError("The Error directive was used with no message.")
    if text[0] in "\"'" and text[-1] == text[0]:
        text = text[1:-1]
    raise ConfigError(text)


def set_server_root(command: Command, _none: None, words: list[str]) -> None:
    """Execute ServerRoot: an existing directory, relative to the working directory."""
    check_context(command, Forbidden.GLOBAL_ONLY)
    configuration = reading(command).configuration
    path = root_relative(working_directory(), words[0])
    if configuration.options.is_copy:
        configuration.copied.declare_root(path)
        if configuration.disk.text_root:
            configuration.set_root(configuration.disk.text_root)
    elif is_directory(path):
        configuration.set_root(path)
    else:
        raise MissingResource("ServerRoot must be a valid directory")


# containers of reading ---------------------------------------------------------------------------
Test = Callable[[Configuration, str], bool]


def module_loaded(configuration: Configuration, name: str) -> bool:
    """Return True if a module is loaded, by source file (``mod_dir.c``) or identifier (``dir_module``)."""
    return name in configuration.modules


def defined(configuration: Configuration, name: str) -> bool:
    return name in configuration.defines


def file_exists(configuration: Configuration, name: str) -> bool:
    return os.path.exists(to_bytes(configuration.disk.on_disk(root_relative(configuration.root, name))))


def directive_known(configuration: Configuration, name: str) -> bool:
    return configuration.modules.rows(name) is not None


def section_known(configuration: Configuration, name: str) -> bool:
    return configuration.modules.rows(f"<{name}") is not None


def conditional(test: Test) -> Callable[[Command, None, list[str]], None]:
    """Return the setter of a container that is read if *test* of its first word holds; ``!`` negates it.

    2.2 takes all before the last ``>`` of its one word, 2.4 the first word before the last ``>`` of the line.
    """

    def apply(command: Command, _none: None, words: list[str]) -> None:
        reader = reading(command)
        text, bracket, _after = words[0].rpartition(">")
        if not bracket:
            raise ConfigError(f"{command.name}> directive missing closing '>'")
        negated = text[:1] == "!"
        name = text[1:] if negated else text
        if not command.dialect.lines_22:
            name = getword(name)[0]
        if not name:
            raise ConfigError(f"{command.name}> directive requires additional arguments")
        if test(reader.configuration, name) != negated:
            reader.block(command.name)
        else:
            reader.soak(command.name, words[0])

    return apply


_IF_MODULE = conditional(module_loaded)
_IF_DEFINE = conditional(defined)

SETTERS: Final[dict[str, Setter]] = {
    "<IfModule": _IF_MODULE,
    "<IfDefine": _IF_DEFINE,
    "<IfFile": conditional(file_exists),
    "<IfDirective": conditional(directive_known),
    "<IfSection": conditional(section_known),
    "Define": set_define,
    "UnDefine": set_undefine,
    "Error": set_error,
    "ServerRoot": set_server_root,
    "Include": set_include,
    "IncludeOptional": set_include_optional,
}
