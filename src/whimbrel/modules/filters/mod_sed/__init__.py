"""mod_sed: the filter Sed runs sed scripts on response and request bodies.

Public: MODULE; files: parser (with arguments, regexp), script (parsed commands), executor (with substitution,
listing, files), filters. The language is that of Solaris sed.
Must not import: server, cli.
"""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter, Versions
from whimbrel.modules.filters.mod_sed.filters import SED_INPUT, SED_OUTPUT, SedDirConfig
from whimbrel.modules.filters.mod_sed.parser import Parser, ScriptError
from whimbrel.registry.module import Module, Provider


def add_script(name: str) -> Setter:
    """Return the setter that continues the script of the field *name*."""

    def apply(_cmd: Command, conf: SedDirConfig, words: list[str]) -> None:
        parser = conf.parsers.setdefault(name, Parser())
        try:
            parser.add(words[0])
        except ScriptError as problem:
            raise ConfigError(f"Failed to compile sed expression. {problem}") from None
        setattr(conf, name, parser.script())

    return apply


MODULE = Module(
    name="sed_module",
    source="mod_sed.c",
    dir_config=SedDirConfig,
    dir_setters={
        "OutputSed": add_script("output"),
        "InputSed": add_script("input"),
    },
    providers=(
        Provider("output_filter", "sed", SED_OUTPUT),
        Provider("input_filter", "sed", SED_INPUT),
    ),
    versions=Versions.V24,
)
