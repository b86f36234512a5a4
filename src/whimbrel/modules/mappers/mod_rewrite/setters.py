"""Setters of the rewriting directives; messages are httpd's."""

from __future__ import annotations

import os
import re
from typing import Any, Final

from whimbrel.base.errors import ConfigError, MissingResource
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.numbers import atoi
from whimbrel.base.regex import Regex, RegexError, compile_regex
from whimbrel.config.execute import state_of
from whimbrel.config.handlers import note_handler
from whimbrel.directives.command import Command
from whimbrel.directives.tokens import words as split_words
from whimbrel.modules.mappers.mod_rewrite import expressions
from whimbrel.modules.mappers.mod_rewrite.args import Line, split_flags, split_line
from whimbrel.modules.mappers.mod_rewrite.flags import Draft, read_flags
from whimbrel.modules.mappers.mod_rewrite.maps import (
    FUNCTIONS,
    DbmMap,
    FileMap,
    Function,
    ProgramMap,
    RandomMap,
    RewriteMap,
    SqlMap,
    suffix_of,
)
from whimbrel.modules.mappers.mod_rewrite.settings import (
    Cond,
    Flag,
    RewriteDirConfig,
    RewriteOptions,
    RewriteServerConfig,
    Rule,
    Test,
    given,
)


def _old(cmd: Command) -> bool:
    return cmd.dialect.rewrite_22


def _server(cmd: Command) -> RewriteServerConfig:
    server = cmd.server_config(RewriteServerConfig)
    server.virtual = cmd.in_virtual_host
    return server


def _dir_config(cmd: Command, dir_config: RewriteDirConfig) -> RewriteDirConfig:
    """Return the section's record with its directory; a host with a rewriting line has its own."""
    if not cmd.in_htaccess:
        _server(cmd)
    dir_config.directory = f"{cmd.path.removesuffix('/')}/" if cmd.path else None
    return dir_config


def set_engine(cmd: Command, dir_config: RewriteDirConfig, words: list[str]) -> None:
    """Set RewriteEngine: at server level it applies, in 2.4, to all directories too."""
    on = words[0].lower() == "on"
    record = _dir_config(cmd, dir_config)
    if not cmd.path:
        _server(cmd).engine = on
    if cmd.path or not _old(cmd):
        record.engine = on


_OPTIONS: Final = {
    "inherit": RewriteOptions.INHERIT,
    "allowanyuri": RewriteOptions.ANY_URI,
    "mergebase": RewriteOptions.MERGE_BASE,
}
_OPTIONS_24: Final = {
    **_OPTIONS,
    "inheritbefore": RewriteOptions.INHERIT_BEFORE,
    "inheritdown": RewriteOptions.INHERIT_DOWN,
    "inheritdownbefore": RewriteOptions.INHERIT_DOWN_BEFORE,
    "ignoreinherit": RewriteOptions.IGNORE_INHERIT,
    "allownoslash": RewriteOptions.NO_SLASH,
    "ignorecontextinfo": RewriteOptions.IGNORE_CONTEXT,
    "legacyprefixdocroot": RewriteOptions.LEGACY_PREFIX,
    "unsafeprefixstat": RewriteOptions.UNSAFE_PREFIX,
    "unsafeallow3f": RewriteOptions.UNSAFE_3F,
}


def set_options(cmd: Command, dir_config: RewriteDirConfig, words: list[str]) -> None:
    """Set RewriteOptions, one word per call."""
    word = words[0].lower()
    option = (_OPTIONS if _old(cmd) else _OPTIONS_24).get(word, RewriteOptions.NONE)
    if not option:
        if not word.startswith("maxredirects="):
            raise ConfigError(f"RewriteOptions: unknown option '{words[0]}'")
        cmd.warn(
            "RewriteOptions: MaxRedirects option has been removed in favor of the global "
            "LimitInternalRecursion directive and will be ignored.",
            code="AH00664",
        )
    record = _dir_config(cmd, dir_config)
    if not cmd.path:
        server = _server(cmd)
        server.options = given(server.options, 0) | option
    if cmd.path or not _old(cmd):
        record.options = given(record.options, 0) | option


def set_base(cmd: Command, dir_config: RewriteDirConfig, words: list[str]) -> None:
    """Set RewriteBase."""
    if not cmd.path:
        raise ConfigError("RewriteBase: only valid in per-directory config files")
    if not words[0]:
        raise ConfigError("RewriteBase: empty URL not allowed")
    if not words[0].startswith("/"):
        raise ConfigError("RewriteBase: argument is not a valid URL")
    _dir_config(cmd, dir_config).base = words[0]


# Rules ------------------------------------------------------------------------------------------
def _line(name: str, text: str) -> tuple[Line, list[tuple[str, str]]]:
    line = split_line(text)
    if line is None:
        raise ConfigError(f"{name}: bad argument line '{text}'")
    flags = split_flags(line.flags) if line.flags else []
    if flags is None:
        raise ConfigError(f"{name}: bad flag delimiters")
    return line, flags


