"""mod_version: <IfVersion>."""

from __future__ import annotations

from collections.abc import Callable
from operator import eq, ge, gt, le, lt

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_re import compile
from whimbrel.base.regex import RegexError, compile_regex
from whimbrel.config.reader import reading
from whimbrel.directives.command import Command
from whimbrel.registry.module import Module

_BAD_VERSION = (
    "Version appears to be invalid. It must have the format major[.minor[.patch]] where major, "
    "minor and patch are numbers."
)
Version = tuple[int, int, int]
_NUMBER = compile(r"[0-9]+(?:\.[0-9]*){0,2}\.?")


def set_if_version(command: Command, _none: None, words: list[str]) -> None:
    """<IfVersion [[!]operator] version>: include or skip the section by the version of the dialect."""
    reader = reading(command)
    if holds(command.name, words, command.dialect.version):
        reader.block(command.name)
    else:
        reader.soak(command.name, " ".join(words))


def holds(name: str, words: list[str], version: Version) -> bool:
    """Return True if *version* satisfies *words*, which include the closing bracket; a version between
    slashes is an expression.

    Raises ConfigError; *name* is the container's in its text.
    """
    operator, last, bracket = _arranged(words)
    if bracket != ">" and last[-1:] != ">":
        raise ConfigError(f"{name}> directive missing closing '>'")
    text = last if bracket == ">" else last[:-1]
    negated = operator[:1] == "!"
    plain = operator[1:] if negated and len(operator) > 1 else operator
    if plain in ("=", "==") and text[:1] == "/":
        if len(text) < 2 or text[-1] != "/":
            raise ConfigError("Missing delimiting / of regular expression.")
        held = _matches(text[1:-1], version)
    elif plain == "~":
        held = _matches(text, version)
    elif plain in _COMPARE:
        held = _COMPARE[plain](version, _number(text))
    else:
        raise ConfigError(f"unrecognized operator '{operator}'")
    return held != negated


def _arranged(words: list[str]) -> tuple[str, str, str]:
    """Return operator, version and the rest.

    One argument is a version; after a quoted version the bracket is an argument of its own.
    """
    operator, version, third = (*words, "", "")[:3] if len(words) > 1 else ("=", words[0], "")
    if not third and version == ">":
        return "=", operator, ">"
    return operator, version, third


_COMPARE: dict[str, Callable[[Version, Version], bool]] = {
    "=": eq,
    "==": eq,
    ">": gt,
    ">=": ge,
    "<": lt,
    "<=": le,
}


def _number(text: str) -> Version:
    """Parse ``major[.minor[.patch]]``; missing parts are 0."""
    if not _NUMBER.fullmatch(text):
        raise ConfigError(_BAD_VERSION)
    major, minor, patch = [int(part or 0) for part in (*text.split("."), "", "")[:3]]
    return major, minor, patch


def _matches(pattern: str, version: Version) -> bool:
    try:
        return compile_regex(pattern).search(".".join(map(str, version))) is not None
    except RegexError:
        raise ConfigError("Unable to compile regular expression") from None


MODULE = Module(
    name="version_module",
    source="mod_version.c",
    setters={
        "<IfVersion": set_if_version,
    },
)
