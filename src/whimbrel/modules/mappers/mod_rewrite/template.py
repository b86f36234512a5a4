"""Compiled texts with ``$N``, ``%N``, ``%{VARIABLE}`` and ``${map:key|default}``.

They are substitutions, test strings and values of flags.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from whimbrel.base.numbers import is_alphanumeric, is_digits
from whimbrel.modules.mappers.mod_rewrite.context import Context, group
from whimbrel.modules.mappers.mod_rewrite.maps import RewriteMap
from whimbrel.modules.mappers.mod_rewrite.settings import Flag, Rule
from whimbrel.modules.mappers.mod_rewrite.variables import variable
from whimbrel.registry.module import Reads

Escape = Callable[[str], str]
Part = str | Callable[[Context], Any]


class Template:
    """A compiled text. With *waits* only `values_later` may be used."""

    __slots__ = ("_waiting", "fixed", "parts", "reads", "waits")

    def __init__(self, parts: tuple[Part, ...], waiting: tuple[bool, ...], reads: Reads) -> None:
        self.parts = parts
        self._waiting = waiting
        self.reads = reads
        self.waits = any(waiting)
        self.fixed = (
            "".join([p for p in parts if isinstance(p, str)])
            if all(isinstance(p, str) for p in parts)
            else None
        )

    def values(self, c: Context) -> list[str]:
        """Return the value of each part."""
        return [part if isinstance(part, str) else part(c) for part in self.parts]

    async def values_later(self, c: Context) -> list[str]:
        """Return the value of each part, waiting where needed."""
        out = []
        for part, waits in zip(self.parts, self._waiting, strict=True):
            if isinstance(part, str):
                out.append(part)
            else:
                value = part(c)
                out.append(await value if waits else value)
        return out

    def text(self, c: Context) -> str:
        """Return the text; for templates that do not wait."""
        return self.fixed if self.fixed is not None else "".join(self.values(c))

    async def text_later(self, c: Context) -> str:
        """Return the text, waiting where needed."""
        return "".join(await self.values_later(c)) if self.waits else self.text(c)


class Compiler:
    """Compiler of templates for one set of maps; *escape* is applied to back references (the B flag)."""

    def __init__(self, maps: Mapping[str, RewriteMap], *, version22: bool) -> None:
        self.maps = maps
        self.version22 = version22
        self._plain: dict[str, Template] = {}

    def template(self, text: str, escape: Escape | None = None) -> Template:
        """Return the template of *text*; equal texts of thousands of rules share one."""
        if _SPECIAL.search(text):
            return self._compiled(text, escape)
        compiled = self._plain.get(text)
        if compiled is None:
            compiled = Template((text,), (False,), Reads.NOTHING) if text else Template((), (), Reads.NOTHING)
            self._plain[text] = compiled
        return compiled

    def _compiled(self, text: str, escape: Escape | None) -> Template:
        parts: list[Part] = []
        waiting: list[bool] = []
        reads = Reads.NOTHING
        for part, waits, depends in _joined(self._pieces(text, escape)):
            parts.append(part)
            waiting.append(waits)
            reads |= depends
        return Template(tuple(parts), tuple(waiting), reads)

    def _pieces(self, text: str, escape: Escape | None) -> list[tuple[Part, bool, Reads]]:
        out: list[tuple[Part, bool, Reads]] = []
        at = 0
        while at < len(text):
            char = text[at]
            after = text[at + 1 : at + 2]
            if char == "\\" and after:
                out.append(_literal(after))
                at += 2
            elif char in "$%" and after == "{":
                piece, at = self._braces(text, at, escape)
                out.append(piece)
            elif char in "$%" and is_digits(after):
                out.append((_backref(char, int(after), escape), False, Reads.HEAD))
                at += 2
            else:
                end = at + 1 if char in "$%\\" else _next_special(text, at)
                out.append(_literal(text[at:end]))
                at = end
        return out

    def _braces(self, text: str, at: int, escape: Escape | None) -> tuple[tuple[Part, bool, Reads], int]:
        end = _closing(text, at + 2)
        if end < 0:
            return _literal(text[at : at + 2]), at + 2
        inside = text[at + 2 : end]
        if text[at] == "%":
            variable_ = variable(inside, version22=self.version22)
            return (variable_.value, variable_.waits, variable_.reads), end + 1
        colon = _find_unbraced(inside, ":")
        if colon < 0:
            return _literal("${"), at + 2
        return self._map(inside[:colon], inside[colon + 1 :], escape), end + 1

    def _map(self, name: str, rest: str, escape: Escape | None) -> tuple[Part, bool, Reads]:
        bar = _find_unbraced(rest, "|")
        key = self.template(rest if bar < 0 else rest[:bar], escape)
        default = self.template("" if bar < 0 else rest[bar + 1 :], escape)
        rewrite_map = self.maps.get(name)
        reads = key.reads | default.reads | (rewrite_map.reads if rewrite_map is not None else Reads.NOTHING)
        if key.waits or default.waits or (rewrite_map is not None and rewrite_map.waits):
            return _looked_up_later(rewrite_map, key, default), True, reads
        return _looked_up(rewrite_map, key, default), False, reads


def _literal(text: str) -> tuple[Part, bool, Reads]:
    return text, False, Reads.NOTHING


_SPECIAL = re.compile(r"[\\$%]")


def _next_special(text: str, at: int) -> int:
    match = _SPECIAL.search(text, at)
    return match.start() if match else len(text)


def _joined(pieces: list[tuple[Part, bool, Reads]]) -> list[tuple[Part, bool, Reads]]:
    """Join adjacent literal texts."""
    out: list[tuple[Part, bool, Reads]] = []
    for piece in pieces:
        before = out[-1][0] if out else None
        if isinstance(piece[0], str) and isinstance(before, str):
            out[-1] = _literal(before + piece[0])
        else:
            out.append(piece)
    return out


def _closing(text: str, at: int) -> int:
    """Return the position of the brace that closes the one before *at*; -1 without one."""
    depth = 1
    for index in range(at, len(text)):
        if text[index] == "{":
            depth += 1
        elif text[index] == "}":
            depth -= 1
            if not depth:
                return index
    return -1


def _find_unbraced(text: str, char: str) -> int:
    """Return the position of the first *char* outside braces, -1 without one."""
    depth = 0
    for index, char_at in enumerate(text):
        if char_at == char and not depth:
            return index
        depth += {"{": 1, "}": -1}.get(char_at, 0)
    return -1


def _backref(kind: str, number: int, escape: Escape | None) -> Callable[[Context], str]:
    def plain(c: Context) -> str:
        return group(c.rule if kind == "$" else c.cond, number)

    def escaped(c: Context) -> str:
        value = plain(c)
        if not value or escape is None:
            return value
        out = escape(value)
        if c.log is not None:
            c.log_step(5, f"escaping backreference '{value}' to '{out}'")
        return out

    return plain if escape is None else escaped


def _looked_up(rewrite_map: RewriteMap | None, key: Template, default: Template) -> Callable[[Context], str]:
    def value(c: Context) -> str:
        key_text = key.text(c)
        text = rewrite_map.lookup(c, key_text) if rewrite_map is not None else None
        return default.text(c) if text is None else text

    return value


def _looked_up_later(
    rewrite_map: RewriteMap | None, key: Template, default: Template
) -> Callable[[Context], Any]:
    async def value(c: Context) -> str:
        key_text = await key.text_later(c)
        text = None
        if rewrite_map is not None:
            text = (
                await rewrite_map.lookup_async(c, key_text)
                if rewrite_map.waits
                else rewrite_map.lookup(c, key_text)
            )
        return await default.text_later(c) if text is None else text

    return value


def escaping(rule: Rule) -> Escape | None:
    """Return the escaping of back references by the flags B, BCTLS, BNP, BNE of a rule; None without any."""
    if not rule.flags & Flag.ESCAPE_BACKREF:
        return None
    chosen = rule.escapes
    exempt = rule.keeps or ""
    controls = bool(rule.flags & Flag.ESCAPE_CONTROLS)
    plus = not rule.flags & Flag.ESCAPE_NO_PLUS

    def one(char: str) -> str:
        special = not "!" <= char != "\x7f" if controls else chosen is None
        if not (special or (chosen is not None and char in chosen)) or char in exempt:
            return char
        if is_alphanumeric(char) or char == "_":
            return char
        return "+" if char == " " and plus else f"%{ord(char):02x}"

    return lambda text: "".join(map(one, text))
