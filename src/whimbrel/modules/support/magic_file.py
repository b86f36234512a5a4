"""Rules of a magic file, in the subset of file(1)'s language that mod_mime_magic implements, and a matcher.

A rule compares the bytes at an offset.  The first main rule that matches counts, with its continuations
(``>``) that match.
Manual: mod/mod_mime_magic.html#format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from time import localtime
from typing import Any, Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import lower, strip
from whimbrel.http.semantics.dates import DAYS, MONTHS

WINDOW: Final = 64  # bytes required after an offset, whatever a rule compares
_TEXT_SIZE: Final = 49  # characters of a rule's text that httpd stores
_KINDS: Final = (
    "char",
    "byte",
    "short",
    "long",
    "string",
    "date",
    "beshort",
    "belong",
    "bedate",
    "leshort",
    "lelong",
    "ledate",
)
_SIZES: Final = {"char": 1, "byte": 1, "short": 2, "beshort": 2, "leshort": 2}
_INDIRECT: Final = re.compile(r"(?:\.(?P<kind>[lsb]))?(?P<more>[+-]\d+)?\)", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\s*[+-]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)", re.ASCII)
_ESCAPES: Final = {"n": "\n", "r": "\r", "b": "\b", "t": "\t", "f": "\f", "v": "\v"}
_BLANK: Final = " \t\n\v\f\r"
_PRINT: Final = re.compile(r"%[-+ #0]*+\d*+(?:\.\d++)?[lh]*+([sdiouxXc%])")


@dataclass(slots=True)
class Rule:
    """One line of a magic file.

    *kind* is "" if it could not be parsed: such a rule never matches.  *relation* ``x`` always matches.
    """

    level: int = 0
    offset: int = 0
    indirect: tuple[str, int] | None = None
    kind: str = ""
    unsigned: bool = False
    mask: int = -1
    relation: str = "="
    number: int = 0
    string: bytes = b""
    text: str = ""
    joined: bool = False  # its text follows without a blank


def _strtol(text: str) -> tuple[int, str]:
    """Return value and rest of C's strtol with base 0."""
    match = _NUMBER.match(text)
    if match is None:
        return 0, text
    word = lower(strip(match[0]))
    digits = word.lstrip("+-")
    if digits.startswith("0x"):
        base = 16
    elif digits.startswith("0"):
        base = 8
    else:
        base = 10
    value = int(digits.removeprefix("0x") or "0", base)
    return (-value if word.startswith("-") else value), text[match.end() :]


def _signed(rule: Rule, value: int) -> int:
    """Return *value* converted to the rule's type."""
    if rule.kind == "string" or rule.unsigned:
        return value
    bits = 8 * _SIZES.get(rule.kind, 4)
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _string(text: str) -> tuple[bytes, str]:
    """Parse a string with C's escapes up to white space; return its bytes and the rest."""
    out = []
    at = 0
    while at < len(text) and text[at] not in _BLANK:
        char = text[at]
        at += 1
        if char == "\\" and at < len(text):
            octal = re.compile("[0-7]{1,3}").match(text, at)
            hexadecimal = re.compile("x([0-9a-fA-F]{1,2})").match(text, at)
            if octal is not None:
                char = chr(int(octal[0], 8) & 255)
                at = octal.end()
            elif hexadecimal is not None:
                char = chr(int(hexadecimal[1], 16))
                at = hexadecimal.end()
            else:
                char, at = _ESCAPES.get(text[at], text[at]), at + 1
        out.append(char)
    return "".join(out).encode("latin-1"), text[at:]


def parse_rule(line: str, complain: Callable[[str, str], None]) -> Rule:
    """Parse one line that is neither empty nor a comment; *complain* gets code and text of each error."""
    rule = Rule(level=len(line) - len(line.lstrip(">")))
    rest = line.lstrip(">")
    points = rule.level > 0 and rest.startswith("(")
    rest = rest[1:] if points else rest
    rule.offset, after = _strtol(rest)
    if after == rest:
        complain("AH01521", f"mod_mime_magic: offset {rest} invalid")
    rest = after
    if points:
        match = _INDIRECT.match(rest)
        if match is None:
            complain("AH01523", "mod_mime_magic: missing ')' in indirect offset")
        rule.indirect = (
            ((match["kind"] or "l").lower(), int(match["more"] or 0)) if match is not None else ("l", 0)
        )
        rest = rest[match.end() :] if match is not None else rest
    _compare(rule, rest.lstrip(_BLANK), complain)
    return rule