def _regex(cmd: Command, name: str, pattern: str, ignore_case: bool) -> Regex:
    try:
        return compile_regex(pattern, ignore_case=ignore_case, version22=_old(cmd))
    except RegexError:
        raise ConfigError(f"{name}: cannot compile regular expression '{pattern}'") from None


def _place(cmd: Command, dir_config: RewriteDirConfig) -> Any:
    """Return the record that receives rules and conditions."""
    record = _dir_config(cmd, dir_config)
    return record if cmd.path else _server(cmd)


def add_rule(cmd: Command, dir_config: RewriteDirConfig, words: list[str]) -> None:
    """Add RewriteRule with the conditions before it."""
    line, flags = _line("RewriteRule", words[0])
    try:
        draft = read_flags(flags, version22=_old(cmd))
    except ConfigError as problem:
        raise ConfigError(f"RewriteRule: {problem.reason}") from None
    pattern = line.first
    if pattern.startswith("!"):
        draft.flags |= Flag.NEGATED
        pattern = pattern[1:]
    regex = _regex(cmd, "RewriteRule", pattern, bool(draft.flags & Flag.NO_CASE))
    record = _place(cmd, dir_config)
    output = _output(line.second, draft, _old(cmd))
    rule = Rule(
        pattern=pattern,
        regex=regex,
        output=output,
        flags=draft.flags,
        status=draft.status,
        skip=draft.skip,
        rounds=draft.rounds,
        escapes=draft.escapes,
        keeps=draft.keeps,
        forced_type=draft.forced_type,
        forced_handler=draft.forced_handler,
        env=tuple(draft.env),
        cookies=tuple(draft.cookies),
        conds=given(record.pending, ()),
        place=cmd.place,
    )
    for name, is_type in ((rule.forced_handler, False), (rule.forced_type, True)):
        if name:
            note_handler(state_of(cmd), name, is_type=is_type)
    record.pending = ()
    if isinstance(record.rules, list):
        record.rules.append(rule)
    else:
        record.rules = [*given(record.rules, ()), rule]  # a tuple would be copied for each rule


def _output(text: str, draft: Draft, old: bool) -> str:
    """Return the substitution; in 2.4 a final question mark discards the query."""
    if text == "-":
        draft.flags |= Flag.NO_SUBSTITUTION
    if old:
        return text
    if text.endswith("?"):
        if draft.flags & Flag.APPEND_QUERY:
            draft.flags |= Flag.LAST_QUERY
        else:
            draft.flags |= Flag.NO_QUERY
            return text[:-1]
    elif draft.flags & Flag.DISCARD_QUERY and "?" not in text:
        draft.flags |= Flag.NO_QUERY
    return text


def add_condition(cmd: Command, dir_config: RewriteDirConfig, words: list[str]) -> None:
    """Add RewriteCond."""
    line, flags = _line("RewriteCond", words[0])
    cond = Cond(line.first, line.second, Test.REGEX, line.second, place=cmd.place)
    cond = _flagged(cond, flags)
    if cond.operand.startswith("!"):
        cond = replace(cond, negated=True, operand=cond.operand[1:])
    if line.first.lower() == "expr" and not _old(cmd):
        cond = replace(cond, test=Test.EXPRESSION, expression=expressions.read(cmd, cond.operand))
    else:
        cond = _with_operator(cond, _old(cmd))
    cond = _without_case(cmd, cond)
    if cond.test is not Test.EXPRESSION:
        if cond.test is Test.REGEX:
            cond = replace(cond, regex=_regex(cmd, "RewriteCond", cond.operand, cond.ignore_case))
    record = _place(cmd, dir_config)
    record.pending = (*given(record.pending, ()), cond)


_WITH_CASE: Final = (Test.REGEX, Test.STRING_EQ)
_WITH_CASE_24: Final = (*_WITH_CASE, Test.STRING_LT, Test.STRING_LE, Test.STRING_GE, Test.STRING_GT)


def _without_case(cmd: Command, cond: Cond) -> Cond:
    """Remove NC, with a warning, from a condition where it has no effect."""
    old = _old(cmd)
    if not cond.ignore_case or cond.test in (_WITH_CASE if old else _WITH_CASE_24):
        return cond
    pattern, where = (
        (cond.written.removeprefix("!"), "")
        if old
        else (cond.operand, f" ({cmd.place.path}:{cmd.place.line})")
    )
    cmd.warn(
        f"RewriteCond: NoCase option for non-regex pattern '{pattern}' is not supported and will be "
        f"ignored.{where}",
        code="AH00665",
    )
    return replace(cond, ignore_case=False)


def _flagged(cond: Cond, flags: list[tuple[str, str]]) -> Cond:
    for name, _value in flags:
        low = name.lower()
        if low in ("nc", "nocase"):
            cond = replace(cond, ignore_case=True)
        elif low in ("or", "ornext"):
            cond = replace(cond, or_next=True)
        elif low in ("nv", "novary"):
            cond = replace(cond, no_vary=True)
        else:
            raise ConfigError(f"RewriteCond: unknown flag '{name}'")
    return cond


