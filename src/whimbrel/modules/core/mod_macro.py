"""mod_macro: <Macro>, Use, UndefMacro.

A macro's lines are stored as text; Use inserts them, with the arguments replaced, before the next line.
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.numbers import strip
from whimbrel.config.configuration import Configuration
from whimbrel.config.read_budget import FILE_COST, LINE_COST
from whimbrel.config.reader import Reader, reading
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Versions
from whimbrel.directives.tokens import getword
from whimbrel.directives.tokens import words as split_words
from whimbrel.registry.module import Module

PREFIXES = "$%@"
QUOTING = "@"  # prefix of arguments whose values are inserted in quotes


@dataclass(slots=True)
class Macro:
    """One definition: its *location*, and *lines* of content without comments."""

    name: str
    location: str
    arguments: list[str]
    lines: list[str] = field(default_factory=list)
    allows_empty: bool = False
    allows_nesting: bool = False

    def __str__(self) -> str:
        return f"macro '{self.name}' ({self.location})"


@dataclass(slots=True)
class Macros:
    """Macros defined so far during one reading; *any* stays True after all were removed."""

    by_name: dict[str, Macro] = field(default_factory=dict)
    any: bool = False
    allows_empty: bool = False
    allows_nesting: bool = False


def warn(configuration: Configuration, code: str, text: str) -> None:
    configuration.warn(text, code=code, module="macro")


# definition --------------------------------------------------------------------------------------
def set_macro(command: Command, _none: None, words: list[str]) -> None:
    """Execute <Macro name arguments>: read up to </Macro> and store the content."""
    reader = reading(command)
    macros = reader.memory(Macros)
    place = reader.source.place()
    text, bracket, after = words[0].rpartition(">")
    if not bracket:
        raise ConfigError("<Macro> directive missing closing '>'")
    if not text:
        raise ConfigError("<Macro macro definition: empty name")
    _nothing_after(reader, "AH02801: non blank chars found after <Macro closing '>'", after)
    name, rest = getword(text)
    name = name.lower()
    if not name:
        raise ConfigError("<Macro macro definition: name not found")
    known = macros.by_name.get(name)
    if known:
        warn(
            reader.configuration,
            "AH02802",
            f"macro '{name}' multiply defined: {known.location}, redefined on line {place.line} of "
            f'"{place.path}"',
        )
    macro = Macro(
        name,
        f'defined on line {place.line} of "{place.path}"',
        [],
        allows_empty=macros.allows_empty,
        allows_nesting=macros.allows_nesting,
    )
    if name[0] in PREFIXES:
        warn(reader.configuration, "AH02803", f"{macro} better prefix a macro name with any of '{PREFIXES}'")
    macro.arguments = split_words(_flags(reader.configuration, macro, rest))
    _check_arguments(reader.configuration, macro)
    try:
        macro.lines = list(_contents(reader, macro))
    except ConfigError as problem:
        raise ConfigError(f"{macro}\n\tcontents error: {problem.reason}") from None
    _check_contents(reader.configuration, macro)
    macros.by_name[name] = macro
    macros.any = True


def _nothing_after(reader: Reader, what: str, text: str) -> None:
    if strip(text):
        source = reader.source
        warn(reader.configuration, "AH02989", f"{what} on line {source.number} of {source.path}: {text}")


def _flags(configuration: Configuration, macro: Macro, text: str) -> str:
    """Remove the flags ``/IgnoreEmptyArgs`` and ``/IgnoreBadNesting``; of an unknown flag only the slash."""
    while text[:1] == "/":
        word, rest = getword(text)
        if word.lower() == "/ignoreemptyargs":
            macro.allows_empty = True
            text = rest
        elif word.lower() == "/ignorebadnesting":
            macro.allows_nesting = True
            text = rest
        else:
            warn(configuration, "AH02804", f"{macro}: unknown flag '{text}'")
            text = text[1:]
    return text


def _check_arguments(configuration: Configuration, macro: Macro) -> None:
    names = macro.arguments
    for number, name in enumerate(names, 1):
        if not name:
            raise ConfigError(f"{macro}: empty argument #{number} name")
        if name[0] not in PREFIXES:
            warn(
                configuration,
                "AH02796",
                f"{macro} argument name '{name}' (#{number}) without expected prefix, "
                f"better prefix argument names with one of '{PREFIXES}'.",
            )
        if name.startswith("${") and name.endswith("}"):
            warn(
                configuration,
                "AH02805",
                f"{macro} argument name '{name}' (#{number}) clashes with 'Define' syntax '${{...}}', "
                "better use '$(...)'.",
            )
        for other_number, other in enumerate(names[number:], number + 1):
            if name == other:
                raise ConfigError(
                    f"argument name conflict in {macro}: argument '{name}': #{number} and #{other_number}, "
                    "change argument names!"
                )
            if other and (name.startswith(other) or other.startswith(name)):
                warn(
                    configuration,
                    "AH02797",
                    f"{macro}: argument name prefix conflict ({name} #{number} and {other} #{other_number}), "
                    "be careful about your macro definition!",
                )


def _contents(reader: Reader, macro: Macro) -> Iterator[str]:
    """Iterate over the lines up to the macro's </Macro>; comments are dropped, nesting is checked."""
    start = reader.source.number
    nesting = 1
    depth = 1
    for line in reader.source.raw_lines():
        if line[:1] == "#":
            continue
        first = getword(line)[0]
        if first[:2] == "</":
            nesting -= 1
            if nesting < 0 and not macro.allows_nesting:
                warn(
                    reader.configuration,
                    "AH02793",
                    f"bad (negative) nesting on line {reader.source.number - start} of {macro}",
                )
        elif first[:1] == "<":
            nesting += 1
        if first.lower() == "</macro>":
            _nothing_after(
                reader, "AH02794: non blank chars found after directive closing", line.rpartition(">")[2]
            )
            depth -= 1
            if not depth:
                if nesting and not macro.allows_nesting:
                    warn(reader.configuration, "AH02795", f"bad cumulated nesting ({nesting:+d}) in {macro}")
                return
        elif first.lower() == "<macro":
            depth += 1
        yield line
    raise ConfigError("expected token not found: </Macro>")


