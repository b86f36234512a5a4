"""Mutations of configurations: each changes one line, or exchanges two, as people do by mistake."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_KEPT = re.compile(
    r"(?i)^\s*(#|$|</?(if|virtualhost)|loadmodule|listen|serverroot|pidfile|errorlog|customlog|logformat"
    r"|user |group |startservers|namevirtualhost|typesconfig|defaultruntimedir|mutex|include|servername"
    r"|scriptsock|rewritelog)"
)
_NETWORK = re.compile(
    r"(?i)^(\s*(?:require\s+(?:not\s+)?ip|allow from|deny from)\s+)(\d+(?:\.\d+)*)(\S*)(.*)$"
)
_ORDER = re.compile(r"(?i)^(\s*order\s+)(allow,\s*deny|deny,\s*allow)(.*)$")
_PAIRED = re.compile(r"(?i)^\s*(rewriterule|require|redirect\w*|alias\w*|header|setenvif\w*|errordocument)\s")
_OVERRIDE = re.compile(r"(?i)^(\s*allowoverride)\s+(?!none)\S.*$")
_ALIAS = re.compile(
    r"(?i)^(\s*(?:script)?alias(?:match)?\s+\S+\s+\"?[^\"]*?|\s*redirect\w*\s.*?[^\"\s])(\"?\s*)$"
)
_HEADER = re.compile(
    r"(?i)^(\s*(?:header|requestheader|setenv|addtype|expires\w+|errordocument|addcharset|defaulttype"
    r"|addlanguage|authname)\s.*?[^\"\s])(\"?\s*)$"
)


def _indexes(lines: list[str], pattern: re.Pattern[str]) -> list[int]:
    return [number for number, line in enumerate(lines) if pattern.match(line)]


def drop_line(lines: list[str], choose: random.Random) -> bool:
    """A directive is lost."""
    found = [n for n, line in enumerate(lines) if not _KEPT.match(line) and not line.lstrip().startswith("<")]
    if not found:
        return False
    del lines[choose.choice(found)]
    return True


def widen_network(lines: list[str], choose: random.Random) -> bool:
    """A network becomes that of its first number."""
    found = _indexes(lines, _NETWORK)
    if not found:
        return False
    number = choose.choice(found)
    match = _NETWORK.match(lines[number])
    assert match is not None
    lines[number] = f"{match[1]}{match[2].partition('.')[0]}.0.0.0/8{match[4]}"
    return True


def swap_order(lines: list[str], choose: random.Random) -> bool:
    """Order is reversed, or two neighbouring lines of one kind are exchanged."""
    orders = _indexes(lines, _ORDER)
    pairs = [
        n
        for n in _indexes(lines, _PAIRED)
        if n + 1 < len(lines)
        and _PAIRED.match(lines[n + 1])
        and lines[n].split()[0].lower() == lines[n + 1].split()[0].lower()
        and lines[n] != lines[n + 1]
    ]
    if not orders and not pairs:
        return False
    number = choose.choice([*orders, *pairs])
    match = _ORDER.match(lines[number])
    if match is not None:
        other = "deny,allow" if match[2].lower().startswith("allow") else "allow,deny"
        lines[number] = f"{match[1]}{other}{match[3]}"
    else:
        lines[number], lines[number + 1] = lines[number + 1], lines[number]
    return True


def lose_override(lines: list[str], choose: random.Random) -> bool:
    """AllowOverride becomes None."""
    found = _indexes(lines, _OVERRIDE)
    if not found:
        return False
    number = choose.choice(found)
    lines[number] = _OVERRIDE.sub(r"\1 None", lines[number])
    return True


def change_alias(lines: list[str], choose: random.Random) -> bool:
    """The target of an Alias or Redirect gets another name."""
    return _appended(lines, choose, _ALIAS)


def change_header(lines: list[str], choose: random.Random) -> bool:
    """A header field, variable, media type or realm gets another value."""
    return _appended(lines, choose, _HEADER)


def _appended(lines: list[str], choose: random.Random, pattern: re.Pattern[str]) -> bool:
    found = _indexes(lines, pattern)
    if not found:
        return False
    number = choose.choice(found)
    lines[number] = pattern.sub(r"\1x\2", lines[number])
    return True


Operator = Callable[[list[str], random.Random], bool]
OPERATORS: tuple[Operator, ...] = (
    drop_line,
    widen_network,
    swap_order,
    lose_override,
    change_alias,
    change_header,
)
"""All operators; a run takes them in turn."""