_LETTERS: Final = {
    "f": Test.FILE,
    "d": Test.DIRECTORY,
    "s": Test.SIZE,
    "l": Test.LINK,
    "x": Test.EXECUTABLE,
    "U": Test.URL,
    "F": Test.ACCESSIBLE,
}
_LETTERS_24: Final = {**_LETTERS, "h": Test.LINK, "L": Test.LINK}
_NUMBERS: Final = {
    "lt": Test.INT_LT,
    "le": Test.INT_LE,
    "eq": Test.INT_EQ,
    "ge": Test.INT_GE,
    "gt": Test.INT_GT,
    "ne": Test.INT_EQ,
}
_STRINGS: Final = re.compile(r"(<=|>=|[<>=])(.*)", re.S)
_COMPARE: Final = {
    "<": Test.STRING_LT,
    "<=": Test.STRING_LE,
    "=": Test.STRING_EQ,
    ">=": Test.STRING_GE,
    ">": Test.STRING_GT,
}


def _with_operator(cond: Cond, old: bool) -> Cond:
    """Return the condition with its operator separated from the pattern."""
    text = cond.operand
    if len(text) < 2:
        return cond
    if text[0] == "-":
        return _dashed(cond, text, old)
    match = _STRINGS.match(text)
    if match is None:
        return cond
    operator = match[1]
    rest = match[2]
    if old and len(operator) == 2:
        operator, rest = operator[0], operator[1] + rest
    if operator == "=" and rest == '""':
        rest = ""
    return replace(cond, test=_COMPARE[operator], operand=rest)


def _dashed(cond: Cond, text: str, old: bool) -> Cond:
    if len(text) == 2:
        test = (_LETTERS if old else _LETTERS_24).get(text[1])
        return cond if test is None else replace(cond, test=test)
    number = None if old or len(text) < 4 else _NUMBERS.get(text[1:3])
    if number is None:
        return cond
    return replace(cond, test=number, operand=text[3:], negated=cond.negated is not (text[1:3] == "ne"))


# Maps -------------------------------------------------------------------------------------------
_DBM: Final = ("default", "sdbm", "gdbm", "ndbm", "db")


def add_map(cmd: Command, _server_record: RewriteServerConfig, words: list[str]) -> None:
    """Set RewriteMap NAME TYPE:SOURCE; a source without known type is a text file."""
    server = _server(cmd)
    new_map = _map(cmd, words[0], words[1])
    server.maps = {**given(server.maps, {}), words[0]: new_map}


def _map(cmd: Command, name: str, source: str) -> RewriteMap:
    kind, colon, rest = source.partition(":")
    kind = kind if _old(cmd) else kind.lower()
    if colon and kind in ("txt", "rnd"):
        path = _existing(cmd, name, cmd.server_path(rest))
        return FileMap(name, "txt", path) if kind == "txt" else RandomMap(name, path)
    if kind.startswith("dbm"):
        return _dbm(cmd, name, source, kind, rest if colon else None)
    if colon and kind == "prg":
        command, *arguments = split_words(rest) or [""]
        return ProgramMap(
            name, _existing(cmd, name, cmd.server_path(command)), arguments, cmd.server_path(".")
        )
    if colon and kind == "int":
        if rest not in FUNCTIONS:
            raise ConfigError(f"RewriteMap: internal map not found:{rest}")
        return Function(name, rest)
    if colon and kind in ("dbd", "fastdbd") and not _old(cmd):
        if not cmd.loaded("dbd_module"):
            raise ConfigError("RewriteMap types dbd and fastdbd require mod_dbd!")
        return SqlMap(name, rest, lasting=kind == "fastdbd")
    return FileMap(name, "txt", _existing(cmd, name, cmd.server_path(source)))


def _dbm(cmd: Command, name: str, source: str, kind: str, path: str | None) -> RewriteMap:
    if path is None or kind[3:4] not in ("", "="):
        raise ConfigError(f"RewriteMap: bad map:{source}")
    flavour = kind[4:] if kind != "dbm" else "default"
    if flavour not in _DBM:
        raise ConfigError(f"RewriteMap: dbm type {flavour} is invalid")
    full_path = cmd.server_path(path)
    _existing(cmd, name, full_path + suffix_of(flavour))
    return DbmMap(name, flavour, full_path)


def _existing(cmd: Command, name: str, path: str) -> str:
    if not os.path.exists(to_bytes(path)):
        raise MissingResource(f"RewriteMap: file for map {name} not found:{path}", matters=True)
    return path


# 2.2 --------------------------------------------------------------------------------------------
def set_log(cmd: Command, _server_record: RewriteServerConfig, words: list[str]) -> None:
    """Set RewriteLog: a file, or ``|program``."""
    written = words[0]
    _server(cmd).log = written if written.startswith("|") else cmd.server_path(written)


def set_log_level(cmd: Command, _server_record: RewriteServerConfig, words: list[str]) -> None:
    """Set RewriteLogLevel."""
    _server(cmd).log_level = atoi(words[0])
