"""ExtFilterDefine: its parameters, and the settings records of mod_ext_filter."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import atoi
from whimbrel.engine.output.filter import FilterType
from whimbrel.registry.settings import setting
from whimbrel.syntax.words import skip_blanks, tokenize_argv

_WORD = compile(r"[^ \t\n\v\f\r]*")
_QUOTED = compile(r'"((?:\\.|[^\\"])*)"', 16)  # 16: re.DOTALL
_FLAG: Final = "preservescontentlength"
_KEYS: Final = ("mode=", "ftype=", "enableenv=", "disableenv=", "intype=", "outtype=", "cmd=")


@dataclass(slots=True)
class ExtFilterDefinition:
    """One external filter.

    Attributes:
        argv: the command line; its first word is the program's file.
        intype: the only media type that is filtered; "" for all. outtype: that of the output; "" leaves it.
        enable_env, disable_env: variables that must be, or must not be set; "" for no condition.
        preserves_length: the program does not change the length.
    """

    name: str
    is_input: bool = False
    type: int = FilterType.RESOURCE
    argv: tuple[str, ...] = ()
    intype: str = ""
    outtype: str = ""
    enable_env: str = ""
    disable_env: str = ""
    preserves_length: bool = False

    @property
    def command(self) -> str:
        """The program's file as written."""
        return self.argv[0] if self.argv else ""


@dataclass(slots=True)
class ExtFilterServerConfig:
    """Per-server settings: the filters by name in lower case."""

    definitions: dict[str, ExtFilterDefinition] = setting(make=dict)


@dataclass(slots=True)
class ExtFilterDirConfig:
    """Per-directory settings.

    Attributes:
        log_stderr: standard error goes to the error log.
        is_removed: a filter that cannot be started leaves the chain, else the request fails.
        debug_level: DebugLevel of 2.2.
    """

    log_stderr: bool = setting(False)
    is_removed: bool = setting(False)
    debug_level: int = setting(0)


def parse_definition(text: str, defined: Container[str]) -> ExtFilterDefinition:
    """Return the definition in the arguments *text*; *defined* are the names that are taken, in lower case.

    Raises:
        ConfigError: with httpd's message.
    """
    name, at = _word(text, 0)
    if name.lower() in defined:
        raise ConfigError(f"ExtFilter {name} is already defined")
    out = ExtFilterDefinition(name)
    while at < len(text):
        at = _parameter(out, text, skip_blanks(text, at))
    return out


def _parameter(out: ExtFilterDefinition, text: str, at: int) -> int:
    """Read the parameter at *at* into *out*; return where the next one begins."""
    rest = text[at:].lower()
    if rest.startswith(_FLAG):
        word, at = _word(text, at)
        if word.lower() != _FLAG:
            raise ConfigError(f"mangled argument `{word}'")
        out.preserves_length = True
        return at
    key = next((key for key in _KEYS if rest.startswith(key)), None)
    if key is None:
        raise ConfigError(f"Unexpected parameter: `{text[at:]}'")
    at += len(key)
    if key == "cmd=" and text[at : at + 1] == '"':
        return _command_line(out, text, at)
    word, at = _word(text, at)
    if key == "cmd=":
        out.argv = (word,)
    elif key == "mode=":
        if word.lower() not in ("input", "output"):
            raise ConfigError(f"Invalid mode: `{word}'")
        out.is_input = word.lower() == "input"
    elif key == "ftype=":
        out.type = atoi(word)
    elif key == "enableenv=":
        out.enable_env = word
    elif key == "disableenv=":
        out.disable_env = word
    elif key == "intype=":
        out.intype = word
    else:
        out.outtype = word
    return at


def _command_line(out: ExtFilterDefinition, text: str, at: int) -> int:
    """Read the quoted command line at *at*."""
    match = _QUOTED.match(text, at)
    if match is None:
        raise ConfigError("Expected cmd= delimiter")
    out.argv = tuple(tokenize_argv(match[1]))
    if not out.argv:
        raise ConfigError("Invalid cmd= parameter")
    return match.end()


def _word(text: str, at: int) -> tuple[str, int]:
    """Return the word at *at* and where the next one begins (ap_getword_white)."""
    match = _WORD.match(text, at)
    assert match is not None
    return match[0], skip_blanks(text, match.end())
