"""mod_ext_filter: programs as output and input filters.

Public: MODULE.
Must not import: other modules.
"""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import atoi
from whimbrel.directives.command import Command
from whimbrel.modules.filters.mod_ext_filter.definition import (
    ExtFilterDirConfig,
    ExtFilterServerConfig,
    parse_definition,
)
from whimbrel.modules.filters.mod_ext_filter.filters import ExtInputFilter, ExtOutputFilter
from whimbrel.modules.support.setters import own
from whimbrel.registry.module import Module

_OPTIONS = {
    "logstderr": ("log_stderr", True),
    "nologstderr": ("log_stderr", False),
    "onfail=remove": ("is_removed", True),
    "onfail=abort": ("is_removed", False),
}


def define(cmd: Command, conf: ExtFilterServerConfig, words: list[str]) -> None:
    """Define a filter of this server, and register its name."""
    definitions = own(conf, "definitions", dict)
    defined = parse_definition(words[0], definitions)
    name = defined.name.lower()
    conf.definitions = {**definitions, name: defined}
    if defined.is_input:
        cmd.register_provider("input_filter", name, ExtInputFilter(defined))
    else:
        cmd.register_provider("output_filter", name, ExtOutputFilter(defined))


def set_option(cmd: Command, conf: ExtFilterDirConfig, words: list[str]) -> None:
    """Set one option; DebugLevel is one of 2.2 only."""
    word = words[0].lower()
    if word in _OPTIONS:
        setattr(conf, *_OPTIONS[word])
    elif word.startswith("debuglevel=") and not cmd.dialect.messages_24:
        conf.debug_level = atoi(word.partition("=")[2])
    else:
        raise ConfigError(f"Invalid ExtFilterOptions option: {words[0]}")


MODULE = Module(
    name="ext_filter_module",
    source="mod_ext_filter.c",
    dir_config=ExtFilterDirConfig,
    server_config=ExtFilterServerConfig,
    dir_setters={
        "ExtFilterOptions": set_option,
    },
    server_setters={
        "ExtFilterDefine": define,
    },
)