def _check_contents(configuration: Configuration, macro: Macro) -> None:
    if not macro.lines:
        warn(configuration, "AH02799", f"{macro}: empty contents!")
        return
    used: set[int] = set()
    for line in macro.lines:
        substituted(line, macro.arguments, macro.arguments, used)
    for number, name in enumerate(macro.arguments, 1):
        if number - 1 not in used:
            warn(configuration, "AH02800", f"{macro}: argument '{name}' (#{number}) never used")


def substituted(line: str, names: list[str], values: list[str], used: set[int] | None = None) -> str:
    """Replace each name in *line*, leftmost and then longest first; values are not expanded again.

    The value of a name with the prefix @ is put into quotes.
    """
    out = ""
    at = 0
    while True:
        hits = [
            (position, -len(name), index)
            for index, name in enumerate(names)
            if name and (position := line.find(name, at)) >= 0
        ]
        if not hits:
            return out + line[at:]
        position, length, index = min(hits)
        if used is not None:
            used.add(index)
        value = values[index]
        out += line[at:position] + (_quoted(value) if names[index].startswith(QUOTING) else value)
        at = position - length


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# use ---------------------------------------------------------------------------------------------
def set_use(command: Command, _none: None, words: list[str]) -> None:
    """Execute Use name values: insert the macro's lines."""
    reader = reading(command)
    macros = reader.memory(Macros)
    source = reader.source
    if not macros.any:
        raise ConfigError("no macro defined before Use")
    name, rest = getword(words[0])
    name = name.lower()
    if not name:
        raise ConfigError("no macro name specified with Use")
    macro = macros.by_name.get(name)
    if macro is None:
        raise ConfigError(f"macro '{name}' undefined")
    if f"macro '{name}'" in source.path:
        raise ConfigError(f"recursive use of macro '{name}' is invalid")
    values = split_words(rest)
    if len(values) != len(macro.arguments):
        raise ConfigError(f"{macro} used with {len(values)} arguments instead of {len(macro.arguments)}")
    where = f'{macro} used on line {source.number} of "{source.path}"'
    for number, value in enumerate(values, 1):
        if not value and not macro.allows_empty:
            warn(reader.configuration, "AH02798", f"{where}: empty argument #{number}")
    reader.configuration.budget.charge(_cost(macro, values))
    source.push(where, [substituted(line, macro.arguments, values) for line in macro.lines])


def _cost(macro: Macro, values: list[str]) -> int:
    """Return the cost of the lines with *values* in the place of the arguments."""
    cost = FILE_COST
    for line in macro.lines:
        cost += LINE_COST + len(line)
        for name, value in zip(macro.arguments, values, strict=True):
            cost += line.count(name) * len(value)
    return cost


def set_undef(command: Command, _none: None, words: list[str]) -> None:
    """Execute UndefMacro: remove the macro."""
    macros = reading(command).memory(Macros)
    if not macros.any:
        raise ConfigError("no macro defined before UndefMacro")
    name = words[0].lower()
    if macros.by_name.pop(name, None) is None:
        raise ConfigError(f"cannot remove undefined macro '{name}'")


def set_allows_empty(command: Command, _none: None, _words: list[str]) -> None:
    reading(command).memory(Macros).allows_empty = True


def set_allows_nesting(command: Command, _none: None, _words: list[str]) -> None:
    reading(command).memory(Macros).allows_nesting = True


MODULE = Module(
    name="macro_module",
    source="mod_macro.c",
    versions=Versions.V24,
    setters={
        "<Macro": set_macro,
        "Use": set_use,
        "UndefMacro": set_undef,
        "MacroIgnoreEmptyArgs": set_allows_empty,
        "MacroIgnoreBadNesting": set_allows_nesting,
    },
)