def _compare(rule: Rule, rest: str, complain: Callable[[str, str], None]) -> None:
    """Parse type, mask, relation, value and text."""
    value = rest
    if rest.startswith("u"):
        rule.unsigned, rest = True, rest[1:]
    rule.kind = next((kind for kind in _KINDS if rest.startswith(kind)), "")
    if not rule.kind:
        complain("AH01524", f"mod_mime_magic: type {value if not rule.unsigned else rest} invalid")
        return
    rest = rest[len(rule.kind) :]
    if rest.startswith("&"):
        mask, rest = _strtol(rest[1:])
        rule.mask = _signed(rule, mask)
    rest = rest.lstrip(_BLANK)
    if rest[:1] in tuple("><&^=") or (rest[:1] == "!" and rule.kind != "string"):
        rule.relation, rest = rest[0], rest[1:]
    elif rest[:1] == "x" and rest[1:2] in tuple(_BLANK):
        rule.relation, rest = "x", rest[1:]
    rest = rest.lstrip(_BLANK)
    if rule.relation != "x" and rule.kind == "string":
        rule.string, rest = _string(rest)
    elif rule.relation != "x":
        number, rest = _strtol(rest)
        rule.number = _signed(rule, number)
        rest = re.sub(r"\A[uU]?[lLsShHbBcC]?", "", rest)
    rest = rest.lstrip(_BLANK)
    if rest.startswith(("\b", "\\b")):
        rule.joined, rest = True, rest[1:] if rest[0] == "\b" else rest[2:]
    rule.text = rest[:_TEXT_SIZE]


def parse_rules(data: str, complain: Callable[[str, str], None]) -> list[Rule]:
    """Parse all rules of a file; leading white space of a line is ignored."""
    lines = (line.lstrip(_BLANK) for line in data.split("\n"))
    return [parse_rule(line, complain) for line in lines if line and not line.startswith("#")]


class Matcher:
    """A matcher of rules against *data*, the beginning of a file."""

    def __init__(self, data: bytes, complain: Callable[[str, str], None]) -> None:
        self.data = data
        self.complain = complain

    def _value(self, rule: Rule) -> Any:
        """Return the number or string at the rule's offset; None beyond the end or for a bad rule."""
        offset = rule.offset
        if offset < 0 or offset + WINDOW > len(self.data):
            return None
        if rule.indirect is not None:
            size = {"b": 1, "s": 2, "l": 4}[rule.indirect[0]]
            offset = (
                int.from_bytes(self.data[offset : offset + size], "little", signed=size > 1)
                + rule.indirect[1]
            )
            if offset < 0 or offset + WINDOW > len(self.data):
                return None
        if not rule.kind:
            self.complain("AH01538", "mod_mime_magic: invalid type 0 in mconvert().")
            return None
        piece = self.data[offset : offset + WINDOW]
        if rule.kind == "string":
            return piece[: WINDOW - 1].partition(b"\n")[0]
        number = int.from_bytes(
            piece[: _SIZES.get(rule.kind, 4)],
            "big" if rule.kind in ("beshort", "belong", "bedate") else "little",
        )
        return _signed(rule, number) & rule.mask

    def _fits(self, rule: Rule, value: Any) -> bool:
        if rule.relation == "x":
            return True
        if rule.kind == "string":
            other = value.ljust(WINDOW, b"\0")[: len(rule.string)]
            value = (other > rule.string) - (other < rule.string)
            number = 0
        else:
            number = rule.number
        result: bool = {
            "=": value == number,
            "!": value != number,
            ">": value > number,
            "<": value < number,
            "&": value & number == number,
            "^": value & number != number,
        }[rule.relation]
        return result

    def says(self, rules: Sequence[Rule]) -> str | None:
        """Return the texts of the first main rule that matches, with continuations, or None."""
        at = 0
        while at < len(rules):
            rule = rules[at]
            at += 1
            value = self._value(rule)
            if value is not None and self._fits(rule, value):
                return self._with_continuations(rule, value, rules, at)
            while at < len(rules) and rules[at].level:
                at += 1
        return None

    def _with_continuations(self, rule: Rule, value: object, rules: Sequence[Rule], at: int) -> str:
        out = printed(rule, value)
        level = 1
        separate = bool(rule.text)
        while at < len(rules) and rules[at].level:
            rule = rules[at]
            at += 1
            if level < rule.level:
                continue
            level = rule.level
            value = self._value(rule)
            if value is None or not self._fits(rule, value):
                continue
            if separate and not rule.joined and rule.text:
                out, separate = out + " ", False
            out += printed(rule, value)
            separate = separate or bool(rule.text)
            level += 1
        return out


def printed(rule: Rule, value: Any) -> str:
    """Return a rule's text with its value in place of the printf conversion."""

    def put(match: re.Match[str]) -> str:
        if match[1] == "%":
            return "%"
        if rule.kind == "string":
            return (
                (rule.string if rule.relation == "=" else value.partition(b"\0")[0]).decode("latin-1")
                if match[1] == "s"
                else ""
            )
        if rule.kind.endswith("date"):
            return _ctime(value) if match[1] == "s" else ""
        if match[1] == "s":
            return ""
        letter = "d" if match[1] in "iu" else match[1]
        return format(value & 255 if letter == "c" else value, letter)

    return _PRINT.sub(put, rule.text)


def _ctime(seconds: int) -> str:
    t = localtime(seconds)
    return (
        f"{DAYS[t.tm_wday]} {MONTHS[t.tm_mon - 1]} {t.tm_mday:2} "
        f"{t.tm_hour:02}:{t.tm_min:02}:{t.tm_sec:02} {t.tm_year}"
    )
